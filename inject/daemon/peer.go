package daemon

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// checkPeer refuses other users, should the folder no longer do so.
func checkPeer(conn net.Conn, rootToo bool) error {
	local, ok := conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("daemon: %s is no socket of this machine", conn.RemoteAddr())
	}
	raw, err := local.SyscallConn()
	if err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	uid, failed := 0, error(nil)
	if err := errors.Join(raw.Control(func(fd uintptr) { uid, failed = peerUser(int(fd)) }), failed); err != nil {
		return fmt.Errorf("daemon: the user at the other end of the socket: %w", err)
	}
	if uid == os.Geteuid() || rootToo && uid == 0 {
		return nil
	}
	return fmt.Errorf("daemon: the other end of the socket is user %d, not you", uid)
}
