package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/unicode"

	"github.com/memcore/memcore/chunker"
)

// readLog reads a log; its first lines show the format.
func readLog(t testing.TB, path, format string, from Position) Content {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	info, err := file.Stat()
	require.NoError(t, err)
	content, err := readConversation(t.Context(), file, info.Size(), Document{File: path, Format: format}, from, maxHeld)
	require.NoError(t, err)
	return content
}

// stored returns a Position as a later run of the program reads it.
func stored(t testing.TB, at Position) Position {
	t.Helper()
	text, err := json.Marshal(at)
	require.NoError(t, err)
	var again Position
	require.NoError(t, json.Unmarshal(text, &again))
	if !reflect.DeepEqual(again, at) {
		t.Fatalf("Position %+v is %+v after a round trip as %s", at, again, text)
	}
	return again
}

var logFixtures = map[string]string{
	"openai.jsonl": "openai", "claude-code.jsonl": "claude-code", "gemini-cli.jsonl": "gemini-cli",
	"codex.jsonl": "codex", "codex-2025.jsonl": "codex", "pi.jsonl": "pi",
	"claude-code-2026.jsonl": "claude-code", "codex-2026.jsonl": "codex", "gemini-cli-2026.jsonl": "gemini-cli",
	"copilot-cli.jsonl": "copilot-cli",
	"qwen-code.jsonl":   "qwen-code", "claude-stream.jsonl": "claude-stream", "mcp-memory.jsonl": "mcp-memory",
	"cursor-transcript.jsonl": "cursor-transcript",
}

// A growing log gives the same turns as a whole one.
func TestGrowingLog(t *testing.T) {
	for name, format := range logFixtures {
		t.Run(name, func(t *testing.T) {
			whole, err := os.ReadFile(filepath.Join("testdata", name))
			require.NoError(t, err)
			random := rand.New(rand.NewPCG(1, 2))
			for run := range 40 {
				text := whole
				if run%2 == 1 {
					text = shuffled(random, whole)
				}
				grow(t, random, text, format)
				if t.Failed() {
					t.Fatalf("run %d of %s", run, name)
				}
			}
		})
	}
}

// shuffled is a log in another order, with repeated lines: results before their calls, sessions in
// the middle.
func shuffled(random *rand.Rand, text []byte) []byte {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	lines = append(lines, lines[random.IntN(len(lines))], lines[random.IntN(len(lines))])
	random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	end := []string{"\n", "\r\n"}[random.IntN(2)]
	return append(bytes.Join(lines, []byte(end)), end...)
}

func grow(t *testing.T, random *rand.Rand, text []byte, format string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.jsonl")
	var turns []chunker.Turn
	var at Position
	for written := 0; written < len(text); {
		written = min(len(text), written+1+random.IntN(len(text)/6+1))
		require.NoError(t, os.WriteFile(path, text[:written], 0o644))
		content := readLog(t, path, format, at)
		turns = append(before(turns, content.From), content.Turns...)
		checkResume(t, content, at)
		at = stored(t, content.Resume)
	}
	if want := readLog(t, path, format, Position{}).Turns; !reflect.DeepEqual(turns, want) {
		t.Errorf("read in portions:\n%s\nat once:\n%s\nlog:\n%s", show(turns), show(want), text)
	}
}

// A long log, also a packed one, is read in pieces, which give the same turns as the whole.
func TestLogInPieces(t *testing.T) {
	for name, format := range logFixtures {
		for _, ext := range []string{".jsonl", ".jsonl.zst"} {
			t.Run(name+ext, func(t *testing.T) {
				text, err := os.ReadFile(filepath.Join("testdata", name))
				require.NoError(t, err)
				text = bytes.Repeat(text, 20)
				path := filepath.Join(t.TempDir(), "log"+ext)
				if isPacked(path) {
					packer, err := zstd.NewWriter(nil)
					require.NoError(t, err)
					write(t, path, string(packer.EncodeAll(text, nil)))
				} else {
					write(t, path, string(text))
				}
				whole := readLog(t, path, format, Position{})
				require.False(t, whole.More)
				var turns []chunker.Turn
				var at Position
				pieces := 0
				for more := true; more; pieces++ {
					file, err := os.Open(path)
					require.NoError(t, err)
					info, err := file.Stat()
					require.NoError(t, err)
					content, err := readConversation(t.Context(), file, info.Size(), Document{File: path, Format: format}, at, 6000)
					require.NoError(t, err)
					require.NoError(t, file.Close())
					require.True(t, !content.More || content.Resume.Offset > at.Offset, "it goes on")
					turns = append(before(turns, content.From), content.Turns...)
					at, more = stored(t, content.Resume), content.More
				}
				require.Greater(t, pieces, 2)
				require.Equal(t, whole.Turns, turns)
			})
		}
	}
}

