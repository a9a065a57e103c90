package generation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// publish publishes a generation of these files; share is as for Begin.
func publish(t *testing.T, d *Dir, share func(string) bool, content map[string]string) {
	t.Helper()
	next, err := d.Begin(t.Context(), share)
	require.NoError(t, err)
	write(t, next.Path(), content)
	require.NoError(t, next.Publish())
}

func write(t *testing.T, folder string, content map[string]string) {
	t.Helper()
	for name, text := range content {
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// current reads all files of the current generation, as a fresh process would.
func current(t *testing.T, root string) (n uint64, content map[string]string) {
	t.Helper()
	n, folder, err := New(root).Current()
	require.NoError(t, err)
	return n, read(t, folder)
}

func read(t *testing.T, folder string) map[string]string {
	t.Helper()
	content := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		content[filepath.ToSlash(strings.TrimPrefix(path, folder+string(filepath.Separator)))] = string(text)
		return err
	}))
	return content
}

func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	var all []string
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

func all(string) bool { return true }

func TestNothingPublished(t *testing.T) {
	for _, root := range []string{t.TempDir(), filepath.Join(t.TempDir(), "not", "there")} {
		d := New(root)
		if _, _, err := d.Current(); !errors.Is(err, ErrNone) {
			t.Errorf("Current of an empty folder: error %v, want ErrNone", err)
		}
		err := d.View(func(uint64, string) error { t.Error("View called open without a generation"); return nil })
		if !errors.Is(err, ErrNone) {
			t.Errorf("View of an empty folder: error %v, want ErrNone", err)
		}
	}
}

func TestPublish(t *testing.T) {
	d := New(filepath.Join(t.TempDir(), "new", "root"))
	for n := range 5 {
		content := map[string]string{"a": fmt.Sprint("a", n), "sub/b": fmt.Sprint("b", n)}
		publish(t, d, nil, content)
		got, read := current(t, d.Root())
		require.Equal(t, uint64(n+1), got)
		require.Equal(t, content, read)
	}
	require.Equal(t, []string{"4", "5", "CURRENT"}, names(t, d.Root()))
}

func TestNumberAndPath(t *testing.T) {
	d := New(t.TempDir())
	publish(t, d, nil, nil)
	next, err := d.Begin(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, uint64(2), next.Number())
	require.Equal(t, filepath.Join(d.Root(), "2"), next.Path())
	next.Abandon()
	next.Abandon()
	require.Equal(t, []string{"1", "CURRENT"}, names(t, d.Root()))
}

func TestAbandonAfterPublishDoesNothing(t *testing.T) {
	d := New(t.TempDir())
	next, err := d.Begin(t.Context(), nil)
	require.NoError(t, err)
	write(t, next.Path(), map[string]string{"a": "kept"})
	require.NoError(t, next.Publish())
	next.Abandon()
	_, content := current(t, d.Root())
	require.Equal(t, map[string]string{"a": "kept"}, content)
}

func TestShare(t *testing.T) {
	for _, tt := range []struct {
		name string
		link func(from, to string) error
		same bool
	}{
		{"by link", os.Link, true},
		{"by copy where links are not possible", func(string, string) error { return errors.ErrUnsupported }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := New(t.TempDir())
			d.files.link = tt.link
			publish(t, d, nil, map[string]string{"big": "shared", "sub/deep": "too", "meta": "1", "sub/meta": "1"})
			var asked []string
			publish(t, d, func(path string) bool {
				asked = append(asked, path)
				return !strings.HasSuffix(path, "meta")
			}, map[string]string{"meta": "2"})
			slices.Sort(asked)
			require.Equal(t, []string{"big", "meta", "sub/deep", "sub/meta"}, asked)
			_, content := current(t, d.Root())
			require.Equal(t, map[string]string{"big": "shared", "sub/deep": "too", "meta": "2"}, content)
			before, err := os.Stat(filepath.Join(d.Root(), "1", "big"))
			require.NoError(t, err)
			after, err := os.Stat(filepath.Join(d.Root(), "2", "big"))
			require.NoError(t, err)
			if os.SameFile(before, after) != tt.same {
				t.Errorf("one file in both generations: %v, want %v", !tt.same, tt.same)
			}
		})
	}
}

