package prompt

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var lines = []string{
	"please fix the login page, it fails on Tuesdays", "", " ", "  - 3 items", "2026-02-12 17:38:00 started", "[2026/02/12, 17:38] x", "«[(12/02/26 22:15:19", "– 17:38:00.123 go",
	"time=2026-02-12T10:00:00Z level=info", "level=info msg=x", "  WARN  disk is full", "[ERROR] : no", "(INFO: x", "«FATAL: x", "\tat main.go(12", "  at foo.bar:12",
	`  File "a.py", line 3`, "Traceback (most recent call last):", "goroutine 12 [running]:", "panic: nil map", "   ^^^", "~~~^~~", "~~ ~", "main.go:12:3: undefined", "  ./a/b.tsx:7 x",
	"            far", "name        size", "a\t\t\t\t\t\t\t\tb", "╭──╮", "x ██ y", "\x1b[31mred", "diff --git a/x b/x", "index 0123abc..def", "@@ -1 +1 @@", "+++ b/x", "--- a/x",
	"$ ls", "me@host:~ % make", "❯ go test", "➜ x", "  {", "] x", "│ cell", `"name" : 1`, `  'a.b': 2`, "        eight", "TypeError: x is not a function", "myException", "a Warning:",
	strings.Repeat("x", 80), strings.Repeat("é", 79), strings.Repeat("é", 80), "run it with --force please", "grep -n x", "it failed at 2026-02-12 17:38:00 with this", "since time=2026-02-12", "see 2026-02 or 20261-02-03",
	"a – b “c” … d", "\v  DEBUG  x", "é ERROR: x", "éERROR: x",
}

var forms = map[string]form{"output": output, "code": code, "flag": flag, "logged": logged}

// Forms do not match prose.
func TestProse(t *testing.T) {
	for _, line := range []string{"", "please fix the login page, it fails on Tuesdays", "- don't move the re-used worker; why?"} {
		require.True(t, isProse(line), line)
	}
	for name, f := range forms {
		matched := 0
		for _, line := range lines {
			if f.expression.MatchString(line) {
				matched++
				require.False(t, isProse(line), "%s matches %q", name, line)
			}
		}
		require.Positive(t, matched, name)
	}
}

func FuzzProse(f *testing.F) {
	for _, line := range append(lines, "Traceback (most", "index abcdefa", "diff --git", strings.Repeat("x", 80), "panic: x") {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for line := range strings.SplitSeq(text, "\n") {
			for name, f := range forms {
				require.Equal(t, f.expression.FindStringIndex(line), f.FindStringIndex(line), "%s: %q", name, line)
			}
		}
	})
}
