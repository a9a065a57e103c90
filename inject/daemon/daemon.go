// Package daemon runs at most one background process of a user, and finds it.
//
// The process holds a lock in a folder of the user's for as long as it lives, so the system tells whether there is one, however it ended; it listens on a socket
// beside the lock. Whoever needs it starts it, and of several that do so at once one gets the lock and the others end. A newer release takes an older
// one's place, never the other way round. The one rule: nobody waits for it. Who cannot reach it at once does the work without it.
package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/memcore/memcore/internal/overload"
	"github.com/memcore/memcore/internal/private"
)

// A Place is where the daemon of a user is found.
type Place struct {
	dir    string
	socket string
}

// longestSocket is how long the path of a socket may be on all systems, in bytes.
const longestSocket = 100

// At returns the place in a folder, which need not exist. Where its path is too long for a socket, that lies in a folder of the user's below shared.
func At(dir string) Place {
	p := Place{dir: dir, socket: filepath.Join(dir, "memcore.sock")}
	if len(p.socket) > longestSocket {
		sum := sha256.Sum256([]byte(dir))
		p.socket = filepath.Join(shared(), fmt.Sprintf("memcore-%d-%s", os.Getuid(), hex.EncodeToString(sum[:6])), "memcore.sock")
	}
	return p
}

// Socket is the path of the socket.
func (p Place) Socket() string { return p.socket }

// File is the path of a file beside the lock.
func (p Place) File(name string) string { return filepath.Join(p.dir, name) }

func (p Place) lockFile() string { return filepath.Join(p.dir, "daemon.lock") }

// ErrRunning means that the user has a daemon already.
var ErrRunning = errors.New("a daemon is running already")

// Options say how a daemon runs.
type Options struct {
	// Idle is after how long without a request it ends; 0 is never.
	Idle time.Duration
	// LastUsed is when the last request came, Busy whether one is being worked on.
	LastUsed func() time.Time
	Busy     func() bool
	// Listening is called when requests can come; Ending when the daemon begins to end: streams that have no end of their own have to; Ended before the lock is
	// freed: when it returns, nothing of the daemon is left but the process. nil is not to be told.
	Listening, Ending, Ended func()
	// More are listeners beside the socket, each with what answers there.
	More map[net.Listener]http.Handler
	// Logger gets what happens; nil is slog.Default().
	Logger *slog.Logger
}

const (
	// drain is how long requests may go on when the daemon ends.
	drain = 10 * time.Second
	// look is how often a daemon looks whether it is idle, and still the one that is found.
	look = time.Second
	// glance is longer than anybody holds the lock who only looks whether there is a daemon.
	glance = 300 * time.Millisecond
)

// Run is the daemon: it answers at the socket until ctx ends, it was idle for long, or another has taken its place, and leaves nothing behind. It fails with
// ErrRunning if there is one.
func (p Place) Run(ctx context.Context, handler http.Handler, o Options) error {
	log := o.Logger
	if log == nil {
		log = slog.Default()
	}
	unlock, err := p.claim(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if o.Ended != nil {
		defer within(drain, o.Ended)
	}
	listener, err := p.listen(ctx, log)
	if err != nil {
		return err
	}
	own, err := os.Stat(p.socket)
	if err != nil {
		return errors.Join(fmt.Errorf("daemon: %w", err), listener.Close())
	}
	defer func() {
		// The one that stands there by now may be another's, if the folder was removed meanwhile.
		if now, err := os.Lstat(p.socket); err == nil && os.SameFile(own, now) {
			_ = os.Remove(p.socket)
		}
	}()
	tidy := func() { // what somebody has left who ended while starting a daemon
		if done, ok, err := lockFile(filepath.Join(p.dir, startLock)); err == nil && ok {
			done()
		}
	}
	tidy()
	defer tidy()
	base, end := context.WithCancel(context.Background())
	defer end()
	serve := func(l net.Listener, h http.Handler) (*http.Server, <-chan error) {
		// No limit on writing: events are streamed for as long as somebody listens.
		server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, BaseContext: func(net.Listener) context.Context { return base }}
		server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelWarn)
		l = overload.Protect(server, l, overload.Options{})
		served := make(chan error, 1)
		go func() { served <- server.Serve(l) }()
		return server, served
	}
	local, failed := serve(listener, handler)
	servers := []*http.Server{local}
	for l, h := range o.More {
		server, _ := serve(l, h)
		servers = append(servers, server)
	}
	if o.Listening != nil {
		o.Listening()
	}
	log.Info("daemon runs", "socket", p.socket, "pid", os.Getpid())
	reason := p.wait(ctx, failed, own, o)
	log.Info("daemon ends", "reason", reason)
	wait, stop := context.WithTimeout(context.Background(), drain)
	defer stop()
	if o.Ending != nil {
		o.Ending()
	}
	time.AfterFunc(drain/2, end)
	for _, server := range servers {
		if err := server.Shutdown(wait); err != nil {
			err = errors.Join(err, server.Close())
			log.Warn("requests were cut off", "error", err)
		}
	}
	return nil
}