// before returns the turns that begin before a line.
func before(turns []chunker.Turn, line int) []chunker.Turn {
	var kept []chunker.Turn
	for _, turn := range turns {
		if turn.Line < line {
			kept = append(kept, turn)
		}
	}
	return kept
}

// checkResume checks that reading goes on before the last two turns and the last answer, and never
// before the last position.
func checkResume(t *testing.T, content Content, from Position) {
	t.Helper()
	if n := len(content.Turns); n >= 2 && content.Resume.Offset > 0 {
		want := min(n-2, lastAnswer(content.Turns))
		if content.Resume.Line != content.Turns[want].Line-1 {
			t.Errorf("Resume.Line = %d, want the line before turn %d on line %d", content.Resume.Line, want, content.Turns[want].Line)
		}
	}
	if content.Resume.Offset < from.Offset && content.From > 1 {
		t.Errorf("Resume.Offset = %d, want at least %d, where this reading began", content.Resume.Offset, from.Offset)
	}
}

// lastAnswer is an agent's, if no message follows it; a dialog is none.
func lastAnswer(turns []chunker.Turn) int {
	for i, turn := range slices.Backward(turns) {
		if turn.Text != "" && turn.Dialog == "" && (turn.Role == "user" || turn.Role == "assistant") {
			if turn.Role == "assistant" {
				return i
			}
			break
		}
	}
	return len(turns)
}

func show(turns []chunker.Turn) string {
	var out strings.Builder
	for _, turn := range turns {
		fmt.Fprintf(&out, "%+v\n", turn)
	}
	return out.String()
}

// A rewritten log is read from the start, even if longer.
func TestRewrittenLog(t *testing.T) {
	line := func(text string) string { return fmt.Sprintf(`{"role":"user","content":%q}`+"\n", text) }
	first := line("one") + line("two") + line("three") + line("four")
	for _, tt := range []struct {
		name, then string
		from       int
		want       []string
	}{
		{"grown", first + line("five"), 3, []string{"three", "four", "five"}},
		{"unchanged", first, 3, []string{"three", "four"}},
		{"rewritten", line("uno") + line("dos") + line("tres") + line("cuatro") + line("cinco"), 1, []string{"uno", "dos", "tres", "cuatro", "cinco"}},
		{"truncated", line("one"), 1, []string{"one"}},
		{"emptied", "", 1, nil},
		{"shifted", "\n" + first, 1, []string{"one", "two", "three", "four"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log.jsonl")
			write(t, path, first)
			at := readLog(t, path, "openai", Position{}).Resume
			write(t, path, tt.then)
			content := readLog(t, path, "openai", at)
			var got []string
			for _, turn := range content.Turns {
				got = append(got, turn.Text)
			}
			if content.From != tt.from || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("Read = %q from line %d, want %q from line %d", got, content.From, tt.want, tt.from)
			}
		})
	}
}

// A Position of another file is ignored.
func TestForeignPosition(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	write(t, path, strings.Repeat(chatLine, 5))
	good := readLog(t, path, "openai", Position{}).Resume
	for _, at := range []Position{
		{Offset: -1, Line: 1}, {Offset: 1 << 40, Line: 2, Prefix: good.Prefix}, {Offset: good.Offset, Line: -3, Prefix: good.Prefix},
		{Offset: good.Offset, Line: good.Line, Prefix: "x"}, {Line: 3},
	} {
		if content := readLog(t, path, "openai", at); content.From != 1 || len(content.Turns) != 5 {
			t.Errorf("Read from %+v = %d turns from line %d, want 5 from line 1", at, len(content.Turns), content.From)
		}
	}
	good.State = map[string]string{"open": "{", "time": "yesterday"}
	if content := readLog(t, path, "openai", good); len(content.Turns) != 2 {
		t.Errorf("Read with a broken state = %d turns, want 2", len(content.Turns))
	}
}

