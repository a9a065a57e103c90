package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/inject/daemon/address"
)

var quietLog = slog.New(slog.DiscardHandler)

// TestMain is also a daemon for other processes: TESTDAEMON=DIR VERSION.
func TestMain(m *testing.M) {
	if what := os.Getenv("TESTSTRANGER"); what != "" {
		os.Exit(beStranger(what, os.Getenv("TESTSOCKET")))
	}
	if os.Getenv("TESTDAEMON") == "" {
		os.Exit(m.Run())
	}
	ctx, stop := context.WithCancel(context.Background())
	err := At(os.Getenv("TESTDAEMON")).Run(ctx, echo(os.Args[1], stop), Options{Logger: quietLog})
	if err != nil && !errors.Is(err, ErrRunning) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// echo answers like a daemon of a version.
func echo(version string, stop func()) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Memcore-Version", version)
		switch r.URL.Path {
		case "/v1/shutdown":
			stop()
		case "/bad":
			w.WriteHeader(http.StatusTeapot)
			io.WriteString(w, `{"error":{"message":"no coffee"}}`)
			return
		case "/worse":
			w.WriteHeader(http.StatusBadGateway)
			return
		case "/slow":
			<-r.Context().Done()
			return
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, `{"said": %q}`, body)
	})
}

// run runs a daemon in this process.
func run(t *testing.T, p Place, version string, o Options) (stop func(), ended <-chan error) {
	t.Helper()
	o.Logger = quietLog
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, echo(version, cancel), o) }()
	require.Eventually(t, func() bool {
		_, err := p.Call(t.Context(), http.MethodGet, "/", nil, nil)
		return err == nil
	}, time.Minute, time.Millisecond)
	t.Cleanup(cancel)
	return cancel, done
}

func leftovers(t *testing.T, p Place) []string {
	t.Helper()
	var all []string
	for _, dir := range slices.Compact([]string{p.dir, filepath.Dir(p.socket)}) {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".json") && !strings.HasSuffix(e.Name(), ".json.lock") {
				all = append(all, e.Name())
			}
		}
	}
	return all
}

func TestOneDaemon(t *testing.T) {
	p := At(filepath.Join(t.TempDir(), "run"))
	_, err := p.Call(t.Context(), http.MethodGet, "/", nil, nil)
	require.ErrorIs(t, err, ErrAway)
	require.ErrorIs(t, p.Stop(t.Context()), ErrAway)
	require.False(t, p.Running())
	stop, ended := run(t, p, "v1.0.0", Options{})
	require.True(t, p.Running())
	require.ErrorIs(t, p.Run(t.Context(), nil, Options{}), ErrRunning)
	var out struct{ Said string }
	version, err := p.Call(t.Context(), http.MethodPost, "/", map[string]int{"x": 1}, &out)
	require.NoError(t, err)
	require.Equal(t, "v1.0.0", version)
	require.Equal(t, `{"x":1}`, out.Said)
	for path, want := range map[string]string{"/bad": "no coffee", "/worse": "502 Bad Gateway"} {
		_, err := p.Call(t.Context(), http.MethodGet, path, nil, nil)
		var status *StatusError
		require.ErrorAs(t, err, &status)
		require.Equal(t, want, err.Error())
	}
	short, done := context.WithTimeout(t.Context(), 20*time.Millisecond)
	_, err = p.Call(short, http.MethodGet, "/slow", nil, nil)
	done()
	require.ErrorIs(t, err, context.DeadlineExceeded)
	if runtime.GOOS != "windows" {
		info, err := os.Stat(p.Socket())
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "no other user can ask")
	}
	stop()
	require.NoError(t, <-ended)
	require.Empty(t, leftovers(t, p))
	require.False(t, p.Running())
}

// A daemon ends when it is idle, when it is asked to, and when its socket is gone.
func TestEnds(t *testing.T) {
	p := At(filepath.Join(t.TempDir(), "run"))
	begun := time.Now()
	var reached atomic.Bool // or it could end on a slow machine before anybody has reached it
	_, ended := run(t, p, "v1", Options{Idle: 10 * time.Millisecond, LastUsed: func() time.Time {
		if !reached.Load() {
			return time.Now()
		}
		return begun
	}})
	reached.Store(true)
	require.NoError(t, <-ended)
	_, ended = run(t, p, "v1", Options{})
	require.NoError(t, p.Stop(t.Context()))
	require.NoError(t, <-ended)
	_, ended = run(t, p, "v1", Options{})
	require.NoError(t, os.Remove(p.Socket()))
	require.NoError(t, <-ended)
	busy := true
	stop, ended := run(t, p, "v1", Options{Idle: time.Millisecond, LastUsed: func() time.Time { return begun }, Busy: func() bool { return busy }})
	select {
	case err := <-ended:
		t.Fatal("it ended while it was working", err)
	case <-time.After(1500 * time.Millisecond):
	}
	stop()
	require.NoError(t, <-ended)
	require.Empty(t, leftovers(t, p))
}

