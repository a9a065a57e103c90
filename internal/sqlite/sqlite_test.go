package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testdata/plain.db was made by SQLite 3.40 with pages of 512 bytes, so that trees have several
// levels and long rows have overflow pages.
func open1(t testing.TB, path string) *DB {
	t.Helper()
	db, err := Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func TestRows(t *testing.T) {
	db := open1(t, filepath.Join("testdata", "plain.db"))
	require.True(t, db.Has("ItemTable"))
	require.False(t, db.Has("nothing"))
	got := 0
	require.NoError(t, db.Rows("ItemTable", func(r Row) error {
		want := fmt.Sprintf("v%d", got)
		if got%7 == 0 {
			want = strings.Repeat("x", 1200+got)
		}
		require.Equal(t, fmt.Sprintf("key:%02d", got), r.Text("key"))
		require.Equal(t, want, r.Text("value"))
		got++
		return nil
	}))
	require.Equal(t, 60, got)

	var numbered []string
	require.NoError(t, db.Rows("numbered", func(r Row) error {
		numbered = append(numbered, fmt.Sprint(r.Int("id"), r.Text("name"), r.Text("later")))
		return nil
	}))
	require.Equal(t, []string{"-5n-5", "3n3", "70000n70000", "80000newx"}, numbered)
	require.True(t, db.Unchanged())
}

func TestRowsWith(t *testing.T) {
	db := open1(t, filepath.Join("testdata", "plain.db"))
	keys := func(table, column, prefix string, whole bool) (all []string) {
		require.NoError(t, db.RowsWith(table, column, prefix, whole, func(r Row) error {
			all = append(all, r.Text(column)+"/"+fmt.Sprint(r["n"]))
			return nil
		}))
		return all
	}
	for _, tt := range []struct {
		table, column, prefix string
		whole                 bool
		want                  []string
	}{
		{"ItemTable", "key", "key:2", false, []string{"key:20/<nil>", "key:21/<nil>", "key:22/<nil>", "key:23/<nil>", "key:24/<nil>", "key:25/<nil>", "key:26/<nil>", "key:27/<nil>", "key:28/<nil>", "key:29/<nil>"}},
		{"ItemTable", "key", "key:07", true, []string{"key:07/<nil>"}},
		{"ItemTable", "key", "key:0", true, nil},
		{"ItemTable", "key", "zzz", false, nil},
		{"message", "session_id", "s0", true, []string{"s0/-100", "s0/1100", "s0/3500", "s0/4700", "s0/5900", "s0/7100", "s0/8300", "s0/9500", "s0/10700"}},
		{"message", "id", "m3", true, []string{"m3/800"}},
		{"numbered", "name", "n3", true, []string{"n3/<nil>"}}, // without an index
	} {
		require.Equal(t, tt.want, keys(tt.table, tt.column, tt.prefix, tt.whole), "%s %s %q", tt.table, tt.column, tt.prefix)
	}
}

// The log counts up to the last transaction that has ended.
func TestWriteAheadLog(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"log.db", "log.db-wal"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	rows := func() map[string]string {
		all := map[string]string{}
		db := open1(t, filepath.Join(dir, "log.db"))
		require.NoError(t, db.Rows("t", func(r Row) error {
			all[r.Text("k")] = r.Text("v")
			return nil
		}))
		return all
	}
	require.Equal(t, map[string]string{"a": "new", "b": "added"}, rows())

	wal := filepath.Join(dir, "log.db-wal")
	data, err := os.ReadFile(wal)
	require.NoError(t, err)
	data[walHeaderSize+frameHeader+100] ^= 1 // the checksum of the first page is wrong from here on
	require.NoError(t, os.WriteFile(wal, data, 0o600))
	require.Equal(t, map[string]string{"a": "old"}, rows())
}

func TestUnchanged(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "plain.db"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "x.db")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	db := open1(t, path)
	require.True(t, db.Unchanged())
	require.NoError(t, os.WriteFile(path, append(data, make([]byte, 512)...), 0o600))
	require.False(t, db.Unchanged())
}

func TestOpenRefuses(t *testing.T) {
	plain, err := os.ReadFile(filepath.Join("testdata", "plain.db"))
	require.NoError(t, err)
	utf16 := append([]byte{}, plain...)
	utf16[59] = 2
	for name, text := range map[string][]byte{"short": plain[:50], "text": []byte(strings.Repeat("no database ", 20)), "utf16": utf16} {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		_, err := Open(path)
		require.Error(t, err, name)
	}
	path := filepath.Join(t.TempDir(), "busy.db")
	require.NoError(t, os.WriteFile(path, plain, 0o600))
	require.NoError(t, os.WriteFile(path+"-journal", []byte("\xd9\xd5\x05\xf9"), 0o600))
	_, err = Open(path)
	require.ErrorIs(t, err, ErrBusy)
}

func TestColumns(t *testing.T) {
	for _, tt := range []struct {
		sql    string
		names  string
		alias  int
		unique string
	}{
		{"CREATE TABLE t (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)", "key value", -1, "key"},
		{"CREATE TABLE `s` (\n`id` text PRIMARY KEY,\n`cost` real DEFAULT 0 NOT NULL, `x` integer DEFAULT (1+(2)), CONSTRAINT `f` FOREIGN KEY (`id`) REFERENCES p(`id`))", "id cost x", -1, "id"},
		{"create table t(id integer primary key, \"a,b\" text, [c d] blob, e)", "id a,b c d e", 0, ""},
		{"create table t(a text unique, b text unique)", "a b", -1, ""},
		{"create table t(a text, b text, unique(a, b))", "a b", -1, ""},
		{"create table", "", -1, ""},
	} {
		c := columnsOf(tt.sql)
		require.Equal(t, tt.names, strings.Join(c.names, " "), tt.sql)
		require.Equal(t, tt.alias, c.alias, tt.sql)
		require.Equal(t, tt.unique, c.unique, tt.sql)
	}
}

// Damaged databases give errors, and end.
func FuzzDB(f *testing.F) {
	for _, name := range []string{"plain.db", "log.db"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		wal, _ := os.ReadFile(filepath.Join("testdata", name+"-wal"))
		f.Add(data, wal, uint32(700), byte(0xff))
	}
	path := filepath.Join(f.TempDir(), "x.db")
	f.Fuzz(func(t *testing.T, data, wal []byte, at uint32, with byte) {
		if len(data) > 0 {
			data[int(at)%len(data)] ^= with
		}
		require.NoError(t, os.WriteFile(path, data, 0o600))
		require.NoError(t, os.WriteFile(path+"-wal", wal, 0o600))
		db, err := Open(path)
		if err != nil {
			return
		}
		defer db.Close()
		for _, o := range db.schema {
			_ = db.Rows(o.name, func(Row) error { return nil })
			_ = db.RowsWith(o.name, "key", "key:1", false, func(Row) error { return nil })
			_ = db.RowsWith(o.name, "id", "m1", true, func(Row) error { return nil })
		}
		db.Unchanged()
	})
}
