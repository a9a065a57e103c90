package cache

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
)

func pathOf(dir string) string {
	return newDisk(dir, newFake().print, 0, nil).path
}

// stored returns a file with the vectors of numbered(n), as bytes, and its path.
func stored(t testing.TB, n int) (dir, path string, data []byte) {
	t.Helper()
	dir = t.TempDir()
	inner := newFake()
	mustEmbed(t, open(t, inner, dir, Options{}), numbered(n)...)
	path = pathOf(dir)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return dir, path, data
}

// healed opens dir, requires that exactly lost of n texts (-1: any) are embedded again, and none
// after that.
func healed(t testing.TB, what, dir string, n, lost int) {
	t.Helper()
	inner := newFake()
	mustEmbed(t, open(t, inner, dir, Options{}), numbered(n)...)
	if got := inner.total(); lost >= 0 && got != lost {
		t.Errorf("%s: %d texts were embedded again, want %d", what, got, lost)
	}
	again := newFake()
	mustEmbed(t, open(t, again, dir, Options{}), numbered(n)...)
	if got := again.total(); got != 0 {
		t.Errorf("%s: not healed, %d texts were embedded a third time", what, got)
	}
}

func TestTorn(t *testing.T) {
	const n = 3
	dir, path, data := stored(t, n)
	size := recordSize(8)
	for length := range data {
		require.NoError(t, os.WriteFile(path, data[:length], 0o600))
		healed(t, fmt.Sprintf("cut to %d bytes", length), dir, n, n-max(length-headerSize, 0)/size)
	}
}

func TestFlippedByte(t *testing.T) {
	const n = 3
	dir, path, data := stored(t, n)
	for at := range data {
		bad := append([]byte(nil), data...)
		bad[at] ^= 0x10
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		lost := 1
		if at < headerSize {
			lost = n
		}
		healed(t, fmt.Sprintf("byte %d flipped", at), dir, n, lost)
	}
}

// Reads find damage that is done while the file is in use.
func TestFlippedWhileOpen(t *testing.T) {
	dir, inner := t.TempDir(), newFake()
	c := open(t, inner, dir, Options{})
	mustEmbed(t, c, numbered(3)...)
	data, err := os.ReadFile(c.disk.path)
	require.NoError(t, err)
	data[headerSize+recordSize(8)+40] ^= 1
	require.NoError(t, os.WriteFile(c.disk.path, data, 0o600))
	mustEmbed(t, c, numbered(3)...)
	mustEmbed(t, c, numbered(3)...)
	if s := c.Stats(); inner.total() != 4 || s.Corrupt != 1 {
		t.Errorf("embedded %d texts, Stats() = %+v, want 4 and 1 corrupt record", inner.total(), s)
	}
}

// A damaged record does not hide an older, intact one of the same text.
func TestDamageHidesNothing(t *testing.T) {
	dir, path, data := stored(t, 2)
	again := append([]byte(nil), data[headerSize:headerSize+68]...)
	again[50] ^= 1
	data = append(append(data, again...), data[headerSize+68:]...)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	healed(t, "with a damaged copy", dir, 2, 0)
}

// Another process may replace the file by a longer one with other positions.
func TestFileReplacedWhileOpen(t *testing.T) {
	dir, inner := t.TempDir(), newFake()
	c := open(t, inner, dir, Options{})
	mustEmbed(t, c, numbered(3)...)
	texts := numbered(5)
	slices.Reverse(texts)
	elsewhere := t.TempDir()
	mustEmbed(t, open(t, newFake(), elsewhere, Options{}), texts...)
	require.NoError(t, os.Rename(pathOf(elsewhere), pathOf(dir)))
	mustEmbed(t, c, texts...)
	if inner.total() != 3 {
		t.Errorf("embedded %d texts, want 3: the others are in the new file", inner.total())
	}
}

// Another process, whose model of the same name has another dimension, may restart the file.
func TestDimensionReplacedWhileOpen(t *testing.T) {
	dir, inner := t.TempDir(), newFake()
	c := open(t, inner, dir, Options{})
	mustEmbed(t, c, numbered(3)...)
	other := newFake()
	other.dim = 5
	mustEmbed(t, open(t, other, dir, Options{}), numbered(20)...)
	vecs, err := c.Embed(t.Context(), embed.Document, numbered(3))
	require.NoError(t, err)
	if s := c.Stats(); len(vecs[0]) != 8 || inner.total() != 6 || s.Corrupt != 0 {
		t.Errorf("vectors have %d numbers, %d texts were embedded, %+v; want 8, 6, nothing corrupt", len(vecs[0]), inner.total(), s)
	}
}

