package tenants

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/store"
)

var errStorage = errors.New("storage fails")

var anything = rules{may: func(store.Revision) error { return nil }, fits: func(_, _ size) error { return nil }}

func openTestMirror(t *testing.T, log store.Changelog, dir string) *mirror {
	t.Helper()
	m, err := openMirror(t.Context(), log, dir, testCopies(log), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { m.close() })
	return m
}

// copiesOfLogs have what testCopies made, by log.
var copiesOfLogs sync.Map

// testCopies are copies of a log in memory, made often.
func testCopies(log store.Changelog) *copies {
	get := func(context.Context) ([]byte, error) {
		if data, ok := copiesOfLogs.Load(log); ok {
			return data.([]byte), nil
		}
		return nil, fs.ErrNotExist
	}
	return &copies{fewest: 3, get: get, put: func(_ context.Context, data []byte) error {
		copiesOfLogs.Store(log, data)
		return nil
	}}
}

// files returns the texts of all files of a mirror.
func (m *mirror) files(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, m.eachFile(func(name string, _ fs.FileInfo) error {
		text, err := m.root.ReadFile(filepath.FromSlash(name))
		all[name] = string(text)
		return err
	}))
	return all
}

// isSound requires that files, documents and log say the same.
func (m *mirror) isSound(t *testing.T, log *memoryLog) {
	t.Helper()
	_, err := m.fresh(t.Context(), 0, 0)
	require.NoError(t, err)
	m.mu.Lock()
	defer m.mu.Unlock()
	require.Equal(t, log.texts(), m.files(t))
	for _, paths := range [][]string{nil, {"shared/a.md", "shared/b.md"}} {
		changes, err := m.changes("", paths)
		require.NoError(t, err)
		require.Empty(t, changes)
	}
	require.ElementsMatch(t, keysOf(log.texts()), keysOf(m.documents))
}

func keysOf[V any](m map[string]V) (all []string) {
	for k := range maps.Keys(m) {
		all = append(all, k)
	}
	return all
}

// set writes a file as a tool would: without the mirror's knowledge.
func (m *mirror) set(name, text string) func() error {
	return func() error {
		file := filepath.Join(m.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		return os.WriteFile(file, []byte(text), 0o600)
	}
}

func (m *mirror) unset(name string) func() error {
	return func() error { return os.Remove(filepath.Join(m.dir, filepath.FromSlash(name))) }
}

func (m *mirror) mustSet(t *testing.T, name, text string) int64 {
	t.Helper()
	version, err := m.write(t.Context(), "ann/key", nil, anything, m.set(name, text))
	require.NoError(t, err)
	return version
}

// batch makes writers wait so that they are appended together, in order.
func (m *mirror) batch(t *testing.T, some ...*write) {
	t.Helper()
	m.mu.Lock()
	// The first one leads and waits for mu; the others are taken when it is through.
	first := make(chan struct{})
	go func() {
		defer close(first)
		_, err := m.write(t.Context(), "first/key", []string{"shared/first.md"}, anything, func() error { return nil })
		require.NoError(t, err)
	}()
	require.Eventually(t, func() bool {
		m.waiting.Lock()
		defer m.waiting.Unlock()
		return m.leading && len(m.queue) == 0
	}, 10*time.Second, time.Millisecond)
	m.waiting.Lock()
	for _, w := range some {
		w.ctx, w.done = t.Context(), make(chan struct{})
		if w.rules.may == nil {
			w.rules.may = anything.may
		}
		if w.rules.fits == nil {
			w.rules.fits = anything.fits
		}
		m.queue = append(m.queue, w)
	}
	m.waiting.Unlock()
	m.mu.Unlock()
	<-first
	for _, w := range some {
		<-w.done
	}
}

func TestMirrorFollowsTheLog(t *testing.T) {
	log := &memoryLog{}
	a, b := openTestMirror(t, log, t.TempDir()), openTestMirror(t, log, t.TempDir())
	version := a.mustSet(t, "shared/a.md", "one")
	seen, err := b.fresh(t.Context(), time.Hour, version)
	require.NoError(t, err)
	require.Equal(t, version, seen)
	b.isSound(t, log)
	_, err = b.fresh(t.Context(), time.Hour, version+1)
	require.Equal(t, kind.BadInput, kind.Of(err))

	b.mustSet(t, "shared/b.md", "two")
	a.isSound(t, log)
	_, err = a.write(t.Context(), "ann/key", nil, anything, a.unset("shared/b.md"))
	require.NoError(t, err)
	b.isSound(t, log)
	require.Equal(t, map[string]string{"shared/a.md": "one"}, b.files(t))

	same := a.mustSet(t, "shared/a.md", "one")
	require.Equal(t, log.order, same, "what changes nothing is not appended")
	text, d, ok, err := a.read(t.Context(), "shared/a.md")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "one", text)
	require.Equal(t, version, d.order)
	require.Equal(t, "ann/key", d.by)
}

