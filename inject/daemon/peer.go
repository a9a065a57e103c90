package daemon

import (
	"fmt"
	"net"

	"github.com/memcore/memcore/inject/daemon/address"
)

// checkPeer refuses other users at the other end of a connection.
func checkPeer(conn net.Conn, rootToo bool) error {
	local, ok := conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("daemon: %s is no socket of this machine", conn.RemoteAddr())
	}
	raw, err := local.SyscallConn()
	if err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	var refused error
	if err := raw.Control(func(fd uintptr) { refused = address.CheckPeer(int(fd), rootToo) }); err != nil {
		return fmt.Errorf("daemon: the user at the other end of the socket: %w", err)
	}
	return refused
}