func TestTake(t *testing.T) {
	dir := New(t.TempDir())
	publish := func(write func(next *Next)) {
		next, err := dir.Begin(t.Context(), nil)
		require.NoError(t, err)
		write(next)
		require.NoError(t, next.Publish())
	}
	publish(func(next *Next) {
		require.NoError(t, os.Mkdir(filepath.Join(next.Path(), "a"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(next.Path(), "a", "kept"), []byte("text"), 0o600))
	})
	publish(func(next *Next) {
		require.NoError(t, next.Take(t.Context(), "a/kept", "b/c/renamed"))
		if err := next.Take(t.Context(), "a/missing", "b/missing"); err == nil {
			t.Error("Take of a file that is missing: no error")
		}
	})
	_, current, err := dir.Current()
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(current, "b", "c", "renamed"))
	require.NoError(t, err)
	require.Equal(t, "text", string(got))
}

func TestAppend(t *testing.T) {
	d := New(t.TempDir())
	appendTo := func(length int64, text string) *Next {
		next, err := d.Begin(t.Context(), all)
		require.NoError(t, err)
		f, err := next.Append("log", length)
		require.NoError(t, err)
		_, err = f.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		return next
	}
	require.NoError(t, appendTo(0, "one ").Publish())
	appendTo(4, "lost, and long").Abandon() // a tail stays behind in the shared file
	require.NoError(t, appendTo(4, "two ").Publish())
	_, content := current(t, d.Root())
	if got := content["log"][:8]; got != "one two " {
		t.Errorf("log = %q, want what was published", got)
	}
	first := read(t, filepath.Join(d.Root(), "1"))["log"]
	if first[:4] != "one " {
		t.Errorf("log of the generation before = %q, want its part as it was", first)
	}
}

func TestAppendToWhatIsMissing(t *testing.T) {
	d := New(t.TempDir())
	publish(t, d, nil, map[string]string{"log": "four"})
	next, err := d.Begin(t.Context(), all)
	require.NoError(t, err)
	defer next.Abandon()
	if _, err := next.Append("other", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Append to a file that is not there: error %v, want fs.ErrNotExist", err)
	}
	if _, err := next.Append("log", 5); err == nil {
		t.Error("Append behind the end of a file: no error")
	}
}

// Appended files are synced, shared ones are not.
func TestSyncsWhatChanged(t *testing.T) {
	d := New(t.TempDir())
	publish(t, d, nil, map[string]string{"log": "l", "sub/segment": "s"})
	var mu sync.Mutex
	var synced []string
	d.files.syncFile = func(path string) error {
		mu.Lock()
		defer mu.Unlock()
		synced = append(synced, filepath.Base(path))
		return nil
	}
	next, err := d.Begin(t.Context(), all)
	require.NoError(t, err)
	f, err := next.Append("log", 1)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	write(t, next.Path(), map[string]string{"new": "n", "sub/new": "n"})
	require.NoError(t, next.Publish())
	slices.Sort(synced)
	require.Equal(t, []string{"CURRENT.new", "log", "new", "new"}, synced)
}

var errCrash = errors.New("crash")

// crashAt makes step n fail, and for a crash all later steps. reached reports whether there was
// one.
func crashAt(d *Dir, n int, crash bool) (reached *bool) {
	reached = new(bool)
	var mu sync.Mutex
	step := func() error {
		mu.Lock()
		defer mu.Unlock()
		if n--; n == -1 || n < 0 && crash {
			*reached = true
			return errCrash
		}
		return nil
	}
	one := func(f func(string) error) func(string) error {
		return func(path string) error {
			if err := step(); err != nil {
				return err
			}
			return f(path)
		}
	}
	d.files.syncFile, d.files.syncFolder = one(system.syncFile), one(system.syncFolder)
	d.files.rename = func(from, to string) error {
		if err := step(); err != nil {
			return err
		}
		return system.rename(from, to)
	}
	return reached
}

// Whatever step a writer ends at, the old content is there or the new one, and the next writer goes
// on.
func TestCrashAtEachStep(t *testing.T) {
	for _, crash := range []bool{true, false} {
		t.Run(fmt.Sprintf("crash %v", crash), func(t *testing.T) { testCrashes(t, crash) })
	}
}

func testCrashes(t *testing.T, crash bool) {
	before, after := map[string]string{"a": "1", "shared": "s"}, map[string]string{"a": "2", "shared": "s"}
	for n := 0; ; n++ {
		root := t.TempDir()
		publish(t, New(root), nil, before)
		d := New(root)
		reached := crashAt(d, n, crash)
		next, err := d.Begin(t.Context(), func(path string) bool { return path == "shared" })
		require.NoError(t, err)
		write(t, next.Path(), map[string]string{"a": "2"})
		err = next.Publish()
		number, content := current(t, root)
		if err == nil {
			require.False(t, *reached, "no error although step %d failed", n)
			require.Equal(t, after, content)
			require.Greater(t, n, 3, "steps of Publish that were crashed at")
			return
		}
		require.ErrorIs(t, err, errCrash)
		switch number {
		case 1:
			require.Equal(t, before, content, "after a crash at step %d", n)
			require.NotContains(t, names(t, root), "2")
		case 2:
			require.Equal(t, after, content, "after a crash at step %d", n)
		}
		publish(t, New(root), all, map[string]string{"b": "3"})
		number2, content := current(t, root)
		require.Equal(t, number+1, number2)
		require.Equal(t, "3", content["b"])
	}
}

