// Package kills kills memcore with SIGKILL while it writes, at system calls that write and between
// them, and checks that nothing is lost or stays broken. It needs Linux.
package kills
