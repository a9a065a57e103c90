//go:build lancedb && linux && (amd64 || arm64)

package compaction

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/intercept"
	"github.com/memcore/memcore/service/store"
	"github.com/memcore/memcore/service/store/changelog"
	"github.com/memcore/memcore/service/store/objects"
	"github.com/memcore/memcore/service/store/storetest"
)

// Variables of a process that does a step and may be killed.
const (
	stepVariable     = "COMPACTION_STEP"
	uriVariable      = "COMPACTION_URI"
	endpointVariable = "COMPACTION_ENDPOINT"
	nameVariable     = "COMPACTION_NAME"
)

func TestMain(m *testing.M) {
	intercept.Launch()
	if step := os.Getenv(stepVariable); step != "" {
		err := errors.New("there is no such step")
		if do := steps[step]; do != nil {
			err = do(context.Background(), open(objects.Place{URI: os.Getenv(uriVariable), Endpoint: os.Getenv(endpointVariable)}), os.Getenv(nameVariable))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A storage is that of a service.
type storage struct {
	logs    func(path string) store.Changelog
	objects store.Objects
}

func open(at objects.Place) storage {
	logs, err := changelog.Below(at)
	if err != nil {
		panic(err)
	}
	all, err := objects.Open(at)
	if err != nil {
		panic(err)
	}
	return storage{logs, all}
}

// week is the age from which replaced revisions are removed.
const week = 7 * 24 * time.Hour

// steps are what a killed process was doing.
var steps = map[string]func(ctx context.Context, s storage, name string) error{
	"compact": func(ctx context.Context, s storage, name string) error {
		return s.logs(name).Compact(ctx, time.Now().Add(-week))
	},
	"append": func(ctx context.Context, s storage, name string) error {
		_, mark, err := s.logs(name).Since(ctx, store.Mark{})
		if err != nil {
			return err
		}
		_, _, err = s.logs(name).Append(ctx, appended(), mark)
		return err
	},
	"put": func(ctx context.Context, s storage, name string) error {
		return s.objects.Put(ctx, name+"/object", []byte(after))
	},
	"replace": func(ctx context.Context, s storage, name string) error {
		_, tag, err := s.objects.Fetch(ctx, name+"/object", "")
		if err != nil {
			return err
		}
		_, err = s.objects.Replace(ctx, name+"/object", []byte(after), tag)
		if errors.Is(err, store.ErrBehind) { // its answer was lost, and it was sent again
			return nil
		}
		return err
	},
}

var before, after = strings.Repeat("before", 1000), strings.Repeat("after", 10_000)

// appended are the revisions of the step append.
func appended() []store.Revision {
	var all []store.Revision
	for i := range 3 {
		all = append(all, store.Revision{ID: fmt.Sprint("appended-", i), Path: fmt.Sprintf("appended-%d.md", i), Text: "new", At: time.Now().UTC().Truncate(time.Microsecond)})
	}
	return all
}

// A history is what a log was given.
type history struct {
	revisions []store.Revision
	marks     []store.Mark
}

// fill writes a log of which some revisions are old enough to be removed.
func fill(t *testing.T, log store.Changelog) (h history) {
	t.Helper()
	mark := store.Mark{}
	for i := range 6 {
		at := time.Now().UTC().Truncate(time.Microsecond)
		if i < 4 {
			at = at.Add(-2 * week)
		}
		some := []store.Revision{{Path: "a.md", Text: fmt.Sprint(i), At: at}, {Path: fmt.Sprintf("%d.md", i), Text: "x", At: at}}
		if i == 3 {
			some = append(some, store.Revision{Path: "1.md", Gone: true, At: at})
		}
		since, next, err := log.Append(t.Context(), some, mark)
		require.NoError(t, err)
		h.revisions, h.marks = append(h.revisions, since...), append(h.marks, mark)
		mark = next
	}
	h.marks = append(h.marks, mark)
	return h
}

func (h history) end() store.Mark { return h.marks[len(h.marks)-1] }

// documents returns the texts of what is not gone.
func documents(all map[string]string, revisions []store.Revision) map[string]string {
	all = maps.Clone(all)
	for _, r := range revisions {
		if all[r.Path] = r.Text; r.Gone {
			delete(all, r.Path)
		}
	}
	return all
}

// check requires that a log has what it was given: all documents for a reader with any mark, each
// revision at most once, and none that was replaced lately lost.
func (h history) check(t *testing.T, log store.Changelog) {
	t.Helper()
	given := map[string]store.Revision{}
	for _, r := range h.revisions {
		given[r.ID] = r
	}
	want := documents(map[string]string{}, h.revisions)
	for _, mark := range h.marks {
		since, _, err := log.Since(t.Context(), mark)
		require.NoError(t, err)
		known := slices.DeleteFunc(slices.Clone(h.revisions), func(r store.Revision) bool { return r.Order > mark.Order })
		require.Equal(t, want, documents(documents(map[string]string{}, known), since), "for a reader at %d", mark.Order)
		last := mark.Order
		found := map[string]bool{}
		for _, r := range since {
			require.Greater(t, r.Order, last, "once, in order")
			last = r.Order
			require.Equal(t, given[r.ID], r)
			found[r.ID] = true
		}
		for i, r := range h.revisions {
			replaced := slices.IndexFunc(h.revisions[i+1:], func(later store.Revision) bool { return later.Path == r.Path })
			isRecent := replaced < 0 || time.Since(h.revisions[i+1+replaced].At) < week
			require.True(t, found[r.ID] || r.Order <= mark.Order || !isRecent, "%s %q is lost", r.Path, r.Text)
		}
	}
}

// goOn requires that other processes write and compact the log.
func (h history) goOn(t *testing.T, log store.Changelog) {
	t.Helper()
	since, next, err := log.Append(t.Context(), []store.Revision{{Path: "later.md", Text: "later", At: time.Now().UTC().Truncate(time.Microsecond)}}, h.end())
	require.NoError(t, err)
	h.revisions, h.marks = append(h.revisions, since...), append(h.marks, next)
	h.check(t, log)
	require.NoError(t, log.Compact(t.Context(), time.Now().Add(-week)))
	h.check(t, log)
	all, _, err := log.Since(t.Context(), store.Mark{})
	require.NoError(t, err)
	require.NotContains(t, texts(all), "0", "what was replaced long ago is gone")
}

func texts(revisions []store.Revision) (all []string) {
	for _, r := range revisions {
		all = append(all, r.Text)
	}
	return all
}

// prepare makes what a step works on, and returns what checks it afterwards; isDone says that the
// step reported success.
func prepare(t *testing.T, s storage, step, name string) func(isDone bool) {
	t.Helper()
	switch step {
	case "put", "replace":
		require.NoError(t, s.objects.Put(t.Context(), name+"/object", []byte(before)))
		return func(isDone bool) {
			data, err := s.objects.Get(t.Context(), name+"/object")
			require.NoError(t, err)
			require.True(t, string(data) == after || !isDone && string(data) == before, "it has %d bytes", len(data))
			require.NoError(t, steps[step](t.Context(), s, name))
			data, err = s.objects.Get(t.Context(), name+"/object")
			require.NoError(t, err)
			require.Equal(t, after, string(data))
		}
	}
	h := fill(t, s.logs(name))
	return func(isDone bool) {
		log := s.logs(name) // as another process has it
		if step == "append" {
			since, _, err := log.Since(t.Context(), h.end())
			require.NoError(t, err)
			require.True(t, len(since) == 3 || len(since) == 0 && !isDone, "%d of 3 revisions", len(since))
			again, next, err := log.Append(t.Context(), appended(), h.end())
			require.NoError(t, err)
			if len(since) > 0 {
				require.Equal(t, since, again, "the same ones, not again")
			}
			h.revisions, h.marks = append(h.revisions, again...), append(h.marks, next)
		}
		h.check(t, log)
		h.goOn(t, log)
	}
}

// run does a step in another process.
func run(step string, at objects.Place, name string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), stepVariable+"="+step, uriVariable+"="+at.URI, endpointVariable+"="+at.Endpoint, nameVariable+"="+name)
	if at.Endpoint != "" {
		cmd.Env = append(cmd.Env, "AWS_ENDPOINT="+at.Endpoint)
	}
	cmd.Stderr = os.Stderr
	return cmd
}

func allSteps() []string { return slices.Sorted(maps.Keys(steps)) }

// TestKilledOnAFolder kills before each system call that writes to the storage.
func TestKilledOnAFolder(t *testing.T) {
	if err := intercept.Supported(); err != nil {
		t.Skip("system calls cannot be stopped here: ", err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	at := objects.Place{URI: dir}
	s := open(at)
	for _, step := range allSteps() {
		t.Run(step, func(t *testing.T) {
			for n := 1; ; n++ {
				name := fmt.Sprintf("%s-%d", step, n)
				check := prepare(t, s, step, name)
				calls := 0
				p, err := intercept.Start(run(step, at, name), intercept.Writes, func(c intercept.Call) intercept.Action {
					if strings.HasPrefix(c.Path, dir) || c.Path == "" {
						calls++
					}
					return intercept.Action{Kill: calls == n}
				})
				require.NoError(t, err)
				err = p.Wait()
				isDone := calls < n
				if isDone {
					require.NoError(t, err)
				}
				check(isDone)
				if isDone {
					require.Greater(t, n, 1, "it writes nothing")
					t.Logf("killed before each of %d calls", n-1)
					return
				}
			}
		})
	}
}

// A fault is what a proxy does at a request that writes.
type fault struct {
	name  string
	kills bool // the process; else the connection is cut
	after bool // the storage has done it
	holds bool // the request waits for act, and nothing else happens
}

var faults = []fault{{name: "killed before", kills: true}, {name: "killed after", kills: true, after: true}, {name: "cut before"}, {name: "cut after", after: true}}

// A link passes requests to a storage, and has a fault at the nth that writes.
type link struct {
	mu       sync.Mutex
	fault    fault
	nth      int // 0 is none
	requests int
	act      func()
}

// use sets the fault of the nth request from now on. act kills the process, or is what is waited
// for.
func (l *link) use(f fault, nth int, act func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault, l.nth, l.requests, l.act = f, nth, 0, act
}

// isOver reports whether there were fewer requests.
func (l *link) isOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requests < l.nth
}

var errCut = errors.New("cut")

type faulty struct{}

// start returns the URL of the link to a storage.
func (l *link) start(t *testing.T, target string) string {
	to, err := url.Parse(target)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // is signed
		},
		ModifyResponse: func(r *http.Response) error {
			if f, ok := r.Request.Context().Value(faulty{}).(fault); ok {
				l.hit(f)
				return errCut
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch f, ok := l.next(r); {
		case ok && f.after:
			r = r.WithContext(context.WithValue(r.Context(), faulty{}, f))
		case ok:
			if l.hit(f); !f.holds {
				panic(http.ErrAbortHandler)
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// next counts a request, and returns its fault.
func (l *link) next(r *http.Request) (fault, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return fault{}, false
	}
	l.requests++
	return l.fault, l.requests == l.nth
}

func (l *link) hit(f fault) {
	l.mu.Lock()
	act := l.act
	l.mu.Unlock()
	if f.kills || f.holds {
		act()
	}
	l.mu.Lock() // who asks isOver sees what act did
	defer l.mu.Unlock()
}

// TestFaultsOnObjectStorage kills before and after each request that writes, and loses requests
// and answers.
func TestFaultsOnObjectStorage(t *testing.T) {
	direct, _ := storetest.StartMinIO(t, "bucket")
	l := &link{}
	through := l.start(t, direct)
	s := open(objects.Place{URI: "s3://bucket/x", Endpoint: direct})
	for _, step := range allSteps() {
		for _, f := range faults {
			t.Run(step+" "+f.name, func(t *testing.T) {
				for n := 1; ; n++ {
					name := fmt.Sprintf("%s-%s-%d", step, strings.ReplaceAll(f.name, " ", "-"), n)
					check := prepare(t, s, step, name)
					cmd := run(step, objects.Place{URI: "s3://bucket/x", Endpoint: through}, name)
					started := make(chan struct{})
					l.use(f, n, func() { <-started; _ = cmd.Process.Kill() })
					require.NoError(t, cmd.Start())
					close(started)
					err := cmd.Wait()
					isOver := l.isOver()
					if isOver || !f.kills {
						require.NoError(t, err)
					}
					check(err == nil)
					if isOver {
						require.Greater(t, n, 1, "it writes nothing")
						t.Logf("%s each of %d requests", f.name, n-1)
						return
					}
				}
			})
		}
	}
}

// TestHeldCompaction stops a compaction at each request that writes, while others write and compact
// the same log.
func TestHeldCompaction(t *testing.T) {
	direct, _ := storetest.StartMinIO(t, "bucket")
	l := &link{}
	through := l.start(t, direct)
	s := open(objects.Place{URI: "s3://bucket/x", Endpoint: direct})
	for n := 1; ; n++ {
		name := fmt.Sprintf("held-%d", n)
		log := s.logs(name)
		h := fill(t, log)
		var others error
		l.use(fault{holds: true}, n, func() {
			since, next, err := log.Append(t.Context(), []store.Revision{{Path: "a.md", Text: "of others", At: time.Now().UTC().Truncate(time.Microsecond)}}, h.end())
			h.revisions, h.marks = append(h.revisions, since...), append(h.marks, next)
			others = errors.Join(err, log.Compact(t.Context(), time.Now().Add(-week)))
		})
		require.NoError(t, run("compact", objects.Place{URI: "s3://bucket/x", Endpoint: through}, name).Run())
		isOver := l.isOver()
		require.NoError(t, others)
		h.check(t, s.logs(name))
		h.goOn(t, s.logs(name))
		if isOver {
			require.Greater(t, n, 1, "it writes nothing")
			t.Logf("held at each of %d requests", n-1)
			return
		}
	}
}
