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

func TestMarks(t *testing.T) {
	for name, f := range map[string]form{"output": output, "code": code, "flag": flag, "logged": logged} {
		matched, passed := 0, 0
		for _, line := range lines {
			if f.expression.MatchString(line) {
				matched++
				require.True(t, f.may(line), "%s matches %q, which is said to have no mark of it", name, line)
			} else if !f.may(line) {
				passed++
			}
		}
		require.Positive(t, matched, name)
		require.Greater(t, passed, len(lines)/3, "%s: marks spare the expression few lines", name)
	}
}

func FuzzMarks(f *testing.F) {
	for _, line := range lines {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for line := range strings.SplitSeq(text, "\n") {
			for name, f := range map[string]form{"output": output, "code": code, "flag": flag, "logged": logged} {
				require.Equal(t, f.expression.FindStringIndex(line), f.FindStringIndex(line), "%s: %q", name, line)
			}
		}
	})
}