func TestOddLines(t *testing.T) {
	user := func(text string) string { return `{"role":"user","content":"` + text + `"}` }
	long := user(strings.Repeat("x", 3*maxString))
	endless := `{"role":"user","content":[` + strings.Repeat(`"x",`, maxLogLine/4)
	broken := `{"role":"user","content":"br`
	for _, tt := range []struct {
		name, log string
		want      []string // "line: text"
		skipped   map[string]int
	}{
		{"empty", "", nil, nil},
		{"blank lines and no words", "\n  \n" + user(" ") + "\n", nil, nil},
		{"byte order mark and CRLF", "\xef\xbb\xbf" + user("a") + "\r\n\r\n" + user("b") + "\r\n", []string{"1: a", "3: b"}, nil},
		{"a last line that is cut off", user("a") + "\n" + `{"role":"user","con`, []string{"1: a"}, nil},
		{"a last line without an end", user("a") + "\n" + user("b"), []string{"1: a", "2: b"}, nil},
		{"broken lines", "}{\n" + user("a") + "\n[1,\nnull\n\"x\"\n{}\n7\n" + user("b") + "\n", []string{"2: a", "8: b"},
			map[string]int{"not JSON": 2, "fields of an unexpected type": 2, "no role": 2}},
		{"invalid UTF-8", user("a\xffb") + "\n", []string{"1: a\ufffdb"}, map[string]int{notUTF8: 1}},
		{"a long string", user("a") + "\n" + long + "\n" + user("b") + "\n", []string{"1: a", "2: xx", "3: b"}, nil},
		{"a line too long to parse", user("a") + "\n" + endless + "\n" + user("b") + "\n", []string{"1: a", "3: b"}, map[string]int{lineTooLong: 1}},
		{"a last line too long to parse", user("a") + "\n" + endless, []string{"1: a"}, nil},
		{"two records on a line", user("a") + user("b") + "\n" + user("c") + "\n", []string{"1: a", "1: b", "2: c"}, nil},
		{"a record after one that is cut off", broken + user("a") + "\n" + user("b") + "\n", []string{"1: a", "2: b"}, map[string]int{notJSON: 1}},
		{"a record after one that is cut off behind an object", `{"role":"user","content":[{"type":"text","text":"x"}` + user("a") + "\n", []string{"1: a"}, map[string]int{notJSON: 1}},
		{"a record before one that is cut off", user("a") + broken + "\n" + user("b") + "\n", []string{"1: a", "2: b"}, map[string]int{notJSON: 1}},
		{"NUL bytes before a record", strings.Repeat("\x00", 700_000) + user("a") + "\n\x00\x00\n" + user("b") + "\n", []string{"1: a", "3: b"}, map[string]int{hasNUL: 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log.jsonl")
			write(t, path, tt.log)
			content := readLog(t, path, "openai", Position{})
			var lines []string
			for _, turn := range content.Turns {
				text := turn.Text
				if len(text) > 99 {
					text = text[:2]
				}
				lines = append(lines, fmt.Sprintf("%d: %s", turn.Line, text))
			}
			sameStrings(t, "turns", lines, tt.want)
			if !maps.Equal(content.Skipped, tt.skipped) {
				t.Errorf("Skipped = %v, want %v", content.Skipped, tt.skipped)
			}
		})
	}
}

