package chunker_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/chunker"
)

func TestToolUse(t *testing.T) {
	for _, tt := range []struct {
		name string
		use  chunker.ToolUse
		want string
	}{
		{"nothing known", chunker.ToolUse{}, "tool"},
		{"name only", chunker.ToolUse{Name: "ls"}, "ls"},
		{"output only", chunker.ToolUse{Output: "done\n"}, "→ done"},
		{"free text", chunker.ToolUse{Name: "Bash", Input: "go vet ./...\nls"}, "Bash: go vet ./..."},
		{"keyArguments arguments first", chunker.ToolUse{Name: "Grep", Input: `{"head_limit":5,"include":"*.go","path":"store","pattern":"func Open"}`}, "Grep: store · func Open · include=*.go"},
		{"file content is left out", chunker.ToolUse{Name: "Write", Input: `{"content":"package a","file_path":"a.go"}`}, "Write: a.go"},
		{"unless there is nothing else", chunker.ToolUse{Name: "note", Input: `{"content":"the port is 5433\nmore"}`}, "note: content=the port is 5433"},
		{"cut JSON", chunker.ToolUse{Name: "Write", Input: `{"file_path":"a \"b\".go","content":"xxx` + "\n[…]\n" + `yyy"}`}, `Write: a "b".go`},
		{"a command line as a list", chunker.ToolUse{Name: "shell", Input: `{"command":["bash","-lc","rg -n foo | head"],"workdir":"/srv"}`}, "shell: rg -n foo | head · workdir=/srv"},
		{"a patch", chunker.ToolUse{Name: "apply_patch", Input: "*** Begin Patch\n*** Update File: a.go\n@@\n-x\n+y\n*** Add File: b/c.go\n+z\n*** End Patch"}, "apply_patch: patch a.go b/c.go"},
		{"first and last line", chunker.ToolUse{Name: "ls", Output: "total 3\na\nb\nlast\n"}, "ls\n→ total 3 … last"},
		{"the first error", chunker.ToolUse{Name: "make", Output: "cc a.c\na.c:3: error: expected ';'\na.c:9: error: x\nmake: done\n"}, "make\n→ a.c:3: error: expected ';' … cc a.c … make: done"},
		{"failed", chunker.ToolUse{Name: "make", Output: "cc a.c\n", Failed: true}, "make\n→ failed … cc a.c"},
		{"exit status", chunker.ToolUse{Name: "sh", Output: "x\nProcess exited with code 137\n"}, "sh\n→ exit status 137 … x … Process exited with code 137"},
		{"success is not said", chunker.ToolUse{Name: "sh", Output: `{"output":"ok","metadata":{"exit_code":0}}`}, "sh\n→ ok"},
		{"status in JSON", chunker.ToolUse{Name: "sh", Output: `{"stdout":"","stderr":"no","exitCode":2}`}, "sh\n→ exit status 2 … no"},
		{"the middle of much is not read", chunker.ToolUse{Name: "t", Output: strings.Repeat("line\n", 5000) + "error: x\n" + strings.Repeat("line\n", 5000) + "last"}, "t\n→ line … last"},
		{"colours", chunker.ToolUse{Name: "t", Output: "\x1b[1;31mred\x1b[0m"}, "t\n→ red"},
		{"blobs", chunker.ToolUse{Name: "cat", Output: strings.Repeat("QUJD", 40) + "\n" + strings.Repeat("0a ", 40) + "\n{" + strings.Repeat(`"a":1,`, 100) + "}\n"}, "cat"},
		{"a blob in a line", chunker.ToolUse{Name: "sha", Output: "digest " + strings.Repeat("0123456789abcdef", 8) + " of a.bin"}, "sha\n→ digest … of a.bin"},
		{"invalid UTF-8", chunker.ToolUse{Name: "a\xff", Input: "\xffb", Output: "c\xff"}, "a\ufffd: \ufffdb\n→ c\ufffd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			turn := chunker.Turn{Line: 1, EndLine: 1, Role: "assistant", Tools: []chunker.ToolUse{tt.use}}
			chunks := chunker.Conversation("c", []chunker.Turn{turn}, chunker.Options{})
			require.Len(t, chunks, 1)
			if got := chunks[0].Text; got != tt.want {
				t.Errorf("Conversation(%+v) = %q, want %q", tt.use, got, tt.want)
			}
		})
	}
}