// Two mirrors on one log: writes of different documents never fail, of one document the later one
// sees the earlier one.
func TestMirrorsWriteAtTheSameTime(t *testing.T) {
	log := &memoryLog{}
	for _, m := range testMirrorsWrite(t, log, 10) {
		m.isSound(t, log)
	}
}

func testMirrorsWrite(t *testing.T, log store.Changelog, each int) []*mirror {
	t.Helper()
	mirrors := []*mirror{openTestMirror(t, log, t.TempDir()), openTestMirror(t, log, t.TempDir())}
	var writers sync.WaitGroup
	for i, m := range mirrors {
		for j := range 3 {
			writers.Go(func() {
				for k := range each {
					own := fmt.Sprintf("shared/own-%d-%d.md", i, j)
					_, err := m.write(t.Context(), "ann/key", []string{own}, anything, func() error { return m.put(own, fmt.Sprint(k), &document{}) })
					require.NoError(t, err)
					for { // adds one line to a document of all
						_, err = m.write(t.Context(), "ann/key", []string{"shared/all.md"}, anything, func() error {
							text, err := m.root.ReadFile("shared/all.md")
							if err != nil && !errors.Is(err, fs.ErrNotExist) {
								return err
							}
							return m.put("shared/all.md", string(text)+".", &document{})
						})
						if kind.Of(err) != kind.Conflict {
							break
						}
					}
					require.NoError(t, err)
				}
			})
		}
	}
	writers.Wait()
	for _, m := range mirrors {
		_, err := m.fresh(t.Context(), 0, 0)
		require.NoError(t, err)
		all := m.files(t)
		require.Len(t, all["shared/all.md"], 6*each, "no line is lost")
		require.Len(t, all, 7)
	}
	return mirrors
}