func TestJSONDocuments(t *testing.T) {
	for _, tt := range []struct {
		name, log string
		want      []string
		skipped   map[string]int
	}{
		{"empty", "", nil, nil},
		{"an array on one line", `[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`, []string{"1-1: a", "2-2: b"}, nil},
		{"an object, pretty", "\ufeff{\r\n \"messages\" :\r\n [\r\n  {\"role\":\"user\",\r\n   \"content\":\"a\"\r\n  }\r\n  ,\r\n  {\"role\":\"user\",\"content\":\"b\"}]}", []string{"4-6: a", "8-8: b"}, nil},
		{"cut off in the third message", "[{\"role\":\"user\",\"content\":\"a\"},\n{\"role\":\"user\",\"content\":\"b\"},\n{\"role\":\"us", []string{"1-1: a", "2-2: b"},
			map[string]int{brokenPart: 1}},
		{"broken in the middle", `[{"role":"user","content":"a"},` + "\n" + `{"role":"user","content":[{"text":"x"},{"role":"user"}],"x":"}` + "\n" + `,{"role":"user","content":"b"},` + "\n" + `<html>,{"role":"user","content":"c"}]`,
			[]string{"1-1: a", "3-3: b", "4-4: c"}, map[string]int{brokenPart: 2}},
		{"one that ends the array", `[{"role":"user","content":"a"},` + "\n" + `{"xt":"x"}],"ts":1},` + "\n" + `{"role":"user","content":"b"},{"role":"user","content":"c"}]`,
			[]string{"1-1: a", "3-3: b", "3-3: c"}, map[string]int{brokenPart: 1, "no role": 1}},
		{"one that ends the document", `{"messages":[{"role":"user","content":"a"},` + "\n" + `{"xt":"x"}],"ts":1},` + "\n" + `{"role":"user","content":"b"}],"id":"s"}`,
			[]string{"1-1: a", "3-3: b"}, map[string]int{brokenPart: 2, "no role": 1}},
		{"one that takes in the others", `[{"role":"user","content":[{"type":"text","text":"a"},` + "\n" + `{"role":"user","content":"b"},` + "\n" + `{"role":"user","content":"c"}]},` + "\n",
			[]string{"1-3: a", "2-2: b", "3-3: c"}, map[string]int{cutOff: 1, brokenPart: 1}},
		{"cut off behind a call with messages", `[{"role":"user","content":"a"},` + "\n" + `{"role":"assistant","content":"b","tool_calls":[{"function":{"arguments":{"messages":[{"role":"user","content":"c"},{"role":"user","content":"d"}]}}}]}`,
			[]string{"1-1: a", "2-2: b"}, map[string]int{cutOff: 1}},
		{"broken before the messages", `{"id": x, "messages": [{"role":"user","content":"a"}]}`, []string{"1-1: a"}, map[string]int{brokenPart: 1}},
		{"NUL bytes", "[\x00\x00{\"role\":\"user\",\"content\":\"a\"}]", []string{"1-1: a"}, map[string]int{hasNUL: 1}},
		{"messages that are none", "{\"messages\":{\"role\":\"user\"},\"messages\":[7,null,{\"role\":\"user\",\"content\":\"a\"},[]]}", []string{"3-3: a"},
			map[string]int{"fields of an unexpected type": 2, "no role": 1}},
		{"a number", "7", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log.json")
			write(t, path, tt.log)
			content := readLog(t, path, "openai", Position{Offset: 5, Line: 1})
			var got []string
			for _, turn := range content.Turns {
				got = append(got, fmt.Sprintf("%d-%d: %s", turn.Line, turn.EndLine, turn.Text))
			}
			sameStrings(t, "turns", got, tt.want)
			if !maps.Equal(content.Skipped, tt.skipped) || content.From != 1 || content.Resume.Offset != 0 {
				t.Errorf("Skipped, From, Resume = %v, %d, %v, want %v, 1 and none", content.Skipped, content.From, content.Resume, tt.skipped)
			}
		})
	}
}

