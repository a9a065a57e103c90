// Package daemon runs at most one background process a user, and finds it.
//
// The process holds a lock in a folder of the user, and listens on a socket beside it. Any command
// starts it; the lock decides between several. Newer releases replace older ones.
//
// No command waits for the daemon: without an answer, it does the work itself.
package daemon

import (
	"context"
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

	"github.com/memcore/memcore/inject/daemon/address"
	"github.com/memcore/memcore/internal/userdir"
	"github.com/memcore/memcore/internal/web/overload"
)

// A Place is the folder of a user's daemon.
type Place struct {
	dir    string
	socket string
}

// At returns the place in a folder.
func At(dir string) Place { return Place{dir: dir, socket: address.Socket(dir)} }

// Socket returns the path of the socket.
func (p Place) Socket() string { return p.socket }

// File returns a path beside the lock.
func (p Place) File(name string) string { return filepath.Join(p.dir, name) }

func (p Place) lockFile() string { return filepath.Join(p.dir, "daemon.lock") }

// ErrRunning means that the user has a daemon already.
var ErrRunning = errors.New("a daemon is running already")

// Options say how a daemon runs.
type Options struct {
	// Idle bounds the time without requests; 0 is no bound.
	Idle time.Duration
	// LastUsed returns when the last request came, Busy whether one runs.
	LastUsed func() time.Time
	Busy     func() bool
	// Listening is called when requests are taken, Ending when streams must end, Ended before the
	// lock is free. Each may be nil.
	Listening, Ending, Ended func()
	// More are listeners beside the socket, with their handlers.
	More map[net.Listener]http.Handler
	// Logger gets what happens; nil is slog.Default().
	Logger *slog.Logger
}

const (
	// drain bounds requests at the end.
	drain = 10 * time.Second
	// look is the interval of checks that it is needed.
	look = time.Second
	// glance is longer than Running holds the lock.
	glance = 300 * time.Millisecond
)

// Run serves until ctx ends, the daemon was idle too long, or its socket is gone. A second daemon
// gets ErrRunning.
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
	listener, err := p.listen(ctx)
	if err != nil {
		return err
	}
	own, err := os.Stat(p.socket)
	if err != nil {
		return errors.Join(fmt.Errorf("daemon: %w", err), listener.Close())
	}
	defer p.removeSocket(own)
	p.tidy()
	defer p.tidy()
	base, cut := context.WithCancel(context.Background())
	defer cut()
	local, failed := serve(base, listener, handler, log, overload.Options{Admit: func(c net.Conn) bool {
		err := checkPeer(c, true)
		if err != nil {
			log.Warn("connection refused", "error", err)
		}
		return err == nil
	}})
	servers := []*http.Server{local}
	for l, h := range o.More {
		server, _ := serve(base, l, h, log, overload.Options{})
		servers = append(servers, server)
	}
	if o.Listening != nil {
		o.Listening()
	}
	log.Info("daemon runs", "socket", p.socket, "pid", os.Getpid())
	reason := p.wait(ctx, failed, own, o)
	log.Info("daemon ends", "reason", reason)
	if o.Ending != nil {
		o.Ending()
	}
	shutdown(servers, cut, log)
	return nil
}

// removeSocket spares another daemon's socket.
func (p Place) removeSocket(own fs.FileInfo) {
	if now, err := os.Lstat(p.socket); err == nil && os.SameFile(own, now) {
		_ = os.Remove(p.socket)
	}
}

// tidy removes the lock of a killed starter.
func (p Place) tidy() {
	if done, ok, err := lockFile(filepath.Join(p.dir, startLock)); err == nil && ok {
		done()
	}
}

// serve sets no limit for writing: streams of events have no end.
func serve(base context.Context, l net.Listener, h http.Handler, log *slog.Logger, o overload.Options) (*http.Server, <-chan error) {
	server := &http.Server{Handler: h, BaseContext: func(net.Listener) context.Context { return base },
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	l = overload.Protect(server, l, o)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	return server, served
}

// shutdown ends servers within drain, cutting requests after half.
func shutdown(servers []*http.Server, cut func(), log *slog.Logger) {
	wait, stop := context.WithTimeout(context.Background(), drain)
	defer stop()
	time.AfterFunc(drain/2, cut)
	for _, server := range servers {
		if err := server.Shutdown(wait); err != nil {
			err = errors.Join(err, server.Close())
			log.Warn("requests were cut off", "error", err)
		}
	}
}

// wait returns why the daemon ends.
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
				return "there was no request for " + o.Idle.String()
			}
			if now, err := os.Stat(p.socket); err != nil || !os.SameFile(own, now) {
				return "its socket is gone"
			}
		}
	}
}

// claim takes the lock, which Running may hold for a moment.
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

// lock returns ErrRunning if a daemon has it.
func (p Place) lock() (unlock func(), err error) {
	unlock, ok, err := lockFile(p.lockFile())
	if err == nil && !ok {
		err = ErrRunning
	}
	return unlock, err
}

// lockFile takes a free lock. unlock removes the file.
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
		// If its last holder removed the file, others lock a new one.
		held, err := file.Stat()
		now, nowErr := os.Stat(path)
		if err == nil && nowErr == nil && os.SameFile(held, now) {
			return func() {
				if now, err := os.Stat(path); err == nil && os.SameFile(held, now) {
					_ = os.Remove(path) // while the lock is held
				}
				_ = file.Unlock()
			}, true, nil
		}
		_ = file.Unlock()
	}
}

// Running reports whether there is a daemon, by taking the lock for a moment.
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

// listen replaces the socket of a killed daemon.
func (p Place) listen(ctx context.Context) (net.Listener, error) {
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
		unix.SetUnlinkOnClose(false) // the path may be another daemon's then
	}
	if err := os.Chmod(p.socket, 0o600); err != nil {
		listener.Close()
		return nil, fmt.Errorf("daemon: %w", err)
	}
	return listener, nil
}

// makeOwn makes a folder for the user only, or closes an existing one. It refuses one that another
// user owns or could write to.
func makeOwn(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	if err := address.Owned(dir); err != nil {
		return err
	}
	if _, err := userdir.Keep(dir); err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	return nil
}

// Log opens daemon.log, truncated above most bytes.
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

// within waits for do at most limit.
func within(limit time.Duration, do func()) {
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(limit):
	}
}
