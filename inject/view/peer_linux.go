package view

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// isOurs reports whether this user or root has the other end of an IPv4 connection. Other users can
// see links, which are arguments of the command that opens the browser.
func isOurs(c net.Conn) bool {
	ends := " " + inKernel(c.RemoteAddr()) + " " + inKernel(c.LocalAddr()) + " "
	for range 3 { // a table that changes may lack a row
		table, err := os.ReadFile("/proc/self/net/tcp")
		if err != nil {
			return false
		}
		if _, row, found := strings.Cut(string(table), ends); found {
			// State, queues, timer, retransmits, user, timeout, inode: 0 if the socket is closed.
			row, _, _ = strings.Cut(row, "\n")
			fields := strings.Fields(row)
			return len(fields) > 6 && fields[6] != "0" && (fields[4] == "0" || fields[4] == strconv.Itoa(os.Getuid()))
		}
	}
	return false
}

// inKernel writes an address as /proc/net/tcp does.
func inKernel(address net.Addr) string {
	a, ok := address.(*net.TCPAddr)
	if !ok || a.IP.To4() == nil {
		return "none"
	}
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(a.IP.To4()), a.Port)
}
