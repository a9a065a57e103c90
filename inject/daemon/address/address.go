// Package address knows where a user's daemon is, and whom a hook may ask there.
//
// It imports next to nothing: a hook asks the daemon before the rest of the program is initialised.
package address

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/memcore/memcore/internal/userdir"
)

// ErrFolder means that no daemon can answer, since another user may have changed its folder.
var ErrFolder = errors.New("is not a folder that only its owner, who has to be you, can write to; look at what is in it, and remove it")

// Folder returns the folder of the user's daemon.
func Folder() (string, error) {
	cache, err := userdir.Cache()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "run"), nil
}

// maxSocket suits all systems, in bytes.
const maxSocket = 100

// Socket returns the path of the socket of the daemon in a folder. Long paths have it in shared().
func Socket(folder string) string {
	const name = "memcore.sock"
	if path := filepath.Join(folder, name); len(path) <= maxSocket {
		return path
	}
	sum := sha256.Sum256([]byte(folder))
	return filepath.Join(shared(), fmt.Sprintf("memcore-%d-%s", os.Getuid(), hex.EncodeToString(sum[:6])), name)
}

// CheckPeer refuses other users at the other end of a socket, should the folder no longer do so.
func CheckPeer(fd int, rootToo bool) error {
	uid, err := peerUser(fd)
	if err != nil {
		return fmt.Errorf("daemon: the user at the other end of the socket: %w", err)
	}
	if uid == os.Geteuid() || rootToo && uid == 0 {
		return nil
	}
	return fmt.Errorf("daemon: the other end of the socket is user %d, not you", uid)
}
