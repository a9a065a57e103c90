//go:build linux && (amd64 || arm64)

package intercept

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls that a Go program makes, by kind.
var calls = map[Kind]map[uint32]string{
	Writes: {
		unix.SYS_OPENAT: "openat", unix.SYS_WRITE: "write", unix.SYS_PWRITE64: "pwrite64", unix.SYS_WRITEV: "writev",
		unix.SYS_FSYNC: "fsync", unix.SYS_FDATASYNC: "fdatasync", unix.SYS_FTRUNCATE: "ftruncate", unix.SYS_FALLOCATE: "fallocate",
		unix.SYS_RENAMEAT: "renameat", unix.SYS_RENAMEAT2: "renameat2", unix.SYS_UNLINKAT: "unlinkat", unix.SYS_MKDIRAT: "mkdirat",
		unix.SYS_LINKAT: "linkat", unix.SYS_SYMLINKAT: "symlinkat", unix.SYS_FCHMOD: "fchmod", unix.SYS_FCHMODAT: "fchmodat",
		unix.SYS_COPY_FILE_RANGE: "copy_file_range", unix.SYS_SENDFILE: "sendfile",
	},
	Reads: {
		unix.SYS_OPENAT: "openat", unix.SYS_READ: "read", unix.SYS_PREAD64: "pread64", unix.SYS_GETDENTS64: "getdents64",
	},
}

const (
	// launchVariable turns a test binary into the program. It has the kind of calls and a socket.
	launchVariable = "MEMCORE_TORTURE_INTERCEPT"
	// waitKillable (Linux 5.19) keeps signals of Go's scheduler from restarting a stopped call.
	waitKillable = 1 << 5
)

// Launch turns this process into the program if [Start] started it.
func Launch() {
	asked := os.Getenv(launchVariable)
	if asked == "" {
		return
	}
	kind, socket, _ := strings.Cut(asked, ",")
	k, _ := strconv.Atoi(kind)
	fd, _ := strconv.Atoi(socket)
	err := launch(Kind(k), fd)
	fmt.Fprintln(os.Stderr, "intercept:", err)
	os.Exit(125)
}

// launch installs the filter, sends its descriptor and becomes the program. Until then it must not
// make a filtered call, since no parent answers yet.
func launch(k Kind, socket int) error {
	runtime.LockOSThread() // the filter is this thread's, and the program begins with it
	os.Unsetenv(launchVariable)
	unix.CloseOnExec(socket)
	filter := program(k)
	fprog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	rights := make([]byte, unix.CmsgSpace(4))
	header := (*unix.Cmsghdr)(unsafe.Pointer(&rights[0]))
	header.Level, header.Type = unix.SOL_SOCKET, unix.SCM_RIGHTS
	header.SetLen(unix.CmsgLen(4))
	payload := []byte{0}
	vector := unix.Iovec{Base: &payload[0], Len: 1}
	message := unix.Msghdr{Iov: &vector, Iovlen: 1, Control: &rights[0]}
	message.SetControllen(len(rights))
	name, err := syscall.BytePtrFromString(os.Args[1])
	if err != nil {
		return err
	}
	argv, err := syscall.SlicePtrFromStrings(os.Args[1:])
	if err != nil {
		return err
	}
	envv, err := syscall.SlicePtrFromStrings(os.Environ())
	if err != nil {
		return err
	}
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|waitKillable, uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	binary.NativeEndian.PutUint32(rights[unix.CmsgLen(0):], uint32(fd))
	if _, _, errno = unix.RawSyscall(unix.SYS_SENDMSG, uintptr(socket), uintptr(unsafe.Pointer(&message)), 0); errno != 0 {
		return fmt.Errorf("send listener: %w", errno)
	}
	_, _, errno = unix.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&envv[0])))
	return fmt.Errorf("execute %s: %w", os.Args[1], errno)
}

// program returns a filter that stops the calls of a kind.
func program(k Kind) []unix.SockFilter {
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	answer := func(with uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: with}
	}
	equal := func(to uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: to, Jt: yes, Jf: no}
	}
	const number, architecture = 0, 4 // offsets in struct seccomp_data
	filter := []unix.SockFilter{load(architecture), equal(auditArch, 1, 0), answer(unix.SECCOMP_RET_ALLOW), load(number)}
	for nr := range calls[k] {
		filter = append(filter, equal(nr, 0, 1), answer(unix.SECCOMP_RET_USER_NOTIF))
	}
	return append(filter, answer(unix.SECCOMP_RET_ALLOW))
}

// A Process was started by Start.
type Process struct {
	cmd      *exec.Cmd
	listener int
	served   chan error
}

// Supported returns why this machine cannot stop calls, or nil.
func Supported() error {
	p, err := Start(exec.Command("/bin/true"), Writes, func(Call) Action { return Action{} })
	if err != nil {
		return err
	}
	return p.Wait()
}