func TestToolUseIsSmall(t *testing.T) {
	long := strings.Repeat("error: some words that say the same again ", 500)
	use := chunker.ToolUse{Name: long, Input: `{"command":"` + long + `","path":"` + long + `"}`, Output: long + "\n" + long, Failed: true}
	chunks := chunker.Conversation("c", []chunker.Turn{{Line: 1, EndLine: 1, Role: "assistant", Tools: []chunker.ToolUse{use}}}, chunker.Options{})
	require.Len(t, chunks, 1)
	if chunks[0].Tokens > 85 {
		t.Errorf("a use of a tool has %d tokens, want about 80: %q", chunks[0].Tokens, chunks[0].Text)
	}
}

func TestSpeakers(t *testing.T) {
	at := time.Date(2024, 3, 14, 9, 0, 0, 0, time.UTC)
	chunks := chunker.Conversation("c", []chunker.Turn{
		{Line: 1, EndLine: 1, Role: "user", Session: "s", Time: at, Text: "hi"},
		{Line: 2, EndLine: 2, Role: "assistant", Speaker: " Ada\nL. ", Session: "s", Text: "hello"},
		{Line: 3, EndLine: 3, Role: "tool", Session: "s", Text: "line\nerror: x\nend"},
		{Line: 4, EndLine: 4, Role: "user", Session: "s", Text: "\n"},
	}, chunker.Options{})
	require.Len(t, chunks, 3)
	for i, want := range []string{`On 14 March 2024, user said: "hi"`, `Ada L. said: "hello"`, `tool said: "→ error: x … line … end"`} {
		c := chunks[i]
		if got := chunker.EmbeddingText(c.Headings, c.Speaker, c.Time, c.Text); got != want || c.Session != "s" {
			t.Errorf("chunk %d in session %q is embedded as %q, want %q", i, c.Session, got, want)
		}
	}
}

func TestNeighbours(t *testing.T) {
	long := "It begins. " + strings.Repeat("word ", 5000) + "Does it end?"
	chunks := chunker.Conversation("c", []chunker.Turn{
		{Line: 1, EndLine: 1, Role: "assistant", Session: "a", Text: long},
		{Line: 2, EndLine: 2, Role: "user", Session: "b", Text: "elsewhere"},
		{Line: 3, EndLine: 3, Role: "user", Session: "a", Text: "yes"},
		{Line: 4, EndLine: 4, Role: "assistant", Session: "a", Text: long},
	}, chunker.Options{})
	var yes chunker.Chunk
	for _, c := range chunks {
		if c.StartLine == 3 {
			yes = c
		}
		if c.StartLine == 2 && c.Before+c.After != "" {
			t.Errorf("a session of one turn has neighbours %q and %q", c.Before, c.After)
		}
	}
	if !strings.HasPrefix(yes.Before, "assistant: …word") || !strings.HasSuffix(yes.Before, "Does it end?") {
		t.Errorf("Before = %q, want the end of the turn before", yes.Before)
	}
	if !strings.HasPrefix(yes.After, "assistant: It begins. word") || !strings.HasSuffix(yes.After, "word…") {
		t.Errorf("After = %q, want the start of the turn after", yes.After)
	}
	for _, s := range []string{yes.Before, yes.After} {
		if n := (len(s) + 3) / 4; n > 62 || n < 50 {
			t.Errorf("a neighbour has %d tokens, want about 60: %q", n, s)
		}
	}
}

