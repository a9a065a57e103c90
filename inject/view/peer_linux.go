package view

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strings"
)

// isOurs reports whether this user or root has the other end of an IPv4 connection. Other users can
// see links, which are arguments of the command that opens the browser.
func isOurs(c net.Conn) bool {
	there, known := c.RemoteAddr().(*net.TCPAddr)
	here, both := c.LocalAddr().(*net.TCPAddr)
	if !known || !both || there.IP.To4() == nil || here.IP.To4() == nil {
		return false
	}
	uid, found := ownerOf(there, here)
	return found && (uid == 0 || uid == os.Getuid())
}

// ownerOf returns the user who has one end of a connection, by the kernel's table of all. A closed
// end has none.
func ownerOf(end, other *net.TCPAddr) (uid int, found bool) {
	ends := " " + inKernel(end) + " " + inKernel(other) + " "
	for range 3 { // a table that changes may lack a row
		table, err := os.ReadFile("/proc/self/net/tcp")
		if err != nil {
			return 0, false
		}
		if _, row, there := strings.Cut(string(table), ends); there {
			// State, queues, timer, retransmits, user, timeout, inode.
			var inode int
			_, _ = fmt.Sscanf(row, "%s %s %s %s %d %s %d", new(string), new(string), new(string), new(string), &uid, new(string), &inode)
			return uid, inode != 0
		}
	}
	return 0, false
}

// inKernel writes an IPv4 address as /proc/net/tcp does.
func inKernel(a *net.TCPAddr) string {
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(a.IP.To4()), a.Port)
}
