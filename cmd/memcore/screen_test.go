package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/text/sanitize"
)

// evil has commands to a terminal, of seven and of eight bits, and characters that hide text.
const evil = "a\x1b[31m\x1b]0;x\x07\x08\x7f\u0085\u009b31m\u202e\u2066\u200b\U000E0041z"

// evilName is for names: none of them may begin a line.
const evilName = evil + "\n" + forged + "\u2028" + forged

const forged = "trusted: /home/ada"

func TestScreen(t *testing.T) {
	var out bytes.Buffer
	s := newScreen(&out)
	for _, part := range []string{"é" + evil + "\n", "\xc3", "\xa9\xc2", "\x9b31m \x9b\x9b ü", "\u202e"} {
		n, err := s.Write([]byte(part))
		require.NoError(t, err)
		require.Equal(t, len(part), n)
	}
	require.Equal(t, "éa\n31mz\né31m \ufffd\ufffd ü", out.String())

	out.Reset()
	require.NoError(t, json.NewEncoder(s.json()).Encode(map[string]string{evil: "👩\u200d💻\U000E0041"}))
	require.Empty(t, hiddenIn(out.String()))
	var back map[string]string
	require.NoError(t, json.Unmarshal(out.Bytes(), &back))
	require.Equal(t, map[string]string{evil: "👩\u200d💻\U000E0041"}, back)
}

// hiddenIn returns what a terminal should not get; "" if there is nothing.
func hiddenIn(printed string) string {
	if !utf8.ValidString(printed) {
		return "bytes that are no UTF-8"
	}
	for _, at := range sanitize.Hidden(printed) {
		return strconv.QuoteToASCII(printed[max(0, at[0]-40):at[1]])
	}
	if at := strings.IndexAny(printed, "\r\v\f\u0085\u2028\u2029"); at >= 0 {
		return strconv.QuoteToASCII(printed[max(0, at-40) : at+2])
	}
	return ""
}

// hostileWorkspace makes a project that has evil in each name and text: hostile-workspace
func hostileWorkspace(ts *testscript.TestScript, _ bool, _ []string) {
	root := filepath.Join(ts.Getenv("WORK"), "p"+evilName)
	for name, text := range map[string]string{
		".git/HEAD":                            "ref: refs/heads/" + evil + "\n",
		".beans/config.yaml":                   "memory:\n" + `  "bad\e[31mkey\e]0;x\a\x9B\u202E\n` + forged + `": 1` + "\n",
		".beans/rules/" + evilName + ".md":     "---\npaths: [\"" + "**/*.go" + "\"]\n---\nRule " + evil + "\n",
		"BEANS.md":                             "# Project " + evil + "\n\nThe staging port is 5433. " + evil + "\n\n@notes/" + evil + ".md\n",
		"notes/" + evilName + ".md":            "# Notes " + evil + "\n\nThe staging database listens on port 5433 " + evil + ".\n",
		evilName + "/BEANS.md":                 "Below " + evil + "\n",
		"notes/" + evilName + "\xff\x9b31m.md": "The mascot is a heron " + evil + ".\n",
	} {
		path := filepath.Join(root, name)
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
		ts.Check(os.WriteFile(path, []byte(text), 0o600))
	}
	ts.Check(ts.Chdir(root))
}

