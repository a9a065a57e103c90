package table

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/memcore/memcore/store"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":            "''",
		"plain":       "'plain'",
		"it's":        "'it''s'",
		"'; DROP --":  "'''; DROP --'",
		`back\slash'`: `'back\slash'''`,
		"ü 数 🙂":       "'ü 数 🙂'",
		"a\xffb":      "'a\U0010FFFFb'",
		`"double" %_`: `'"double" %_'`,
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestWhere(t *testing.T) {
	for _, test := range []struct {
		filter store.Filter
		want   string
	}{
		{store.Filter{}, ""},
		{store.Filter{Scope: "global"}, "scope = 'global'"},
		{store.Filter{Scope: "a' OR '1'='1", Kind: "x"}, "(scope = 'a'' OR ''1''=''1') AND (kind = 'x')"},
		{store.Filter{NotKind: "it's"}, "kind <> 'it''s'"},
		{store.Filter{Path: "notes/"}, "path = 'notes/' OR (path >= 'notes/' AND path < 'notes0')"},
		{store.Filter{Not: []string{"a", "b'c"}}, "NOT path IN ('a', 'b''c')"},
		{store.Filter{Kind: "k", Path: "p", Not: []string{"n"}},
			"(kind = 'k') AND (path = 'p' OR (path >= 'p/' AND path < 'p0')) AND (NOT path IN ('n'))"},
		{store.Filter{Since: time.Unix(100, 0)}, "(time > 0) AND (time >= 100)"},
		{store.Filter{Until: time.Unix(100, 1)}, "(time > 0) AND (time < 101)"},
		{store.Filter{Kind: "k", Since: time.Unix(200, 0), Until: time.Unix(200, 0)}, "false"},
		{store.Filter{Kind: "k", Since: time.Unix(100, 1), Until: time.Unix(200, 0)}, "(kind = 'k') AND (time > 0) AND (time >= 101) AND (time < 200)"},
	} {
		if got := Where(test.filter); got != test.want {
			t.Errorf("Where(%+v) = %s, want %s", test.filter, got, test.want)
		}
	}
	if got := In("id", nil); got != "false" {
		t.Errorf("In of no values = %s, want false", got)
	}
}

// FuzzText parses the quoted text like SQL: nothing may follow it.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "'", "''", "a'b", "'; DROP TABLE x; --", "\x00", "\\'", "\xff'", "ü'", "\U0010FF41\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		quoted := Text(value)
		read, rest, ok := readText(quoted)
		if !ok || rest != "" || bytesOf(read) != value || !utf8.ValidString(quoted) {
			t.Errorf("Text(%q) = %s reads as %q, rest %q", value, quoted, read, rest)
		}
	})
}

// readText reads a quoted text at the start of SQL.
func readText(sql string) (value, rest string, ok bool) {
	sql, ok = strings.CutPrefix(sql, "'")
	if !ok {
		return "", sql, false
	}
	for {
		before, after, found := strings.Cut(sql, "'")
		if !found {
			return "", sql, false
		}
		value += before
		if sql, found = strings.CutPrefix(after, "'"); !found {
			return value, after, true
		}
		value += "'"
	}
}