func TestMirrorBatch(t *testing.T) {
	errNo := errors.New("no")
	refuse := rules{may: func(store.Revision) error { return errNo }}
	put := func(m *mirror, name, text string) *write {
		return &write{by: "ann/" + text, paths: []string{name}, do: func() error { return m.put(name, text, &document{}) }}
	}
	whole := func(do func() error) *write { return &write{by: "tool/key", do: do} }
	for _, tt := range []struct {
		name  string
		some  func(m *mirror) []*write
		want  map[string]string
		fails []bool
	}{
		{"all in one step", func(m *mirror) []*write {
			return []*write{put(m, "shared/b.md", "B"), put(m, "shared/c.md", "C"), whole(m.set("shared/d.md", "D"))}
		}, map[string]string{"shared/a.md": "A", "shared/b.md": "B", "shared/c.md": "C", "shared/d.md": "D"}, []bool{false, false, false}},
		{"a refused one leaves the others", func(m *mirror) []*write {
			bad := put(m, "shared/c.md", "C")
			bad.rules = refuse
			tool := whole(func() error {
				return errors.Join(m.set("shared/b.md", "bad")(), m.set("shared/a.md", "bad")(), m.set("users/x/y.md", "bad")())
			})
			tool.rules = refuse
			return []*write{put(m, "shared/b.md", "B"), bad, tool, put(m, "shared/d.md", "D")}
		}, map[string]string{"shared/a.md": "A", "shared/b.md": "B", "shared/d.md": "D"}, []bool{false, true, true, false}},
		{"a failing one leaves the others", func(m *mirror) []*write {
			return []*write{put(m, "shared/a.md", "A2"), whole(func() error { return errors.Join(m.set("shared/a.md", "bad")(), m.unset("shared/b.md")(), errNo) }), put(m, "shared/d.md", "D")}
		}, map[string]string{"shared/a.md": "A2", "shared/d.md": "D"}, []bool{false, true, false}},
		{"made and removed", func(m *mirror) []*write {
			return []*write{put(m, "shared/b.md", "B"), {paths: []string{"shared/b.md"}, do: m.unset("shared/b.md")}}
		}, map[string]string{"shared/a.md": "A"}, []bool{false, false}},
		{"removed and made again", func(m *mirror) []*write {
			return []*write{{paths: []string{"shared/a.md"}, do: m.unset("shared/a.md")}, put(m, "shared/a.md", "A")}
		}, map[string]string{"shared/a.md": "A"}, []bool{false, false}},
		{"changed and changed back", func(m *mirror) []*write {
			return []*write{put(m, "shared/a.md", "B"), whole(m.set("shared/a.md", "A"))}
		}, map[string]string{"shared/a.md": "A"}, []bool{false, false}},
		{"the last one counts", func(m *mirror) []*write {
			return []*write{put(m, "shared/a.md", "B"), put(m, "shared/a.md", "C")}
		}, map[string]string{"shared/a.md": "C"}, []bool{false, false}},
		{"nothing at all", func(*mirror) []*write {
			return []*write{whole(func() error { return nil }), whole(func() error { return errNo })}
		}, map[string]string{"shared/a.md": "A"}, []bool{false, true}},
		{"no bound is passed together", func(m *mirror) []*write {
			var all []*write
			for i := range 4 {
				w := put(m, fmt.Sprintf("shared/%d.md", i), "x")
				w.rules.fits = func(_, after size) error {
					if after.documents > 3 || after.bytes > 3 {
						return errNo
					}
					return nil
				}
				all = append(all, w)
			}
			return all
		}, map[string]string{"shared/a.md": "A", "shared/0.md": "x", "shared/1.md": "x"}, []bool{false, false, true, true}},
		{"text that is no UTF-8", func(m *mirror) []*write { return []*write{whole(m.set("shared/b.md", "\xffb\xc3"))} },
			map[string]string{"shared/a.md": "A", "shared/b.md": "\uFFFDb\uFFFD"}, []bool{false}},
		{"files that are no documents", func(m *mirror) []*write {
			return []*write{whole(func() error {
				return errors.Join(m.set("shared/.git/config", "x")(), m.set("shared/b.txt", "x")(), m.set("elsewhere/b.md", "x")(), m.set("b.md", "x")())
			})}
		}, map[string]string{"shared/a.md": "A"}, []bool{false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := &memoryLog{}
			m := openTestMirror(t, log, t.TempDir())
			m.mustSet(t, "shared/a.md", "A")
			some := tt.some(m)
			m.batch(t, some...)
			for i, w := range some {
				require.Equal(t, tt.fails[i], w.err != nil, "writer %d: %v", i, w.err)
			}
			require.Equal(t, tt.want, log.texts())
			m.isSound(t, log)
		})
	}
}

// Of writers that name the version of a document, one wins, also in a batch.
func TestConditionsInABatch(t *testing.T) {
	log := &memoryLog{}
	m := openTestMirror(t, log, t.TempDir())
	version := m.mustSet(t, "shared/a.md", "A")
	change := func(name, text string, check func() error) *write {
		return &write{paths: []string{name}, do: func() error {
			if err := check(); err != nil {
				return err
			}
			return m.put(name, text, &document{})
		}}
	}
	match := func(name string, n int64) func() error {
		return func() error { return check(m, name, name, conditionMatch(n)) }
	}
	isNew := func(name string) func() error { return func() error { return check(m, name, name, conditionNew) } }
	some := []*write{
		change("shared/a.md", "1", match("shared/a.md", version)), change("shared/a.md", "2", match("shared/a.md", version)),
		change("shared/b.md", "1", isNew("shared/b.md")), change("shared/b.md", "2", isNew("shared/b.md")), change("shared/c.md", "1", match("shared/c.md", 1)),
	}
	m.batch(t, some...)
	for i, fails := range []bool{false, true, false, true, true} {
		require.Equal(t, fails, some[i].err != nil, "writer %d: %v", i, some[i].err)
		if fails {
			require.Equal(t, kind.Conflict, kind.Of(some[i].err))
		}
	}
	require.Equal(t, map[string]string{"shared/a.md": "1", "shared/b.md": "1"}, log.texts())
}