// Start starts cmd in its own process group and asks decide about each call of the kind, one by
// one. Calls of children pass. The caller must call Wait.
func Start(cmd *exec.Cmd, k Kind, decide func(Call) Action) (*Process, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("intercept: %w", err)
	}
	defer unix.Close(pair[0])
	theirs := os.NewFile(uintptr(pair[1]), "intercept")
	cmd.Args = append([]string{"intercept", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/proc/self/exe"
	cmd.ExtraFiles = append(cmd.ExtraFiles, theirs)
	cmd.Env = append(cmd.Environ(), fmt.Sprintf("%s=%d,%d", launchVariable, k, 2+len(cmd.ExtraFiles)))
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return nil, fmt.Errorf("intercept: %w", err)
	}
	listener, err := receive(pair[0])
	if err != nil {
		cmd.Process.Kill()
		return nil, errors.Join(fmt.Errorf("intercept: %w", err), cmd.Wait())
	}
	p := &Process{cmd: cmd, listener: listener, served: make(chan error, 1)}
	go func() { p.served <- p.serve(k, decide) }()
	return p, nil
}

// receive returns the descriptor sent by the launched process.
func receive(socket int) (int, error) {
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return -1, errors.Join(errors.New("the process sent no listener; its standard error says why"), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1, errors.Join(errors.New("the process sent no listener"), err)
	}
	return fds[0], nil
}

// Process returns the started process.
func (p *Process) Process() *os.Process { return p.cmd.Process }

// Wait waits for the program. It returns the error of cmd.Wait or of serving calls.
func (p *Process) Wait() error {
	err := p.cmd.Wait()
	return errors.Join(err, <-p.served)
}

// These are struct seccomp_notif and struct seccomp_notif_resp.
type notification struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type response struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

// serve answers until no filtered process is left.
func (p *Process) serve(k Kind, decide func(Call) Action) error {
	defer unix.Close(p.listener)
	for {
		ready := []unix.PollFd{{Fd: int32(p.listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); err != nil {
			if errors.Is(err, unix.EINTR) {
				continue
			}
			return fmt.Errorf("intercept: %w", err)
		}
		if ready[0].Revents&unix.POLLIN == 0 {
			return nil
		}
		var n notification
		if errno := ioctl(p.listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); errno != 0 {
			if errno == unix.ENOENT || errno == unix.EINTR { // it was killed meanwhile
				continue
			}
			return fmt.Errorf("intercept: %w", errno)
		}
		action := Action{}
		if call, ok := p.describe(k, n); ok {
			action = decide(call)
		}
		if action.Kill {
			p.cmd.Process.Kill() // the stopped call is never made
			continue
		}
		r := response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if action.Skip || action.Fail != 0 {
			r.flags, r.err = 0, -int32(action.Fail)
		}
		if errno := ioctl(p.listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)); errno != 0 && errno != unix.ENOENT {
			return fmt.Errorf("intercept: %w", errno)
		}
	}
}

func ioctl(fd int, request uint, arg unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(arg))
	return errno
}

// writing are the flags that open a file for changes.
const writing = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC

// describe reads the arguments of a call; ok is false if it needs no decision.
func (p *Process) describe(k Kind, n notification) (c Call, ok bool) {
	if groupOf(n.pid) != p.cmd.Process.Pid {
		return c, false
	}
	c.Name = calls[k][uint32(n.nr)]
	switch c.Name {
	case "openat":
		if (k == Writes) != (n.args[2]&writing != 0) {
			return c, false
		}
		c.Path = at(n.pid, n.args[0], n.args[1])
	case "mkdirat", "unlinkat", "fchmodat":
		c.Path = at(n.pid, n.args[0], n.args[1])
	case "symlinkat":
		c.Path = at(n.pid, n.args[1], n.args[2])
	case "renameat", "renameat2", "linkat":
		c.Path = at(n.pid, n.args[2], n.args[3])
	case "copy_file_range":
		c.Path = opened(n.pid, n.args[2])
	default:
		c.Path = opened(n.pid, n.args[0])
	}
	return c, true
}

// groupOf returns the process of a thread.
func groupOf(thread uint32) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", thread))
	for line := range strings.Lines(string(status)) {
		if id, ok := strings.CutPrefix(line, "Tgid:"); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(id))
			return n
		}
	}
	return 0
}

func opened(pid uint32, fd uint64) string {
	name, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, int32(fd)))
	return name
}

// at returns the path of a folder's descriptor and a string of the process.
func at(pid uint32, folder, address uint64) string {
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return ""
	}
	defer memory.Close()
	text := make([]byte, unix.PathMax)
	n, _ := memory.ReadAt(text, int64(address))
	name, _, ended := strings.Cut(string(text[:n]), "\x00")
	switch {
	case !ended:
		return ""
	case filepath.IsAbs(name):
		return filepath.Clean(name)
	case int32(folder) == unix.AT_FDCWD:
		cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		return filepath.Join(cwd, name)
	}
	return filepath.Join(opened(pid, folder), name)
}