// wait returns why the daemon is to end.
func (p Place) wait(ctx context.Context, failed <-chan error, own fs.FileInfo, o Options) string {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return "it was asked to"
		case err := <-failed:
			return err.Error()
		case <-ticker.C:
			if o.Idle > 0 && o.LastUsed != nil && time.Since(o.LastUsed()) > o.Idle && (o.Busy == nil || !o.Busy()) {
				return "nobody has asked for " + o.Idle.String()
			}
			if now, err := os.Stat(p.socket); err != nil || !os.SameFile(own, now) {
				return "its socket is gone" // nobody could find it any more
			}
		}
	}
}

// claim takes the lock of the daemon for one that begins. Who looks whether there is one (Running) holds it for a moment, most of all whoever
// has just started this one and waits for it.
func (p Place) claim(ctx context.Context) (unlock func(), err error) {
	for until := time.Now().Add(glance); ; {
		unlock, err = p.lock()
		if !errors.Is(err, ErrRunning) || time.Now().After(until) {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// lock takes the lock of the daemon, or fails with ErrRunning.
func (p Place) lock() (unlock func(), err error) {
	unlock, ok, err := lockFile(p.lockFile())
	if err == nil && !ok {
		err = ErrRunning
	}
	return unlock, err
}

// lockFile takes a lock unless another has it. unlock also removes the file, so that nothing is left over.
func lockFile(path string) (unlock func(), ok bool, err error) {
	if err := makeOwn(filepath.Dir(path)); err != nil {
		return nil, false, err
	}
	for {
		file := flock.New(path, flock.SetPermissions(0o600))
		ok, err := file.TryLock()
		if err != nil || !ok {
			if err != nil {
				err = fmt.Errorf("daemon: lock %s: %w", path, err)
			}
			return nil, false, err
		}
		// Whoever held it may have removed the file after this one has opened it: then the lock is of no file that others see.
		held, err := file.Stat()
		now, nowErr := os.Stat(path)
		if err == nil && nowErr == nil && os.SameFile(held, now) {
			return func() {
				if now, err := os.Stat(path); err == nil && os.SameFile(held, now) {
					_ = os.Remove(path) // while it is held: nobody takes a file that goes
				}
				_ = file.Unlock()
			}, true, nil
		}
		_ = file.Unlock()
	}
}

// Running tells whether a daemon has the lock. It takes it for a moment to find out.
func (p Place) Running() bool {
	if _, err := os.Stat(p.lockFile()); err != nil {
		return false
	}
	unlock, err := p.lock()
	if err == nil {
		unlock()
	}
	return errors.Is(err, ErrRunning)
}

// listen makes the socket, in the place of one that a daemon which was killed has left.
func (p Place) listen(ctx context.Context, log *slog.Logger) (net.Listener, error) {
	if err := makeOwn(filepath.Dir(p.socket)); err != nil {
		return nil, err
	}
	if err := os.Remove(p.socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("daemon: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", p.socket)
	if err != nil {
		return nil, fmt.Errorf("daemon: listen at %s: %w", p.socket, err)
	}
	if unix, ok := listener.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(false) // by its path: that may be another's then
	}
	if err := os.Chmod(p.socket, 0o600); err != nil {
		listener.Close()
		return nil, fmt.Errorf("daemon: %w", err)
	}
	return ownUsers{listener, log}, nil
}

// makeOwn makes a folder that only the user can enter. One that is there already has to be the user's, and then it is closed to others; if they could write to
// it, it is refused: who knows what is in it.
func makeOwn(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	if err := owned(dir); err != nil {
		return err
	}
	if _, err := private.Keep(dir); err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	return nil
}

// Log opens the file beside the lock that a daemon in the background logs to, for appending; one that is larger than most bytes begins anew. The caller
// closes it.
func (p Place) Log(most int64) (*os.File, error) {
	const name = "daemon.log"
	if err := makeOwn(p.dir); err != nil {
		return nil, err
	}
	folder, err := os.OpenRoot(p.dir) // a link that leads out of it is not followed
	if err != nil {
		return nil, fmt.Errorf("daemon: %w", err)
	}
	defer folder.Close()
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if info, err := folder.Stat(name); err == nil && info.Size() > most {
		flags |= os.O_TRUNC
	}
	file, err := folder.OpenFile(name, flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("daemon: log %s: %w", p.File(name), err)
	}
	return file, nil
}

// within waits for do to return, for so long.
func within(limit time.Duration, do func()) {
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(limit):
	}
}
