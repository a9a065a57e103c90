package safefile

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSwap(t *testing.T) {
	dir := realDir(t)
	file := filepath.Join(dir, "a.md")
	require.ErrorIs(t, Swap(dir, "a.md", []byte("one"), []byte("two")), ErrChanged)
	require.Empty(t, namesIn(t, dir))
	write(t, file, "one")
	require.NoError(t, Swap(dir, "a.md", []byte("one"), []byte("two")))
	require.ErrorIs(t, Swap(dir, "a.md", []byte("one"), []byte("three")), ErrChanged)
	got, err := read(t, dir, "a.md")
	require.NoError(t, err)
	require.Equal(t, "two", got)
	require.ErrorIs(t, RemoveIf(dir, "a.md", []byte("one")), ErrChanged)
	require.NoError(t, RemoveIf(dir, "a.md", []byte("two")))
	require.Empty(t, namesIn(t, dir))
}

// Swap puts back any change between its check and the exchange.
func TestSwapPutsBackWhatCameOut(t *testing.T) {
	for name, edit := range map[string]func(file string) error{
		"renamed over": func(file string) error {
			if err := os.WriteFile(file+"~", []byte("edit"), 0o600); err != nil {
				return err
			}
			return os.Rename(file+"~", file)
		},
		"written in place": func(file string) error { return os.WriteFile(file, []byte("edit"), 0o600) },
		"a link":           func(file string) error { return errors.Join(os.Remove(file), os.Symlink("edit", file)) },
		"a folder":         func(file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) },
		"removed":          os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			dir := realDir(t)
			file := filepath.Join(dir, "a.md")
			write(t, file, "before")
			err := put(dir, "a.md", []byte("after"), 0o600, false, func(folder *os.Root, temporary, base string) error {
				require.NoError(t, edit(file))
				return swap(folder, temporary, base, []byte("before"), []byte("after"))
			})
			require.ErrorIs(t, err, ErrChanged)
			switch info, err := os.Lstat(file); {
			case name == "removed":
				require.ErrorIs(t, err, fs.ErrNotExist)
				require.Empty(t, namesIn(t, dir))
				return
			case name == "a link":
				require.NoError(t, err)
				require.Equal(t, fs.ModeSymlink, info.Mode().Type())
			case name == "a folder":
				require.NoError(t, err)
				require.True(t, info.IsDir())
			default:
				got, err := read(t, dir, "a.md")
				require.NoError(t, err)
				require.Equal(t, "edit", got)
			}
			require.Equal(t, []string{"a.md"}, namesIn(t, dir))
		})
	}
}

// After the exchange, an editor with the file open writes to the old file.
func TestSwapWaitsForWriters(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says who has a file open")
	}
	dir := realDir(t)
	file := filepath.Join(dir, "a.md")
	write(t, file, "before")
	editor, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0o600)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- Swap(dir, "a.md", nil, []byte("after")) }()
	time.Sleep(100 * time.Millisecond)
	_, err = editor.WriteString("edit")
	require.NoError(t, errors.Join(err, editor.Close()))
	require.ErrorIs(t, <-done, ErrChanged)
	got, err := read(t, dir, "a.md")
	require.NoError(t, err)
	require.Equal(t, "edit", got)

	editor, err = os.OpenFile(file, os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer editor.Close()
	require.ErrorIs(t, Swap(dir, "a.md", []byte("edit"), []byte("after")), ErrBusy)
	_, err = editor.WriteString("EDIT")
	require.NoError(t, err)
	got, err = read(t, dir, "a.md")
	require.NoError(t, err)
	require.Equal(t, "EDIT", got)
	require.Equal(t, []string{"a.md"}, namesIn(t, dir))
}

var edits = flag.Int("edits", 100, "how many edits TestEditsSurviveSwaps makes in each way")

