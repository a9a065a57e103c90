//go:build darwin || freebsd

package address

import "golang.org/x/sys/unix"

func peerUser(fd int) (uid int, err error) {
	who, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(who.Uid), nil
}