// Open calls are remembered, up to a limit.
func TestForgottenCalls(t *testing.T) {
	var log strings.Builder
	for i := range maxOpenCalls + 5 {
		fmt.Fprintf(&log, `{"role":"assistant","content":"step","tool_calls":[{"id":"c%d","function":{"name":"tool%d","arguments":"{}"}}]}`+"\n", i, i)
	}
	log.WriteString(`{"role":"user","content":"and?"}` + "\n")
	log.WriteString(`{"role":"tool","tool_call_id":"c0","content":"too late"}` + "\n")
	log.WriteString(`{"role":"tool","tool_call_id":"c9","content":"in time"}` + "\n")
	path := filepath.Join(t.TempDir(), "log.jsonl")
	write(t, path, log.String())
	content := readLog(t, path, "openai", Position{})
	last := content.Turns[len(content.Turns)-2:]
	if last[0].Tools[0].Name != "" || last[1].Tools[0].Name != "tool9" {
		t.Errorf("late results are of %q and %q, want \"\" and \"tool9\"", last[0].Tools[0].Name, last[1].Tools[0].Name)
	}
}

func TestLongToolOutputIsShortened(t *testing.T) {
	in := "begin " + strings.Repeat("ä", maxToolText) + " end"
	got := shorten(in)
	if len(got) > maxToolText+20 || !strings.HasPrefix(got, "begin ä") || !strings.HasSuffix(got, "ä end") || strings.Contains(got, "\ufffd") {
		t.Errorf("shorten of %d bytes = %d bytes, %.20q … %q, want head and tail", len(in), len(got), got, got[len(got)-20:])
	}
}

func TestReadStopsWhenCancelled(t *testing.T) {
	dir := tree(t, map[string]string{"a.jsonl": strings.Repeat(chatLine, 10), "b.json": "[" + chatLine + "]", "c.md": "c"})
	f := NewFolder(FolderOptions{Path: dir, Workspace: dir})
	docs := list(t, f).Documents
	require.Len(t, docs, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, doc := range docs {
		if _, err := f.Read(ctx, doc, Position{}); !errors.Is(err, context.Canceled) {
			t.Errorf("Read(%s) after cancel: error %v, want context.Canceled", doc.Path, err)
		}
	}
}

// A log in UTF-16 is read in any script, with its mark or without, also what it grows by.
func TestWideLog(t *testing.T) {
	lines := []string{`{"role":"user","content":"где ключ"}`, `{"role":"assistant","content":"在石头下面"}`, `{"role":"user","content":"Größe 🚢"}`, `{"role":"assistant","content":"b"}`}
	for name, e := range map[string]unicode.Endianness{"little end": unicode.LittleEndian, "big end": unicode.BigEndian} {
		for _, policy := range []unicode.BOMPolicy{unicode.UseBOM, unicode.IgnoreBOM} {
			path := filepath.Join(t.TempDir(), "log.jsonl")
			var from Position
			var said []string
			for n := 2; n <= len(lines); n++ {
				wide, err := unicode.UTF16(e, policy).NewEncoder().String(strings.Join(lines[:n], "\r\n") + "\r\n")
				require.NoError(t, err)
				write(t, path, wide)
				found := list(t, NewFolder(FolderOptions{Path: path}))
				require.Len(t, found.Documents, 1, name)
				content := readLog(t, path, found.Documents[0].Format, from)
				require.Empty(t, content.Skipped, name)
				require.Equal(t, "UTF-16", content.Encoding)
				require.Equal(t, 1, content.From, "it is read again")
				from, said = content.Resume, saidIn(content.Turns)
			}
			require.Equal(t, []string{"где ключ", "在石头下面", "Größe 🚢", "b"}, said, name)
			turns, err := Transcript(t.Context(), path, 1<<20)
			require.NoError(t, err)
			require.Equal(t, said, saidIn(turns))
		}
	}
}

// A small packed log cannot hold up an index: what it holds beyond a limit is left out and named.
func TestPackedLogIsBounded(t *testing.T) {
	was := maxUnpacked
	t.Cleanup(func() { maxUnpacked = was })
	maxUnpacked = 4096
	packer, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	text := strings.Repeat(`{"role":"user","content":"a"}`+"\n", 1000)
	path := filepath.Join(t.TempDir(), "log.jsonl.zst")
	write(t, path, string(packer.EncodeAll([]byte(text), nil)))
	content := readLog(t, path, "openai", Position{})
	require.Len(t, content.Turns, 4096/30)
	require.Equal(t, map[string]int{unpackedTooLong: 1}, content.Skipped)
}