// While memcore adds to a file, an editor saves it again and again in one of three ways. The
// editor's last version stays, with what was added after it.
func TestEditsSurviveSwaps(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be replaced there")
	}
	for name, save := range map[string]func(file, text string) error{
		"rename": func(file, text string) error {
			if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
				return err
			}
			return os.Rename(file+".new", file)
		},
		"truncate": func(file, text string) error { return os.WriteFile(file, []byte(text), 0o600) },
		"in place": func(file, text string) error {
			f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o600)
			if err != nil {
				return err
			}
			_, err = f.WriteAt([]byte(text), 0)
			return errors.Join(err, f.Truncate(int64(len(text))), f.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := realDir(t)
			file := filepath.Join(dir, "a.md")
			write(t, file, "edit 0\n")
			var swaps, refused atomic.Int64
			var lost []string
			stop := make(chan struct{})
			var adding sync.WaitGroup
			for adder := range 2 {
				adding.Go(func() {
					for i := 0; ; i++ {
						select {
						case <-stop:
							return
						default:
						}
						before, err := os.ReadFile(file)
						if err != nil {
							continue
						}
						after := append(bytes.Clone(before), fmt.Sprintf("added %d %d\n", adder, i)...)
						switch err := Swap(dir, "a.md", before, after); {
						case err == nil:
							swaps.Add(1)
						case errors.Is(err, ErrChanged), errors.Is(err, ErrBusy):
							refused.Add(1)
						default:
							t.Error(err)
						}
					}
				})
			}
			rounds := 0
			for ; rounds < *edits || swaps.Load() == 0; rounds++ {
				i := rounds
				time.Sleep(rand.N(10 * time.Millisecond))
				text := fmt.Sprintf("edit %d\n%s", i+1, strings.Repeat("a line of the person\n", i%7))
				require.NoError(t, save(file, text))
				// An earlier swap may show its own text for a moment.
				seen := ""
				for deadline := time.Now().Add(3 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
					data, _ := os.ReadFile(file)
					if seen = string(data); strings.HasPrefix(seen, text) {
						break
					}
				}
				if !strings.HasPrefix(seen, text) {
					lost = append(lost, fmt.Sprintf("%.9q is %.40q", text, seen))
				}
			}
			close(stop)
			adding.Wait()
			require.Empty(t, lost)
			require.Positive(t, swaps.Load())
			t.Logf("%d edits, %d swaps, %d refused", rounds, swaps.Load(), refused.Load())
			require.Equal(t, []string{"a.md"}, namesIn(t, dir))
		})
	}
}

// Tidy removes the temporary file of a killed swap, but puts an edit back.
func TestTidyRecoversSwaps(t *testing.T) {
	before, after := []byte("before"), []byte("after")
	for _, c := range []struct{ left, file, want, beside string }{
		{left: "after", file: "before", want: "before"},
		{left: "before", file: "after", want: "after"},
		{left: "edit", file: "after", want: "edit"},
		{left: "edit", file: "", want: "edit"},
		{left: "edit", file: "later edit", want: "later edit", beside: "edit"},
	} {
		dir := realDir(t)
		if c.file != "" {
			write(t, filepath.Join(dir, "a.md"), c.file)
		}
		write(t, filepath.Join(dir, swapName("a.md", before, after)), c.left)
		folder, err := os.OpenRoot(dir)
		require.NoError(t, err)
		unlock, alone := lockFolder(folder, 0)
		if alone {
			Tidy(dir, "a.md", 0)
			require.True(t, strings.HasPrefix(namesIn(t, dir)[0], swapping), "a swap that goes on stays")
		}
		unlock()
		require.NoError(t, folder.Close())
		Tidy(dir, "a.md", 0)
		got, err := read(t, dir, "a.md")
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%+v", c)
		names := namesIn(t, dir)
		if c.beside == "" {
			require.Equal(t, []string{"a.md"}, names, "%+v", c)
			continue
		}
		require.Len(t, names, 2)
		require.Contains(t, names[1], kept)
		got, err = read(t, dir, names[1])
		require.NoError(t, err)
		require.Equal(t, c.beside, got)
	}
}

func TestUpdate(t *testing.T) {
	dir := realDir(t)
	add := func(before []byte) ([]byte, error) { return append(bytes.Clone(before), 'x'), nil }
	require.NoError(t, Update(dir, "a.md", 10, 0o600, add))
	require.NoError(t, Update(dir, "a.md", 10, 0o600, add))
	require.NoError(t, Update(dir, "a.md", 10, 0o600, func([]byte) ([]byte, error) { return nil, nil }))
	got, err := read(t, dir, "a.md")
	require.NoError(t, err)
	require.Equal(t, "xx", got)
	require.ErrorIs(t, Update(dir, "a.md", 1, 0o600, add), ErrTooLarge)
	require.ErrorIs(t, Update(dir, "a.md", 10, 0o600, func([]byte) ([]byte, error) { return nil, fs.ErrInvalid }), fs.ErrInvalid)

	calls := 0
	require.NoError(t, Update(dir, "a.md", 10, 0o600, func(before []byte) ([]byte, error) {
		if calls++; calls == 1 {
			write(t, filepath.Join(dir, "a.md"), "edit")
		}
		return append(bytes.Clone(before), 'y'), nil
	}))
	got, err = read(t, dir, "a.md")
	require.NoError(t, err)
	require.Equal(t, "edity", got)
}
