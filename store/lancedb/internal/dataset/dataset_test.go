package dataset

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// field writes one field of a message: a number or bytes.
func field(number protowire.Number, value any) []byte {
	switch value := value.(type) {
	case int:
		return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), uint64(value))
	case string:
		return protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), value)
	default:
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value.([]byte))
	}
}

func join(fields ...[]byte) []byte {
	var all []byte
	for _, f := range fields {
		all = append(all, f...)
	}
	return all
}

// example is a manifest file of two fragments, one with deleted rows, and an index on one of them.
func example(t testing.TB) []byte {
	covered := roaring.BitmapOf(0)
	bitmap, err := covered.ToBytes()
	require.NoError(t, err)
	id := strings.Repeat("\x11", 16)
	indexes := field(sectionIndexes, join(field(indexUUID, field(uuidBytes, id)), field(2, 1), field(indexName, "vector_idx"), field(indexCovered, bitmap)))
	whole := join(field(fragmentID, 0), field(fragmentFiles, field(filePath, "one.lance")), field(fragmentRows, 100),
		field(fragmentDeletion, join(field(deletionVersion, 7), field(deletionID, 99), field(deletionRows, 10))))
	second := join(field(fragmentID, 3), field(fragmentFiles, field(filePath, "two.lance")), field(fragmentRows, 5),
		field(fragmentDeletion, join(field(deletionKind, 1), field(deletionVersion, 8), field(deletionID, 4), field(deletionRows, 1))))
	file := appendSection(nil, indexes)
	position := len(file)
	message := join(field(manifestFragments, whole), field(manifestFragments, second), field(manifestVersion, 12), field(manifestIndexSection, 0), field(99, "of a newer release"))
	file = appendSection(file, message)
	file = binary.LittleEndian.AppendUint64(file, uint64(position))
	return append(append(file, 0, 0, 1, 0), magic...)
}

func write(t *testing.T, name string, file []byte) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, versionsFolder), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, versionsFolder, name), file, 0o600))
	return folder
}

func TestRead(t *testing.T) {
	folder := write(t, "12.manifest", example(t))
	d, err := Read(folder)
	require.NoError(t, err)
	live, dead := d.Rows()
	index, ok := d.Index("vector_idx")
	if d.Version != 12 || len(d.Fragments) != 2 || live != 94 || dead != 11 || !ok || d.Uncovered(index) != 4 || d.Versions() != 1 {
		t.Errorf("Read = %+v, live %d, dead %d", d, live, dead)
	}
	require.Equal(t, "data/one.lance", d.Missing())
	want := map[string]bool{
		"_versions/12.manifest": true, "_versions/11.manifest": false, "data/one.lance": true, "data/two.lance": true,
		"data/three.lance": false, "_deletions/0-7-99.arrow": true, "_deletions/3-8-4.bin": true, "_deletions/3-8-4.arrow": false,
		"_indices/11111111-1111-1111-1111-111111111111/index.idx": true, "_indices/22222222-1111-1111-1111-111111111111/index.idx": false,
		"_transactions/1-x.txn": false,
	}
	for file := range want {
		path := filepath.Join(folder, filepath.FromSlash(file))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		f, err := os.OpenFile(path, os.O_CREATE, 0o600)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	got := map[string]bool{}
	require.NoError(t, d.Walk(func(file string, alive bool) error { got[file] = alive; return nil }))
	require.Equal(t, want, got)
}

func TestNewest(t *testing.T) {
	for name, test := range map[string]struct {
		files []string
		want  string
	}{
		"by number":          {[]string{"9.manifest", "10.manifest", "2.manifest"}, "10.manifest"},
		"by reversed number": {[]string{"18446744073709551614.manifest", "18446744073709551613.manifest"}, "18446744073709551613.manifest"},
		"others beside":      {[]string{"1.manifest", "x.manifest", "2.manifest-tmp", "3.txn"}, "1.manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for _, file := range test.files {
				require.NoError(t, os.WriteFile(filepath.Join(folder, file), nil, 0o600))
			}
			got, err := newest(folder)
			if got != test.want || err != nil {
				t.Errorf("newest of %v = %s, %v, want %s", test.files, got, err, test.want)
			}
		})
	}
	if _, err := newest(t.TempDir()); !errors.Is(err, ErrFormat) {
		t.Errorf("newest of an empty folder: %v, want ErrFormat", err)
	}
}

func TestWriteWithout(t *testing.T) {
	d, err := Read(write(t, "12.manifest", example(t)))
	require.NoError(t, err)
	for name, indexes := range map[string]int{"vector_idx": 0, "another": 1} {
		folder := filepath.Join(t.TempDir(), "view")
		require.NoError(t, d.WriteWithout(name, folder))
		view, err := Read(folder)
		require.NoError(t, err)
		require.Len(t, view.Indexes, indexes)
		require.Equal(t, d.Fragments, view.Fragments)
		require.Equal(t, d.Version, view.Version)
	}
}

func TestFilesOutsideAreRefused(t *testing.T) {
	for name, fragment := range map[string][]byte{
		"a path that leads out": field(fragmentFiles, field(filePath, "../../secret")),
		"another base":          field(fragmentFiles, join(field(filePath, "x"), field(fileBase, 1))),
		"row IDs in a file":     field(fragmentRowIDs, "x"),
	} {
		message := field(manifestFragments, fragment)
		file := appendSection(nil, message)
		file = append(append(binary.LittleEndian.AppendUint64(file, 0), 0, 0, 1, 0), magic...)
		d, err := Read(write(t, "1.manifest", file))
		if err == nil {
			err = d.Walk(func(string, bool) error { return nil })
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzParse: no manifest causes a panic or makes a file outside of the dataset live.
func FuzzParse(f *testing.F) {
	f.Add(example(f))
	f.Add([]byte(magic))
	f.Add(append(make([]byte, 16), magic...))
	f.Fuzz(func(t *testing.T, file []byte) {
		d := &Dataset{folder: t.TempDir(), manifest: "1.manifest"}
		if err := d.parse(file); err != nil {
			return
		}
		for _, fragment := range d.Fragments {
			for _, file := range fragment.files {
				if !filepath.IsLocal(file) {
					t.Errorf("file %q leads out of the dataset", file)
				}
			}
			if fragment.Deleted > fragment.Rows {
				t.Errorf("fragment %+v", fragment)
			}
		}
		again := &Dataset{}
		message, err := without(d.message, manifestIndexSection)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.parse(d.file(message, nil)); err != nil || len(again.Fragments) != len(d.Fragments) {
			t.Errorf("written and read again: %v", err)
		}
	})
}