// After an append that failed, files have what the log has; if it was added all the same, the next
// request sees it.
func TestMirrorFaults(t *testing.T) {
	log := &memoryLog{}
	m := openTestMirror(t, log, t.TempDir())
	m.mustSet(t, "shared/a.md", "A")
	m.mustSet(t, "shared/b.md", "B")
	fails := func(op string, after bool) func(string, bool) error {
		return func(o string, a bool) error {
			if o == op && a == after {
				return fmt.Errorf("%s of /secret/place: %w", op, errStorage)
			}
			return nil
		}
	}
	log.setFault(fails("append", false))
	for _, paths := range [][]string{nil, {"shared/a.md", "shared/b.md", "shared/c.md"}} {
		_, err := m.write(t.Context(), "ann/key", paths, anything, func() error {
			return errors.Join(m.set("shared/a.md", "lost")(), m.unset("shared/b.md")(), m.set("shared/c.md", "lost")())
		})
		require.ErrorIs(t, err, errStorage)
		require.NotContains(t, err.Error(), "/secret")
		require.Equal(t, kind.Unavailable, kind.Of(err))
		m.isSound(t, log)
	}
	log.setFault(fails("append", true))
	_, err := m.write(t.Context(), "ann/key", nil, anything, m.set("shared/a.md", "A2"))
	require.ErrorIs(t, err, errStorage)
	require.Equal(t, map[string]string{"shared/a.md": "A", "shared/b.md": "B"}, m.files(t))
	log.setFault(nil)
	m.isSound(t, log)
	require.Equal(t, "A2", m.files(t)["shared/a.md"])

	// The storage is away as a whole: files cannot be put back until it answers.
	log.setFault(func(string, bool) error { return errStorage })
	_, err = m.write(t.Context(), "ann/key", nil, anything, m.set("shared/a.md", "lost"))
	require.ErrorIs(t, err, errStorage)
	_, err = m.fresh(t.Context(), 0, 0)
	require.ErrorIs(t, err, errStorage)
	log.setFault(nil)
	m.mustSet(t, "shared/d.md", "D")
	m.isSound(t, log)
	require.Equal(t, "A2", log.texts()["shared/a.md"], "nothing that failed is written by the next writer")
}

// A writer that no longer waits neither blocks others nor leaves half a change.
func TestMirrorImpatience(t *testing.T) {
	log := &memoryLog{}
	m := openTestMirror(t, log, t.TempDir())
	m.mustSet(t, "shared/a.md", "A")
	hold, entered := make(chan struct{}), make(chan struct{}, 10)
	log.setFault(func(op string, after bool) error {
		if op == "append" && !after {
			entered <- struct{}{}
			<-hold
		}
		return nil
	})
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		<-entered
		stop()
	}()
	_, err := m.write(ctx, "ann/key", nil, anything, m.set("shared/b.md", "B"))
	require.ErrorIs(t, err, context.Canceled)
	begun := time.Now()
	_, err = m.fresh(ctx, 0, 0)
	require.Error(t, err)
	_, _, _, err = m.read(ctx, "shared/a.md")
	require.Error(t, err)
	_, _, err = m.list(ctx, "shared")
	require.Error(t, err)
	require.Less(t, time.Since(begun), 5*time.Second, "nobody waits longer than its context")
	_, err = m.fresh(t.Context(), time.Hour, 0)
	require.NoError(t, err, "what is fresh does not wait for writers")
	late, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = m.write(late, "ann/key", nil, anything, m.set("shared/c.md", "C"))
	require.ErrorIs(t, err, context.Canceled)
	close(hold)
	m.mustSet(t, "shared/d.md", "D")
	m.isSound(t, log)
	require.Equal(t, map[string]string{"shared/a.md": "A", "shared/b.md": "B", "shared/d.md": "D"}, log.texts())
}

// The folder of a node is not the truth: what others do to it is neither written nor left.
func TestMirrorFolder(t *testing.T) {
	log := &memoryLog{}
	dir := t.TempDir()
	m := openTestMirror(t, log, dir)
	for i := range 5 {
		m.mustSet(t, fmt.Sprintf("shared/%d.md", i), fmt.Sprint("text ", i))
	}
	damage := func() {
		require.NoError(t, os.Remove(filepath.Join(dir, "shared/0.md")))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "shared/1.md"), []byte("by somebody"), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "shared/new.md"), []byte("by somebody"), 0o600))
	}
	before := log.texts()
	damage()
	_, err := m.write(t.Context(), "ann/key", nil, anything, func() error { return nil })
	require.NoError(t, err)
	require.Equal(t, before, log.texts(), "a cleaner of caches removes nothing of the tenant")
	m.isSound(t, log)
	damage()
	_, err = m.write(t.Context(), "ann/key", []string{"shared/0.md"}, anything, func() error { return nil })
	require.NoError(t, err)
	require.Equal(t, before, log.texts())

	require.NoError(t, m.close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, temporary), []byte("half a te"), 0o600))
	again := openTestMirror(t, log, dir)
	again.isSound(t, log)

	other := openTestMirror(t, log, t.TempDir())
	other.mustSet(t, "shared/2.md", "of the other")
	require.NoError(t, again.close())
	again = openTestMirror(t, log, dir)
	again.isSound(t, log)
	require.Equal(t, "of the other", again.files(t)["shared/2.md"])
}

