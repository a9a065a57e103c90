//go:build unix

package early

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/daemon/address"
	"github.com/memcore/memcore/internal/userdir"
)

// maxReply bounds an answer, in bytes.
const maxReply = 64 << 20

// ask asks the daemon if this process is a hook whose agent and settings are the usual ones.
func ask() (a Answer) {
	agent, ok := hookOf(os.Args, os.Environ())
	if !ok {
		return a
	}
	folder, err := address.Folder()
	late := address.LatenessIn(folder)
	if err != nil || asksService() || address.Owned(filepath.Dir(address.Socket(folder))) != nil || late.Mute(Started) > 0 {
		return a
	}
	in := readAside(os.Stdin)
	Stdin = in
	if !in.whole(Started.Add(address.HookWait)) {
		return a
	}
	request, ok := requestFor(agent, in.data)
	if !ok {
		return a
	}
	conn, err := dial(address.Socket(folder), time.Now().Add(address.HookWait))
	if err != nil {
		return a
	}
	defer conn.Close()
	a.ID = request.ID
	if a.post(conn, request); a.Err != nil {
		if as := address.Silent; errors.Is(a.Err, os.ErrDeadlineExceeded) {
			if a.Works {
				as = address.Working
			}
			late.Note(as)
		}
		return a
	}
	late.Forget()
	if a.deliver() {
		os.Exit(0)
	}
	return a
}

// hookOf returns the agent whose hook a process is. ok is false if it is no hook, or the command
// has to decide: a variable may change settings, or tell that another agent runs the hook.
func hookOf(args, environment []string) (agent string, ok bool) {
	if len(args) != 3 || args[1] != "hook" {
		return "", false
	}
	row, ok := agents.Named(args[2])
	if !ok || row.Reply == agents.ReplyText { // what scripts send need not be JSON
		return "", false
	}
	values := map[string]string{}
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		if values[name] = value; strings.HasPrefix(name, "MEMCORE_") {
			return "", false
		}
	}
	return row.Name, agents.RunByOther(row.Name, func(name string) string { return values[name] }) == ""
}

// asksService reports whether a memory service may be asked, for which hooks wait longer.
func asksService() bool {
	state, err := userdir.State()
	if err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(state, userdir.ServiceKeyFile))
	return err == nil
}

// An input is standard input, read aside: an agent may never end it.
type input struct {
	done chan struct{} // closed once data and err are there
	data []byte        // at most MaxEvent+1 bytes
	err  error
	all  io.Reader // data and what follows
	read time.Time // when data was
}

func readAside(file *os.File) *input {
	in := &input{done: make(chan struct{})}
	go func() {
		defer close(in.done)
		in.data, in.err = io.ReadAll(io.LimitReader(file, MaxEvent+1))
		in.all, in.read = io.MultiReader(bytes.NewReader(in.data), file), time.Now()
	}()
	return in
}

// whole reports whether all of it was read in time.
func (in *input) whole(until time.Time) bool {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-in.done:
		return in.err == nil && len(in.data) <= MaxEvent
	case <-timer.C:
		return false
	}
}

// Ended waits until data is read, and returns when it was.
func (in *input) Ended() time.Time {
	<-in.done
	return in.read
}

// Read implements io.Reader.
func (in *input) Read(p []byte) (int, error) {
	<-in.done
	return in.all.Read(p)
}

// A request is an httpapi.HookRequest.
type request struct {
	Workspace string          `json:"workspace"`
	Agent     string          `json:"agent"`
	Event     json.RawMessage `json:"event"`
	ID        string          `json:"id"`
}

// requestFor returns the request for an event that is worth one.
func requestFor(agent string, event []byte) (r request, ok bool) {
	var sent struct { // as in hook.Parse
		Name  string   `json:"hook_event_name"`
		Dir   string   `json:"cwd"`
		Roots []string `json:"workspace_roots"`
	}
	if json.Unmarshal(event, &sent) != nil || agents.KindOf(sent.Name) == agents.Other {
		return r, false
	}
	if len(sent.Roots) > 0 {
		sent.Dir = cmp.Or(sent.Dir, sent.Roots[0])
	}
	if !filepath.IsAbs(sent.Dir) {
		dir, err := os.Getwd()
		if err != nil {
			return r, false
		}
		sent.Dir = dir
	}
	return request{sent.Dir, agent, event, fmt.Sprintf("%016x", rand.Uint64())}, true
}

// dial connects without package net, which is initialised late.
func dial(socket string, until time.Time) (*os.File, error) {
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(syscall.SetNonblock(fd, true), syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket}), address.CheckPeer(fd, false)); err != nil {
		return nil, errors.Join(err, syscall.Close(fd))
	}
	conn := os.NewFile(uintptr(fd), socket)
	if err := conn.SetDeadline(until); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// post sends a request and reads the answer, without package net/http. The daemon says at once that
// it continues, and gets longer then.
func (a *Answer) post(conn *os.File, r request) {
	var text, answer []byte
	if text, a.Err = json.Marshal(r); a.Err != nil {
		return
	}
	head := fmt.Sprintf("POST /v1/hook HTTP/1.1\r\nHost: memcore\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\nExpect: 100-continue\r\n\r\n", len(text))
	if _, a.Err = conn.Write(append([]byte(head), text...)); a.Err != nil {
		return
	}
	first := make([]byte, len(continues))
	if _, a.Err = io.ReadFull(conn, first); a.Err != nil {
		return
	}
	if a.Works = string(first) == continues; a.Works {
		first = nil // else a refusal begins with it
	}
	if a.Err = conn.SetDeadline(Began(Started).Add(address.WorkWait)); a.Err != nil {
		return
	}
	if answer, a.Err = io.ReadAll(io.LimitReader(conn, maxReply)); a.Err == nil {
		a.read(append(first, answer...))
	}
}

// continues is what the daemon says before it answers.
const continues = "HTTP/1.1 100 Continue\r\n\r\n"

// read reads an answer, which is in one piece.
func (a *Answer) read(answer []byte) {
	top, body, ok := bytes.Cut(answer, []byte("\r\n\r\n"))
	lines := strings.Split(string(top), "\r\n")
	whole := false
	for _, line := range lines[1:] {
		switch name, value, _ := strings.Cut(line, ": "); strings.ToLower(name) {
		case "x-memcore-version":
			a.Release = value
		case "content-length":
			whole = value == strconv.Itoa(len(body))
		}
	}
	if _, status, _ := strings.Cut(lines[0], " "); !ok || !whole || status != "200 OK" {
		a.Err = fmt.Errorf("the daemon answered %.200q", lines[0])
		return
	}
	a.Body = body
}

// deliver writes the reply, and reports whether nothing is left to do. A write that fails is left
// to the command, which says so in the journal.
func (a Answer) deliver() bool {
	var sent struct { // of an httpapi.HookReply
		Reply string   `json:"reply"`
		Index string   `json:"index"`
		Told  []string `json:"told"`
	}
	if json.Unmarshal(a.Body, &sent) != nil || sent.Index != "" || len(sent.Told) > 0 || a.Release != release() {
		return false
	}
	// Not os.Stdout, which ends the process if the agent reads no more.
	fd, err := syscall.Dup(syscall.Stdout)
	if err != nil {
		return false
	}
	out := os.NewFile(uintptr(fd), "stdout")
	_, err = io.WriteString(out, sent.Reply)
	return errors.Join(err, out.Close()) == nil
}

// release is that of this program, unless a packager's linker has set another one: then the command
// compares it with the daemon's.
func release() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}
