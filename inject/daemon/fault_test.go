package daemon

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/inject/daemon/address"

	"github.com/memcore/memcore/internal/web/overload"
)

// brokenListener fails to accept.
type brokenListener struct{ net.Listener }

func (brokenListener) Accept() (net.Conn, error) { return nil, errors.New("no more files") }

// A daemon serves other listeners with handlers of their own, and closes them.
func TestMoreListeners(t *testing.T) {
	p := At(filepath.Join(t.TempDir(), "run"))
	other, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	stop, ended := run(t, p, "v1", Options{More: map[net.Listener]http.Handler{
		other: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "the other") }),
	}})
	response, err := http.Get("http://" + other.Addr().String())
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, "the other", string(text))
	stop()
	require.NoError(t, <-ended)
	_, err = net.Dial("tcp", other.Addr().String())
	require.Error(t, err)
}

// The log says why a daemon ended.
func TestWhyItEnds(t *testing.T) {
	p := At(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, "it was asked to", p.wait(ctx, nil, nil, Options{}))
	failed := make(chan error, 1)
	failed <- errors.New("no more files")
	require.Equal(t, "no more files", p.wait(t.Context(), failed, nil, Options{}))
}

// A daemon that cannot accept connections ends and leaves nothing behind.
func TestEndsIfItCannotAccept(t *testing.T) {
	p := At(filepath.Join(t.TempDir(), "run"))
	var log bytes.Buffer
	begun := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- p.Run(t.Context(), echo("v1", func() {}), Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Listening: func() { close(begun) }})
	}()
	<-begun
	require.NoError(t, os.RemoveAll(filepath.Dir(p.Socket())))
	require.NoError(t, <-done)
	require.Contains(t, log.String(), "its socket is gone")
	require.Empty(t, leftovers(t, p))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, failed := serve(t.Context(), brokenListener{listener}, http.NotFoundHandler(), quietLog, overload.Options{})
	require.ErrorContains(t, <-failed, "no more files")
}

// Waiting for the lock ends with the context.
func TestGivesUpClaiming(t *testing.T) {
	p := At(filepath.Join(t.TempDir(), "run"))
	held, ok, err := lockFile(p.lockFile())
	require.NoError(t, err)
	require.True(t, ok)
	defer held()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, p.Run(ctx, nil, Options{Logger: quietLog}), context.Canceled)
}

// The error names a place where no daemon can be, and nothing is left there.
func TestPlacesWhereNoDaemonCanBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	below := At(filepath.Join(file, "run"))
	require.ErrorContains(t, below.Run(t.Context(), nil, Options{Logger: quietLog}), file)
	_, err := below.Log(0)
	require.ErrorContains(t, err, file)

	// A folder has the name of a daemon's file.
	for _, name := range []string{"daemon.lock", "memcore.sock"} {
		p := At(filepath.Join(t.TempDir(), "run"))
		require.NoError(t, os.MkdirAll(filepath.Join(p.File(name), "inside"), 0o700))
		err := p.Run(t.Context(), nil, Options{Logger: quietLog})
		require.ErrorContains(t, err, p.File(name))
		require.DirExists(t, filepath.Join(p.File(name), "inside"), "it is not the daemon's to remove")
		if name == "memcore.sock" {
			require.Equal(t, []string{name}, leftovers(t, p), "the lock is given back")
		}
	}

	// Another user owns the folder of the socket.
	p := At(filepath.Join(t.TempDir(), "run"))
	p.socket = filepath.Join(file, "memcore.sock")
	require.ErrorContains(t, p.Run(t.Context(), nil, Options{Logger: quietLog}), file)
	require.False(t, p.Running())
	_, err = p.Call(t.Context(), http.MethodGet, "/", nil, nil)
	require.ErrorIs(t, err, ErrAway)

	// The path is too long for a socket.
	p.socket = filepath.Join(p.dir, string(bytes.Repeat([]byte("x"), 200)))
	require.ErrorContains(t, p.Run(t.Context(), nil, Options{Logger: quietLog}), "daemon: listen at")
	require.Empty(t, leftovers(t, At(p.dir)))
}

// Invalid requests fail before they are sent.
func TestRequestsThatCannotBeMade(t *testing.T) {
	p := At(filepath.Join(t.TempDir(), "run"))
	_, err := p.Call(t.Context(), http.MethodPost, "/", func() {}, nil)
	require.ErrorContains(t, err, "unsupported type")
	_, err = p.Call(t.Context(), "no method", "/", nil, nil)
	require.ErrorContains(t, err, "invalid method")
}

// A truncated answer is an error.
func TestAnAnswerThatBreaksOff(t *testing.T) {
	p := At(filepath.Join(t.TempDir(), "run"))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		ended <- p.Run(ctx, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Memcore-Version", "v1")
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, `{"said": `)
		}), Options{Logger: quietLog, Listening: func() { close(begun) }})
	}()
	<-begun
	var out struct{ Said string }
	version, err := p.Call(t.Context(), http.MethodGet, "/", nil, &out)
	require.ErrorIs(t, err, ErrAway)
	require.Equal(t, "v1", version)
	require.Empty(t, out.Said)
	stop()
	require.NoError(t, <-ended)
}

// Stop and Replace end with the context if the daemon ends slowly.
func TestGivesUpStopping(t *testing.T) {
	p := At(filepath.Join(t.TempDir(), "run"))
	ctx, giveUp := context.WithCancel(t.Context())
	ending := make(chan struct{})
	_, ended := run(t, p, "v1.0.0", Options{Ended: func() { time.AfterFunc(50*time.Millisecond, giveUp); <-ending }})
	require.ErrorIs(t, p.Replace(ctx, "v1.0.0", Starter{Binary: "/bin/false", Version: "v2.0.0"}), context.Canceled)
	require.True(t, p.Running(), "it ends in its own time")
	close(ending)
	require.NoError(t, <-ended)
	require.False(t, p.Running())
}

// Start does nothing beside a running daemon, and ends with the context.
func TestStartBesideADaemon(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("sleep is a program of Unix")
	}
	p := At(filepath.Join(t.TempDir(), "run"))
	stop, ended := run(t, p, "v1.0.0", Options{})
	require.NoError(t, p.Start(t.Context(), Starter{Binary: filepath.Join(p.dir, "none"), Version: "v1.0.0"}), "which would fail")
	stop()
	require.NoError(t, <-ended)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, p.Start(ctx, Starter{Binary: "/bin/sleep", Args: []string{"1"}, Version: "v1.0.0"}), context.DeadlineExceeded)
}

// The user of a connection is known only for processes of this machine.
func TestConnectionsWhoseUserIsUnknown(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	require.ErrorContains(t, checkPeer(here, true), "is no socket of this machine")
	if runtime.GOOS == "windows" {
		return
	}
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer listener.Close()
	var conn net.Conn
	var accepted sync.WaitGroup
	accepted.Go(func() { conn, err = listener.Accept() })
	asking, dialErr := net.Dial("unix", socket)
	require.NoError(t, dialErr)
	defer asking.Close()
	accepted.Wait()
	require.NoError(t, err)
	require.NoError(t, checkPeer(conn, false))
	require.NoError(t, conn.Close())
	require.ErrorContains(t, checkPeer(conn, true), "the user at the other end of the socket")
	require.Error(t, address.CheckPeer(-1, true))
}

// within does not wait for what takes too long.
func TestWithin(t *testing.T) {
	never := make(chan struct{})
	defer close(never)
	within(time.Millisecond, func() { <-never })
}