// Counted bytes are linear in the log, even with long names.
func TestCountingOfTurnsIsLinear(t *testing.T) {
	for name, unit := range map[string]string{"words": "One two three. ", "one word": "x", "lines": "a b\n", "Chinese": "漢字。"} {
		t.Run(name, func(t *testing.T) {
			long := strings.Repeat(unit, 200_000/len(unit))
			counted := 0
			o := chunker.Options{Max: 240, Count: func(s string) int { counted += len(s); return words(s) }}
			turn := chunker.Turn{Line: 1, EndLine: 1, Role: "user", Speaker: long, Session: long, Text: long}
			turn.Tools = []chunker.ToolUse{{Name: long, Input: long, Output: long}}
			chunks := chunker.Conversation("c", []chunker.Turn{turn, turn, turn}, o)
			if limit := 40 * 3 * len(long); counted > limit {
				t.Errorf("%d bytes were counted of three turns of %d, want at most %d", counted, len(long), limit)
			}
			for _, c := range chunks {
				if n := len(c.Speaker) + len(c.Before) + len(c.After); n > 3000 {
					t.Fatalf("names and neighbours have %d bytes, want at most 3000", n)
				}
			}
		})
	}
}

// Turns of a grown log keep their IDs.
func TestConversationIDs(t *testing.T) {
	turns := conversation()
	whole := chunker.Conversation("chat.jsonl", turns, small)
	from := 3
	part := chunker.Conversation("chat.jsonl", turns[from:], small)
	tail := whole[len(whole)-len(part):]
	for i := range part {
		if part[i].ID != tail[i].ID || part[i].Hash != tail[i].Hash {
			t.Errorf("chunk %d read again: ID %s, want %s", i, part[i].ID, tail[i].ID)
		}
	}
	ok := chunker.Turn{Line: 1, EndLine: 1, Role: "user", Text: "ok"}
	same := chunker.Conversation("array.json", []chunker.Turn{ok, ok}, small)
	if same[0].ID == same[1].ID || same[0].Hash != same[1].Hash {
		t.Errorf("two equal turns on one line: IDs %s and %s, want others and equal hashes", same[0].ID, same[1].ID)
	}
}

// The pieces of a long turn hold all of its text.
func FuzzConversation(f *testing.F) {
	f.Add("Hello there.", "Bash", `{"command":"ls"}`, "a\nb\n", "user", uint8(10))
	f.Add(strings.Repeat("One sentence. Another one! ", 40)+"\n\n# H\n\n```\ncode\n```", "", "", "", "", uint8(0))
	f.Add("你好。\xff\r\n", "\xff", "{", "error\x1b[0m", "\n", uint8(200))
	f.Fuzz(func(t *testing.T, text, tool, input, output, speaker string, size uint8) {
		o := chunker.Options{Target: 24 + int(size)/2, Max: 32 + int(size), Count: words}
		turns := []chunker.Turn{
			{Line: 1, EndLine: 2, Role: "user", Speaker: speaker, Text: text},
			{Line: 3, EndLine: 3, Role: "assistant", Text: text, Tools: []chunker.ToolUse{{Name: tool, Input: input, Output: output, Failed: size%2 == 0}}},
			{Line: 3, EndLine: 3, Role: "tool", Session: "x", Text: output, Time: time.Unix(int64(size)*1e7, 0)},
		}
		chunks := chunker.Conversation("c.jsonl", turns, o)
		if again := chunker.Conversation("c.jsonl", turns, o); !reflect.DeepEqual(chunks, again) {
			t.Errorf("Conversation(%q) differs from one call to the next", text)
		}
		checkChunks(t, chunks, 3, o)
		said := ""
		for _, c := range chunks {
			if c.StartLine == 1 {
				said += c.Text
			}
		}
		if clean := strings.ToValidUTF8(strings.TrimPrefix(text, "\ufeff"), "\ufffd"); letters(said) < letters(clean) {
			t.Errorf("%q became %q", clean, said)
		}
	})
}