// A reader may see a record that is being written, and must find it once it is complete.
func TestHalfWritten(t *testing.T) {
	dir, path, data := stored(t, 2)
	require.NoError(t, os.WriteFile(path, data[:len(data)-5], 0o600))
	inner := newFake()
	c := open(t, inner, dir, Options{})
	mustEmbed(t, c, numbered(1)...)
	require.NoError(t, os.WriteFile(path, append(append([]byte(nil), data[:len(data)-5]...), 0, 0, 0, 0, 0), 0o600))
	mustEmbed(t, c, numbered(1)...)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	mustEmbed(t, c, numbered(2)...)
	if inner.total() != 0 {
		t.Errorf("embedded %d texts, want 0", inner.total())
	}
}

func TestFileRemovedWhileOpen(t *testing.T) {
	inner := newFake()
	c := open(t, inner, t.TempDir(), Options{})
	mustEmbed(t, c, "a")
	require.NoError(t, os.Remove(c.disk.path))
	mustEmbed(t, c, "a", "b")
	mustEmbed(t, c, "a", "b")
	if inner.total() != 3 {
		t.Errorf("embedded %d texts, want 3", inner.total())
	}
}

func TestBound(t *testing.T) {
	const bound = 20 * 68
	dir, inner := t.TempDir(), newFake()
	c := open(t, inner, dir, Options{MaxBytes: bound, BatchSize: 1})
	other := open(t, inner, dir, Options{MaxBytes: bound})
	texts := numbered(100)
	for _, text := range texts {
		mustEmbed(t, c, text)
		if s := c.Stats(); s.Bytes > bound {
			t.Fatalf("file has %d bytes, want at most %d", s.Bytes, bound)
		}
		mustEmbed(t, other, text) // another process, whose file starts over under its hands
	}
	mustEmbed(t, c, texts[95:]...)
	if inner.total() != 100 {
		t.Errorf("embedded %d texts, want 100: the newest are there, and all see them", inner.total())
	}
	mustEmbed(t, c, texts[0])
	if inner.total() != 101 {
		t.Errorf("embedded %d texts, want the oldest embedded again", inner.total())
	}
}

func TestFolderBound(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i, name := range []string{"old", "older", "new"} {
		inner := newFake()
		inner.print = name
		c := open(t, inner, dir, Options{})
		mustEmbed(t, c, numbered(10)...)
		at := time.Now().Add(-time.Duration([]int{2, 3, 1}[i]) * time.Hour)
		require.NoError(t, os.Chtimes(c.disk.path, at, at))
		files = append(files, c.disk.path)
	}
	foreign := filepath.Join(dir, "notes.txt")
	require.NoError(t, os.WriteFile(foreign, make([]byte, 5000), 0o600))
	inner := newFake()
	inner.print = "old"
	open(t, inner, dir, Options{MaxBytes: 2000})
	for path, want := range map[string]bool{files[0]: true, files[1]: false, files[2]: true, foreign: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s exists: %t, want %t", filepath.Base(path), err == nil, want)
		}
	}
}

// With any file content, vectors are right, and are stored afterwards.
func FuzzFile(f *testing.F) {
	f.Add(uint16(0), []byte{}, uint16(0))
	f.Add(uint16(8), []byte{9, 0, 0, 0}, uint16(1))
	f.Add(uint16(56+68), []byte("xyz"), uint16(70))
	f.Fuzz(func(t *testing.T, at uint16, insert []byte, drop uint16) {
		dir, path, data := stored(t, 3)
		from := min(int(at), len(data))
		to := min(from+int(drop), len(data))
		bad := append(append(append([]byte(nil), data[:from]...), insert...), data[to:]...)
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		healed(t, "after damage", dir, 3, -1)
	})
}

// What embeds questions alone reads no vectors; who asks what is stored gets it.
func TestOpenReadsNothing(t *testing.T) {
	dir, _, _ := stored(t, 3)
	inner := newFake()
	c := open(t, inner, dir, Options{})
	_, err := c.Embed(t.Context(), embed.Query, numbered(1))
	require.NoError(t, err)
	if c.disk.looked {
		t.Error("the file was read for a question")
	}
	if s := c.Stats(); s.Records != 3 {
		t.Errorf("Stats() = %+v, want 3 records", s)
	}
	inner.shy = true
	c = open(t, inner, dir, Options{})
	if dim := c.Dimension(); dim != 8 {
		t.Errorf("Dimension() = %d, want 8, that of the stored vectors", dim)
	}
}
