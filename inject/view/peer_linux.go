package view

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// isOurs reports whether this user or root has the other end of an IPv4 connection. Other users can
// see links, which are arguments of the command that opens the browser.
func isOurs(c net.Conn) bool {
	there, known := c.RemoteAddr().(*net.TCPAddr)
	here, both := c.LocalAddr().(*net.TCPAddr)
	if !known || !both || there.IP.To4() == nil || here.IP.To4() == nil {
		return false
	}
	o, err := ownerOf(there, here)
	if err != nil {
		o = ownerInTable(there, here)
	}
	return o.inode != 0 && (o.uid == 0 || o.uid == uint32(os.Getuid()))
}

// An owner has a socket, whose inode is 0 if it is closed.
type owner struct{ uid, inode uint32 }

// A socketID is inet_diag_sockid of <linux/inet_diag.h>.
type socketID struct {
	Ports          [2][2]byte // big endian
	Source, Target [16]byte
	Interface      uint32
	Cookie         [2]uint32
}

// ownerOf asks the kernel for the owner of one end of a connection, by sock_diag(7). Unlike the
// table of all connections it costs the same however many there are.
func ownerOf(end, other *net.TCPAddr) (o owner, err error) {
	socket, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return o, err
	}
	defer unix.Close(socket)
	request := struct {
		Header                          unix.NlMsghdr
		Family, Protocol, Extensions, _ uint8
		States                          uint32
		ID                              socketID
	}{
		Header: unix.NlMsghdr{Type: unix.SOCK_DIAG_BY_FAMILY, Flags: unix.NLM_F_REQUEST},
		Family: unix.AF_INET, Protocol: unix.IPPROTO_TCP, States: ^uint32(0),
		ID: socketID{Cookie: [2]uint32{^uint32(0), ^uint32(0)}}, // of any
	}
	request.Header.Len = uint32(binary.Size(request))
	for i, at := range []*net.TCPAddr{end, other} {
		binary.BigEndian.PutUint16(request.ID.Ports[i][:], uint16(at.Port))
	}
	copy(request.ID.Source[:], end.IP.To4())
	copy(request.ID.Target[:], other.IP.To4())
	message, err := binary.Append(nil, binary.NativeEndian, request)
	if err != nil {
		return o, err
	}
	if err := unix.Sendto(socket, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return o, err
	}
	data := make([]byte, os.Getpagesize())
	n, _, err := unix.Recvfrom(socket, data, unix.MSG_DONTWAIT) // the kernel has answered
	if err != nil {
		return o, err
	}
	var header unix.NlMsghdr
	from := bytes.NewReader(data[:n])
	if err := binary.Read(from, binary.NativeEndian, &header); err != nil {
		return o, err
	}
	if header.Type != unix.SOCK_DIAG_BY_FAMILY {
		var failed int32
		if err := binary.Read(from, binary.NativeEndian, &failed); err != nil {
			return o, err
		}
		if errno := syscall.Errno(-failed); errno != unix.ENOENT {
			return o, fmt.Errorf("sock_diag: %w", errno)
		}
		return o, nil // it has gone
	}
	var found struct { // inet_diag_msg
		_                [4]uint8
		ID               socketID
		_, _, _          uint32
		User, SocketNode uint32
	}
	if err := binary.Read(from, binary.NativeEndian, &found); err != nil {
		return o, err
	}
	return owner{found.User, found.SocketNode}, nil
}

// ownerInTable looks into the table of all connections, where the kernel has no sock_diag.
func ownerInTable(end, other *net.TCPAddr) (o owner) {
	ends := " " + inKernel(end) + " " + inKernel(other) + " "
	for range 3 { // a table that changes may lack a row
		table, err := os.ReadFile("/proc/self/net/tcp")
		if err != nil {
			return o
		}
		if _, row, found := strings.Cut(string(table), ends); found {
			// State, queues, timer, retransmits, user, timeout, inode.
			_, _ = fmt.Sscanf(row, "%s %s %s %s %d %s %d", new(string), new(string), new(string), new(string), &o.uid, new(string), &o.inode)
			return o
		}
	}
	return o
}

// inKernel writes an IPv4 address as /proc/net/tcp does.
func inKernel(a *net.TCPAddr) string {
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(a.IP.To4()), a.Port)
}