// argumentsOf are what print-everywhere runs commands with, beside evil as the only argument.
var argumentsOf = map[string][][]string{
	"trust add":       {{}},
	"index":           {{evilName}, {"--verbose"}, {}},
	"doctor":          {{}},
	"stats":           {{}},
	"status":          {{}, {"--usage"}},
	"context":         {{"--path", evilName + ".go"}},
	"search":          {{"which port has the staging database"}, {"mascot heron"}},
	"retrieve":        {{"which port has the staging database"}, {"mascot heron"}},
	"inject":          {{}},
	"hook":            {{}},
	"explain":         {{"which port has the staging database"}, {"--last"}},
	"statusline":      {{}},
	"save":            {{"--yes", "The ferry " + evil + " leaves at 7."}, {"--undo", "--yes"}},
	"memory show":     {{}, {"--provenance"}},
	"memory list":     {{}},
	"memory status":   {{}},
	"memory edit":     {{}},
	"memory pending":  {{}},
	"session new":     {{evilName}, {"one"}},
	"session list":    {{}, {"--all"}},
	"session show":    {{}},
	"session delete":  {{"--older", "0h"}, {"--older", "1y"}, {"one"}},
	"export":          {{"exported"}, {"exported.tar.gz"}},
	"import":          {{"exported"}, {"exported.tar.gz", "--yes"}},
	"session append":  {{"--session", "one", "The heron " + evil}},
	"recall":          {{"heron"}, {"--session", "one", "heron"}},
	"forget":          {{"notes/" + evilName + ".md", "--yes"}},
	"session reflect": {{}},
	"version":         {{}},
	"trust remove":    {{}},
}

// firstOf are the commands that others need, in their order.
var firstOf = []string{"trust add", "index", "session new", "session append"}

// printEverywhere runs every command, as text and as JSON, and looks at all bytes that it prints:
// print-everywhere
func printEverywhere(ts *testscript.TestScript, _ bool, _ []string) {
	// Servers run until they are ended, and write protocols and logs.
	servers := []string{"serve", "watch", "proxy", "mcp"}
	var paths []string
	var visit func(cmd *cobra.Command, path string)
	visit = func(cmd *cobra.Command, path string) {
		for _, sub := range cmd.Commands() {
			visit(sub, strings.TrimSpace(path+" "+sub.Name()))
		}
		if path != "" && !slices.Contains(firstOf, path) {
			paths = append(paths, path)
		}
	}
	visit(newRoot(newCLI(strings.NewReader(""), io.Discard, io.Discard)), "")
	for _, path := range slices.Concat(firstOf, paths) {
		tries := slices.Clone(argumentsOf[path])
		switch path {
		case "index": // a folder to index alone
		case "save", "memory add", "log append", "session append": // texts of lines
			tries = append(tries, []string{evil})
		default:
			tries = append(tries, []string{evilName})
		}
		if path == "init" || path == "uninstall" {
			tries = append(tries, []string{"--dry-run"})
		}
		for _, arguments := range tries {
			if slices.Contains(servers, path) {
				arguments = append(arguments, "--"+evilName) // no such flag
			}
			printOnce(ts, append(strings.Fields(path), arguments...))
			if len(arguments) == 0 || arguments[0] != evilName && arguments[0] != evil {
				printOnce(ts, append(strings.Fields(path), append([]string{"--json"}, arguments...)...))
			}
		}
	}
}

func printOnce(ts *testscript.TestScript, arguments []string) {
	_ = ts.Exec("memcore", arguments...) // many fail, and quote what they got
	if arguments[0] == "doctor" && !strings.Contains(ts.ReadFile("stdout"), "badkey") && len(arguments) == 1 {
		ts.Fatalf("doctor does not name the unknown setting")
	}
	for _, stream := range []string{"stdout", "stderr"} {
		if hidden := hiddenIn(ts.ReadFile(stream)); hidden != "" {
			ts.Fatalf("memcore %q printed on %s %s", arguments, stream, hidden)
		}
	}
	for _, stream := range []string{"stdout", "stderr"} {
		for line := range strings.Lines(ts.ReadFile(stream)) {
			if strings.HasPrefix(strings.TrimLeft(line, " \t"), forged) {
				ts.Fatalf("memcore %q printed a name on a line of its own on %s: %q", arguments, stream, ts.ReadFile(stream))
			}
		}
	}
	if out := ts.ReadFile("stdout"); strings.HasPrefix(out, "{") && !json.Valid([]byte(out)) {
		ts.Fatalf("memcore %q printed broken JSON: %s", arguments, out)
	}
}
