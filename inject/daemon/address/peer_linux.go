package address

import "syscall"

func peerUser(fd int) (uid int, err error) {
	who, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(who.Uid), nil
}
