// Package kills kills memcore with SIGKILL while it writes, at each of its system calls that write and at moments
// between them, and looks whether anything is lost or stays broken. Its tests are for Linux.
package kills