// A killed daemon's files and a path that is too long do not stop a daemon.
func TestOddPlaces(t *testing.T) {
	p := At(filepath.Join(t.TempDir(), "run"))
	require.NoError(t, os.MkdirAll(p.dir, 0o700))
	require.NoError(t, os.WriteFile(p.Socket(), nil, 0o600))
	require.NoError(t, os.WriteFile(p.lockFile(), nil, 0o600))
	stop, ended := run(t, p, "v1", Options{})
	stop()
	require.NoError(t, <-ended)
	long := At(filepath.Join(t.TempDir(), strings.Repeat("long", 40)))
	require.LessOrEqual(t, len(long.Socket()), 150)
	require.NotEqual(t, long.dir, filepath.Dir(long.Socket()))
	stop, ended = run(t, long, "v1", Options{})
	stop()
	require.NoError(t, <-ended)
	if runtime.GOOS != "windows" {
		open := At(filepath.Join(t.TempDir(), "open"))
		require.NoError(t, os.MkdirAll(open.dir, 0o777))
		require.NoError(t, os.Chmod(open.dir, 0o777))
		require.ErrorContains(t, open.Run(t.Context(), nil, Options{Logger: quietLog}), "only its owner")
	}
}

// A daemon whose folder was removed does not disturb the next one.
func TestSuccessor(t *testing.T) {
	p := At(filepath.Join(t.TempDir(), "run"))
	stopFirst, first := run(t, p, "v1", Options{})
	require.NoError(t, os.RemoveAll(p.dir))
	stopSecond, second := run(t, p, "v2", Options{})
	stopFirst()
	require.NoError(t, <-first)
	version, err := p.Call(t.Context(), http.MethodGet, "/", nil, nil)
	require.NoError(t, err)
	require.Equal(t, "v2", version)
	require.True(t, p.Running())
	stopSecond()
	require.NoError(t, <-second)
	require.Empty(t, leftovers(t, p))
}

// A client does not use a folder that another user could have made.
func TestForeignFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its folders have access lists")
	}
	p := At(filepath.Join(t.TempDir(), "run"))
	stop, ended := run(t, p, "v1", Options{})
	require.NoError(t, os.Chmod(p.dir, 0o777))
	_, err := p.Call(t.Context(), http.MethodGet, "/", nil, nil)
	require.ErrorIs(t, err, ErrAway)
	require.ErrorIs(t, err, address.ErrFolder)
	stop()
	require.NoError(t, <-ended)
}

// Ended runs before another daemon can start.
func TestEnded(t *testing.T) {
	p := At(filepath.Join(t.TempDir(), "run"))
	var steps []string
	held := false
	stop, ended := run(t, p, "v1", Options{Listening: func() { steps = append(steps, "listening") }, Ending: func() { steps = append(steps, "ending") },
		Ended: func() { steps = append(steps, "ended"); held = p.Running() }})
	stop()
	require.NoError(t, <-ended)
	require.Equal(t, []string{"listening", "ending", "ended"}, steps)
	require.True(t, held)
}

// Running holds the lock for a moment; a starting daemon waits for it.
func TestBeginsWhileSomebodyLooks(t *testing.T) {
	p := At(filepath.Join(t.TempDir(), "run"))
	unlock, ok, err := lockFile(p.lockFile())
	require.NoError(t, err)
	require.True(t, ok)
	time.AfterFunc(30*time.Millisecond, unlock)
	ctx, stop := context.WithCancel(t.Context())
	runs := false
	require.NoError(t, p.Run(ctx, echo("v1.0.0", stop), Options{Logger: quietLog, Listening: func() { runs = true; stop() }}))
	require.True(t, runs)

	held, ok, err := lockFile(p.lockFile())
	require.NoError(t, err)
	require.True(t, ok)
	defer held()
	require.ErrorIs(t, p.Run(t.Context(), echo("v1.0.0", stop), Options{Logger: quietLog}), ErrRunning)
}

// Of many concurrent starts one succeeds, and the newest release stays.
func TestStart(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the environment names the folder of the test's daemon")
	}
	p := At(filepath.Join(t.TempDir(), "run"))
	t.Setenv("TESTDAEMON", p.dir)
	binary, err := os.Executable()
	require.NoError(t, err)
	starter := func(version string) Starter {
		return Starter{Binary: binary, Args: []string{version}, Version: version}
	}
	answers := func() string {
		version, _ := p.Call(t.Context(), http.MethodGet, "/", nil, nil)
		return version
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := p.Start(t.Context(), starter("v1.0.0")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Eventually(t, func() bool { return answers() == "v1.0.0" }, time.Minute, time.Millisecond)
	require.NoError(t, p.Replace(t.Context(), "v1.0.0", starter("v0.9.0")))
	require.NoError(t, p.Replace(t.Context(), "v1.0.0", starter("(devel)")))
	require.Equal(t, "v1.0.0", answers(), "no older one, and none of an unknown age")
	require.NoError(t, p.Replace(t.Context(), "v1.0.0", starter("v1.1.0")))
	require.Eventually(t, func() bool { return answers() == "v1.1.0" }, time.Minute, time.Millisecond)
	require.NoError(t, p.Stop(t.Context()))
	require.NoError(t, os.WriteFile(p.newestFile(), []byte(`{"version":"v9.0.0","binary":"/bin/false"}`), 0o600))
	require.NoError(t, p.Start(t.Context(), starter("v1.0.0")), "a newer one that does not work is forgotten")
	require.Eventually(t, func() bool { return answers() == "v1.0.0" }, time.Minute, time.Millisecond)
	require.NoError(t, p.Stop(t.Context()))
	require.Error(t, p.Start(t.Context(), Starter{Binary: filepath.Join(p.dir, "none"), Version: "v2.0.0"}))
	require.NoError(t, p.Start(t.Context(), starter("v1.0.0")), "a newer one that is not installed any more is forgotten")
	require.Eventually(t, func() bool { return answers() == "v1.0.0" }, time.Minute, time.Millisecond)
	require.NoError(t, p.Stop(t.Context()))
}