// Prune leaves the current generation, also of one that a killed writer began.
func TestPrune(t *testing.T) {
	d := New(t.TempDir())
	require.NoError(t, d.Prune())
	for n := 1; n <= 3; n++ {
		publish(t, d, all, map[string]string{fmt.Sprint(n): "x"})
	}
	write(t, d.Root(), map[string]string{"4/half": "x", "note.txt": "?"})
	require.NoError(t, d.Prune())
	require.Equal(t, []string{"3", "CURRENT", "note.txt"}, names(t, d.Root()))
	_, content := current(t, d.Root())
	require.Equal(t, map[string]string{"1": "x", "2": "x", "3": "x"}, content)
}

// A later Begin removes what a process killed before Publish has left.
func TestStaleLeftovers(t *testing.T) {
	d := New(t.TempDir())
	publish(t, d, nil, map[string]string{"a": "1"})
	write(t, d.Root(), map[string]string{"2/half": "x", "CURRENT.new": "garbage", "note.txt": "?", "007/a": "?"})
	n, content := current(t, d.Root())
	require.Equal(t, uint64(1), n)
	require.Equal(t, map[string]string{"a": "1"}, content)
	for range 4 {
		publish(t, d, all, nil)
	}
	n, content = current(t, d.Root())
	require.Equal(t, uint64(5), n)
	require.Equal(t, map[string]string{"a": "1"}, content)
	require.Equal(t, []string{"007", "4", "5", "CURRENT", "note.txt"}, names(t, d.Root()))
}

func TestDamagedCurrent(t *testing.T) {
	for _, text := range []string{
		"", "\n", "x", "1", "1\n", "1 00000000", "1 83DCEFB7", "2 83dcefb7", "1 83dcefb7 1", "-1", "+1", "0", "01", "1.0", "1e3", "0x1", "1 2", "..", "1/..", "../1", "١", strings.Repeat("9", 30),
		fmt.Sprint(uint64(math.MaxUint64)), "\x00", strings.Repeat("x", 1000),
	} {
		d := New(t.TempDir())
		write(t, d.Root(), map[string]string{"CURRENT": text, "1/a": "a", "0/a": "a"})
		_, _, err := d.Current()
		var pathError *fs.PathError
		if !errors.Is(err, ErrDamaged) || errors.As(err, &pathError) || len(err.Error()) > 400 {
			t.Errorf("Current with CURRENT %q: error %v, want a short one that says so", text, err)
		}
		if _, err := d.Begin(t.Context(), nil); err == nil {
			t.Errorf("Begin with CURRENT %q: no error; a writer would overwrite generations", text)
		}
		if err := d.View(func(uint64, string) error { return nil }); err == nil {
			t.Errorf("View with CURRENT %q: no error", text)
		}
		write(t, d.Root(), map[string]string{"5/a": "a"})
		next, err := d.BeginAnew(t.Context())
		require.NoError(t, err)
		require.NoError(t, next.Publish())
		n, content := current(t, d.Root())
		require.Equal(t, uint64(6), n)
		require.Empty(t, content)
		require.Equal(t, []string{"0", "5", "6", "CURRENT"}, names(t, d.Root()))
	}
}

func TestCurrentWithSpaceAround(t *testing.T) {
	d := New(t.TempDir())
	write(t, d.Root(), map[string]string{"CURRENT": " " + strings.TrimSpace(currentText(7)) + "\r\n"})
	n, path, err := d.Current()
	if n != 7 || path != filepath.Join(d.Root(), "7") || err != nil {
		t.Errorf("Current = %d, %q, %v, want 7", n, path, err)
	}
}

func TestMissingGeneration(t *testing.T) {
	d := New(t.TempDir())
	publish(t, d, nil, map[string]string{"a": "1"})
	require.NoError(t, os.RemoveAll(filepath.Join(d.Root(), "1")))
	calls := 0
	err := d.View(func(_ uint64, path string) error {
		calls++
		_, err := os.ReadFile(filepath.Join(path, "a"))
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) || calls != 1 {
		t.Errorf("View of a generation that is gone: error %v after %d calls, want fs.ErrNotExist after 1", err, calls)
	}
	if _, err := d.Begin(t.Context(), all); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Begin that shares with a generation that is gone: error %v, want fs.ErrNotExist", err)
	}
}

