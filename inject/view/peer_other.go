//go:build !linux

package view

import "net"

// isOurs cannot be known here.
func isOurs(net.Conn) bool { return true }