// What was replaced and compacted meanwhile does not come back, nor does an empty text.
func TestMirrorPutsBackWhatIsCompacted(t *testing.T) {
	log := &memoryLog{}
	m, other := openTestMirror(t, log, t.TempDir()), openTestMirror(t, log, t.TempDir())
	m.mustSet(t, "shared/a.md", "A")
	other.mustSet(t, "shared/a.md", "A2")
	require.NoError(t, log.Compact(t.Context(), time.Now().Add(time.Hour)))
	_, err := m.write(t.Context(), "ann/key", nil, anything, func() error { return errors.Join(m.set("shared/a.md", "bad")(), errStorage) })
	require.ErrorIs(t, err, errStorage)
	require.Equal(t, map[string]string{"shared/a.md": "A2"}, m.files(t))
	m.isSound(t, log)
}

// A change that is not allowed is not read by what waits for its verdict.
func TestNobodyReadsWhatIsRefused(t *testing.T) {
	log := &memoryLog{}
	m := openTestMirror(t, log, t.TempDir())
	m.mustSet(t, "shared/BEANS.md", "good")
	refuse := anything
	refuse.may = func(store.Revision) error { return errStorage }
	ended := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
			}
			m.allowed.RLock()
			text, err := os.ReadFile(filepath.Join(m.dir, "shared", "BEANS.md"))
			m.allowed.RUnlock()
			require.NoError(t, err)
			require.Equal(t, "good", string(text))
		}
	})
	for range 100 {
		_, err := m.write(t.Context(), "ann/key", nil, refuse, m.set("shared/BEANS.md", "evil"))
		require.ErrorIs(t, err, errStorage)
	}
	close(ended)
	readers.Wait()
}

// A refused change of a known path does not read the log.
func TestRefusalsAreCheap(t *testing.T) {
	log := &memoryLog{}
	m := openTestMirror(t, log, t.TempDir())
	m.mustSet(t, "shared/a.md", "A")
	asked := log.asked
	refuse := anything
	refuse.fits = func(_, _ size) error { return errStorage }
	for range 10 {
		_, err := m.write(t.Context(), "ann/key", []string{"shared/a.md"}, refuse, func() error { return m.put("shared/a.md", "B", &document{}) })
		require.ErrorIs(t, err, errStorage)
	}
	require.Equal(t, asked, log.asked)
	m.isSound(t, log)
}

func conditionMatch(n int64) service.Condition { return service.Condition{Match: n} }

var conditionNew = service.Condition{New: true}

// Who writes the text that a document has leaves it its time: on this node as on others.
func TestSameTextKeepsItsTime(t *testing.T) {
	log := &memoryLog{}
	m := openTestMirror(t, log, t.TempDir())
	m.mustSet(t, "shared/a.md", "A")
	dated := func() time.Time {
		info, err := m.root.Stat("shared/a.md")
		require.NoError(t, err)
		return info.ModTime()
	}
	want := dated()
	require.Equal(t, m.documents["shared/a.md"].at, want.UTC())
	for name, paths := range map[string][]string{"with the path": {"shared/a.md"}, "with any": nil} {
		_, err := m.write(t.Context(), "ann/key", paths, anything, func() error { return m.put("shared/a.md", "A", &document{}) })
		require.NoError(t, err)
		require.Equal(t, want, dated(), name)
		require.Equal(t, want, m.documents["shared/a.md"].changed, name)
	}
	m.isSound(t, log)
}

// A restoration and a removal of the same document may be written together.
func TestRestoreBesideARemoval(t *testing.T) {
	log := &memoryLog{}
	m := openTestMirror(t, log, t.TempDir())
	m.mustSet(t, "shared/a.md", "A")
	m.mustSet(t, "shared/new.md", "N")
	p := principal("acme", "ann", service.Admin)
	then, err := m.at(t.Context(), 1, t.TempDir(), func(string) bool { return true })
	require.NoError(t, err)
	defer then.close()
	removal := &write{by: "bob/key", paths: []string{"shared/new.md"}, do: m.unset("shared/new.md")}
	restoration := &write{by: "ann/key", do: func() error { return then.restore(m, p) }}
	m.batch(t, removal, restoration)
	require.NoError(t, removal.err)
	require.NoError(t, restoration.err)
	require.Equal(t, map[string]string{"shared/a.md": "A"}, m.files(t))
	m.isSound(t, log)
}