func TestViewTriesTheNextGeneration(t *testing.T) {
	d := New(t.TempDir())
	publish(t, d, nil, map[string]string{"a": "1"})
	var seen []uint64
	err := d.View(func(n uint64, path string) error {
		seen = append(seen, n)
		if len(seen) < 3 {
			publish(t, d, nil, map[string]string{"a": "1"})
			return errors.New("anything: its files were being removed")
		}
		return nil
	})
	if err != nil || !slices.Equal(seen, []uint64{1, 2, 3}) {
		t.Errorf("View opened %v, error %v, want 1, 2 and 3", seen, err)
	}
	failed := errors.New("failed")
	if err := d.View(func(uint64, string) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("View without another writer: error %v, want that of open", err)
	}
}

// Readers look in a loop while a writer publishes in a loop; each sees one whole generation.
func TestViewBesideAWriter(t *testing.T) {
	root := t.TempDir()
	publish(t, New(root), nil, map[string]string{"a": "1", "b": "1", "same": "s"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			last := uint64(0)
			for ctx.Err() == nil {
				if err := New(root).View(func(n uint64, path string) error { return readWhole(n, &last, path) }); err != nil {
					t.Errorf("View beside a writer: %v", err)
					return
				}
			}
		})
	}
	for n := 2; n < 60; n++ {
		publish(t, New(root), func(path string) bool { return path == "same" }, map[string]string{"a": fmt.Sprint(n), "b": fmt.Sprint(n)})
	}
	cancel()
	wait.Wait()
}

func readWhole(n uint64, last *uint64, path string) error {
	for _, name := range []string{"a", "b", "same"} {
		text, err := os.ReadFile(filepath.Join(path, name))
		if err != nil {
			return err
		}
		if want := fmt.Sprint(n); name != "same" && string(text) != want {
			return fmt.Errorf("%s is %q, want %q", name, text, want)
		}
	}
	if n < *last {
		return fmt.Errorf("generation %d after %d", n, *last)
	}
	*last = n
	return nil
}

func TestCancelledBegin(t *testing.T) {
	d := New(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Begin(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Begin after cancel: error %v, want context.Canceled", err)
	}
	publish(t, d, nil, map[string]string{"a": "1", "b": "2"})
	ctx, cancel = context.WithCancel(t.Context())
	_, err := d.Begin(ctx, func(string) bool { cancel(); return true })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Begin cancelled while sharing: error %v, want context.Canceled", err)
	}
	require.Equal(t, []string{"1", "CURRENT"}, names(t, d.Root()))
}

func TestCancelledCopy(t *testing.T) {
	from := filepath.Join(t.TempDir(), "from")
	require.NoError(t, os.WriteFile(from, []byte("text"), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := copyFile(ctx, from, from+".copy"); !errors.Is(err, context.Canceled) {
		t.Errorf("copyFile after cancel: error %v, want context.Canceled", err)
	}
}

func TestUnwritableRoot(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	if _, err := New(filepath.Join(file, "root")).Begin(t.Context(), nil); err == nil {
		t.Error("Begin below a file: no error")
	}
	if _, err := New(file).Begin(t.Context(), nil); err == nil {
		t.Error("Begin in a file: no error")
	}
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("this user may write everywhere")
	}
	d := New(t.TempDir())
	publish(t, d, nil, map[string]string{"a": "1"})
	require.NoError(t, os.Chmod(d.Root(), 0o500))
	defer os.Chmod(d.Root(), 0o700)
	if _, err := d.Begin(t.Context(), nil); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Begin in a folder that is read-only: error %v, want fs.ErrPermission", err)
	}
}

func TestRetry(t *testing.T) {
	calls := 0
	err := retry(func() error { calls++; return errCrash })
	if !errors.Is(err, errCrash) || calls != 1 {
		t.Errorf("retry: error %v after %d calls, want the error at once", err, calls)
	}
}

func FuzzNumber(f *testing.F) {
	for _, name := range []string{"1", "0", "01", "+1", "9223372036854775807", "9223372036854775808", "CURRENT"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		n, ok := number(name)
		if ok && (filepath.Base(New("root").folder(n)) != name || n < 1 || n+1 < n) {
			t.Errorf("number(%q) = %d, whose folder is %s", name, n, New("root").folder(n))
		}
	})
}
