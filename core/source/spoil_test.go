package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/chunker"
)

// A spoiler spoils one record of a log.
type spoiler struct {
	name     string
	spoil    func(record, next string) string // next is the next record, or after what separates them
	harmless bool                             // nothing may be lost
	two      bool                             // the result stands for both
	repeats  bool                             // it may say something twice
	quiet    bool                             // what is left can be a good record, too, so that no loss is named
}

// spoilers apply to a line of a log, and to a message of a JSON document.
var spoilers = []spoiler{
	{name: "cut in the middle", spoil: func(r, _ string) string { return r[:len(r)/2] }},
	{name: "cut after its first byte", spoil: func(r, _ string) string { return r[:1] }},
	{name: "cut before its last byte", spoil: func(r, _ string) string { return r[:len(r)-1] }},
	{name: "without its beginning", spoil: func(r, _ string) string { return r[len(r)/3:] }},
	{name: "a block of NUL bytes", spoil: func(r, _ string) string { return strings.Repeat("\x00", len(r)) }},
	{name: "NUL bytes before it", spoil: func(r, _ string) string { return strings.Repeat("\x00", 4096) + r }, harmless: true},
	{name: "half of it NUL bytes", spoil: func(r, _ string) string { return r[:len(r)/2] + strings.Repeat("\x00", len(r)-len(r)/2) }},
	{name: "invalid UTF-8", spoil: func(r, _ string) string { return "\xff\xfe" + r[2:] }},
	{name: "invalid UTF-8 in a string", spoil: func(r, _ string) string { return r[:len(r)-1] + `,"zz":"` + "\xc3\x28" + `"}` }, harmless: true},
	{name: "a lone surrogate", spoil: func(r, _ string) string { return r[:len(r)-1] + `,"zz":"\ud83d"}` }, harmless: true},
	{name: "an image of 280 KB", spoil: func(r, _ string) string { return `{"zz":"` + strings.Repeat("iVBO", 70_000) + `",` + r[1:] }, harmless: true},
	{name: "a value that is nested deeply", spoil: func(r, _ string) string {
		return `{"zz":` + strings.Repeat("[", 11_000) + strings.Repeat("]", 11_000) + "," + r[1:]
	}},
	{name: "brackets without end", spoil: func(string, string) string { return strings.Repeat(`{"a":[`, 300) }},
	{name: "an HTML error page", spoil: func(string, string) string { return `<html><body>{"error":502}</body></html>` }},
	{name: "a number", spoil: func(string, string) string { return "7" }},
	{name: "a string", spoil: func(string, string) string { return `"type"` }},
	{name: "an array", spoil: func(r, _ string) string { return "[" + r + "]" }},
	{name: "an empty object", spoil: func(string, string) string { return "{}" }},
	{name: "fields of wrong types", spoil: wrongTypes},
	{name: "its longest field away", spoil: func(r, _ string) string { return withLongest(r, "") }, quiet: true},
	{name: "a number for its longest field", spoil: func(r, _ string) string { return withLongest(r, "0") }, quiet: true},
	{name: "null", spoil: func(string, string) string { return "null" }},
	{name: "itself again", spoil: func(r, next string) string { return r + next[:strings.IndexAny(next, "{")] + r + next }, harmless: true, two: true, repeats: true},
	{name: "the next record before it", spoil: func(r, next string) string {
		at := strings.IndexAny(next, "{")
		return next[at:] + next[:at] + r
	}, two: true, repeats: true, quiet: true},
	{name: "a byte order mark", spoil: func(r, _ string) string { return string(byteOrderMark) + r }, harmless: true},
	{name: "other white space", spoil: func(r, _ string) string { return "\t " + r + "  \r" }, harmless: true},
	{name: "the next record on its line", spoil: func(r, next string) string { return r + next[strings.IndexAny(next, "{"):] }, harmless: true, two: true},
	{name: "its end cut off, and the next record on its line", spoil: func(r, next string) string { return r[:len(r)*2/3] + next[strings.IndexAny(next, "{"):] }, two: true},
	{name: "a comma too much", spoil: func(r, _ string) string { return r[:len(r)-1] + ",}" }},
	{name: "single quotes", spoil: func(r, _ string) string { return strings.ReplaceAll(r, `"`, `'`) }},
}

// wrongTypes makes strings of numbers and numbers of all else.
func wrongTypes(record, _ string) string {
	var fields map[string]any
	if json.Unmarshal([]byte(record), &fields) != nil {
		return "0"
	}
	for key, value := range fields {
		if _, isNumber := value.(float64); isNumber {
			fields[key] = "x"
		} else {
			fields[key] = 0
		}
	}
	text, _ := json.Marshal(fields)
	return string(text)
}

// withLongest gives the longest field of a record, which has what was said, another value, or none.
func withLongest(record, value string) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(record), &fields) != nil {
		return "{}"
	}
	longest := ""
	for key, value := range fields {
		if len(value) > len(fields[longest]) {
			longest = key
		}
	}
	if delete(fields, longest); value != "" {
		fields[longest] = json.RawMessage(value)
	}
	text, _ := json.Marshal(fields)
	return string(text)
}

// recordsIn returns where the records of a log begin and end: its lines, or the messages of a JSON
// document.
func recordsIn(t *testing.T, name string, text []byte) (all [][2]int) {
	t.Helper()
	if !isJSON(name) {
		at := 0
		for line := range bytes.Lines(text) {
			if json.Valid(line) && first(line) == '{' {
				all = append(all, [2]int{at, at + len(bytes.TrimRight(line, "\r\n"))})
			}
			at += len(line)
		}
		return all
	}
	from := 1
	if text[0] == '{' {
		from = bytes.Index(text, []byte(`"messages"`))
		from += 1 + bytes.IndexByte(text[from:], '[')
	}
	for d := (jsonLog{text: text, at: from}); d.next(" \t\r\n,") == '{'; {
		begin := d.at
		_, ok := d.value()
		require.True(t, ok)
		all = append(all, [2]int{begin, d.at})
	}
	return all
}

// saidIn returns all that a log says, in any order.
func saidIn(turns []chunker.Turn) (all []string) {
	for _, t := range turns {
		all = append(all, t.Text)
		for _, use := range t.Tools {
			all = append(all, use.Input, use.Output)
		}
	}
	return slices.DeleteFunc(all, func(text string) bool { return text == "" })
}

func readSpoilt(t *testing.T, dir, name, text string) (said []string, skipped map[string]int) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	f := NewFolder(FolderOptions{Path: path, Workspace: dir})
	found := list(t, f)
	require.Len(t, found.Documents, 1, "this is known as a log:\n%.2000s", text)
	content, err := f.Read(t.Context(), found.Documents[0], Position{})
	require.NoError(t, err)
	for reason := range content.Skipped {
		require.Positive(t, content.SkippedAt[reason], reason)
	}
	for _, u := range content.Unknown { // named, too
		require.Positive(t, u.Line, u.Kind)
		if content.Skipped == nil {
			content.Skipped = map[string]int{}
		}
		content.Skipped["unknown "+u.Kind] += u.Records
	}
	return saidIn(content.Turns), content.Skipped
}

func sum(counts map[string]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

// missing returns what of one list is not in a text of another.
func missing(want, got []string) (lost []string) {
	for _, text := range want {
		if !slices.ContainsFunc(got, func(g string) bool { return strings.Contains(g, text) }) {
			lost = append(lost, text)
		}
	}
	return lost
}

// both returns what is in both lists: a log that has lost its head may say more than before.
func both(a, b []string) (all []string) {
	return slices.DeleteFunc(slices.Clone(a), func(text string) bool { return len(missing([]string{text}, b)) > 0 })
}

// Of a log with one bad record, all other records are read, and if what the record said is lost,
// that is counted. This holds for all logs in testdata.
func TestSpoiltRecord(t *testing.T) {
	logs, err := filepath.Glob(filepath.Join("testdata", "*.json*"))
	require.NoError(t, err)
	for _, log := range logs {
		name := filepath.Base(log)
		found := list(t, NewFolder(FolderOptions{Path: log, Workspace: "testdata"}))
		require.Len(t, found.Documents, 1, log)
		f, _ := formatNamed(found.Documents[0].Format)
		if f.read != nil {
			continue // it has no records that one could spoil alone
		}
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(log)
			require.NoError(t, err)
			dir := t.TempDir()
			if f.owns != nil && !f.owns(name) {
				name = clineTask // a broken beginning may lack the mark of another name
			}
			whole, _ := readSpoilt(t, dir, name, string(text))
			readWithout := func(before, after string) (said []string, skipped int) {
				if !isJSON(name) {
					said, counts := readSpoilt(t, dir, name, before+after)
					return said, sum(counts)
				}
				said, counts := readSpoilt(t, dir, name, before+"null"+after)
				return said, sum(counts) - 1
			}
			type place struct{ begin, end int }
			known := map[place]func() ([]string, int){}
			without := func(before, after string) ([]string, int) {
				at := place{len(before), len(after)}
				if known[at] == nil {
					known[at] = sync.OnceValues(func() ([]string, int) { return readWithout(before, after) })
				}
				return known[at]()
			}
			records := recordsIn(t, name, text)
			require.NotEmpty(t, records)
			for i, at := range records {
				record, before := string(text[at[0]:at[1]]), string(text[:at[0]])
				for _, s := range spoilers {
					next, after := "", string(text[at[1]:])
					if s.two {
						if i+1 == len(records) {
							continue
						}
						next, after = string(text[at[1]:records[i+1][1]]), string(text[records[i+1][1]:])
					}
					got, skipped := readSpoilt(t, dir, name, before+s.spoil(record, next)+after)
					others, named := without(before, after)
					if s.two && !s.quiet { // only one of the two is spoilt
						others, _ = without(before, next+after)
					}
					lost := missing(whole, got)
					what := fmt.Sprintf("record %d with %s", i+1, s.name)
					if lost := missing(both(others, whole), got); !s.quiet { // else the record may replace another
						require.Empty(t, lost, "%s costs others, too", what)
					}
					require.True(t, s.repeats || s.quiet || len(missing(got, slices.Concat(whole, others))) == 0, "%s says something else: %q", what, missing(got, whole))
					if s.harmless {
						require.Empty(t, lost, what)
					} else if len(lost) > 0 && !s.quiet {
						require.Greater(t, sum(skipped), named, "%s is not named, though it lost %q", what, lost)
					}
				}
			}
		})
	}
}

// A message without content is named in each format.
func TestNoContent(t *testing.T) {
	for format, record := range map[string]string{
		"claude-code": `{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user"}}
{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","content":{"a":1}}}`,
		"codex":      `{"type":"response_item","payload":{"type":"message","role":"user","content":7}}`,
		"gemini-cli": `{"id":"1","timestamp":"2026-01-20T10:00:01.000Z","type":"gemini"}`,
		"openai": `{"role":"user","content":7}
{"role":"user","content":{"error":"timeout"}}`,
		"pi": `{"type":"message","message":{"role":"user"}}`,
	} {
		path := filepath.Join(t.TempDir(), "log.jsonl")
		write(t, path, record+"\n")
		content := readLog(t, path, format, Position{})
		require.Equal(t, map[string]int{noContent: 1 + strings.Count(record, "\n")}, content.Skipped, format)
		require.Empty(t, content.Turns)
	}
}

// A part of a message that has a wrong type costs only itself, and is named.
func TestPartOfAWrongType(t *testing.T) {
	for format, record := range map[string]string{
		"claude-code":       `{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","content":[{"type":"text","text":7},{"type":"text","text":"b"}]}}`,
		"claude-stream":     `{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{"role":"assistant","content":[{"type":"text","text":{}},{"type":"text","text":"b"}]}}`,
		"codex":             `{"type":"response_item","payload":{"type":"message","role":"user","content":[7,{"type":"input_text","text":"b"}]}}`,
		"cursor-transcript": `{"role":"assistant","message":{"content":[{"type":"text","text":[]},{"type":"text","text":"b"}]}}`,
		"openai":            `{"role":"user","name":7,"content":[true,{"type":"image_url","image_url":{"url":"x"},"text":7},"b"]}`,
		"pi":                `{"type":"message","message":{"role":"user","content":[{"type":"text","text":["a"]},{"type":"text","text":"b"}]}}`,
	} {
		path := filepath.Join(t.TempDir(), "log.jsonl")
		write(t, path, record+"\n")
		content := readLog(t, path, format, Position{})
		require.Equal(t, map[string]int{lostPart: 1}, content.Skipped, format)
		require.Len(t, content.Turns, 1, format)
		require.Equal(t, "b", content.Turns[0].Text, format)
		require.Empty(t, content.Turns[0].Speaker)
	}
}

// A message that Gemini CLI writes again does not lose what it had: the copy is broken, or old.
func TestBrokenCopyOfAMessage(t *testing.T) {
	first := `{"id":"1","timestamp":"2026-01-20T10:00:01Z","type":"gemini","content":"I look."}` + "\n"
	second := `{"id":"1","timestamp":"2026-01-20T10:00:01Z","type":"gemini","content":"I looked.","toolCalls":[{"id":"t","name":"read_file","args":{"path":"x"},"status":"success"}]}` + "\n"
	for log, want := range map[string][]string{
		first + second: {"I looked.", `{"path":"x"}`},
		first + strings.Replace(second, `"content":"I looked.",`, "", 1):     {"I look.", `{"path":"x"}`},
		first + strings.Replace(second, `"content":"I looked."`, `"c":0`, 1): {"I look.", `{"path":"x"}`},
		second + first: {"I look.", `{"path":"x"}`},
		second + strings.Replace(second, `"toolCalls":[`, `"toolCalls":[],"was":[`, 1): {"I looked.", `{"path":"x"}`},
	} {
		said, _ := readSpoilt(t, t.TempDir(), "log.jsonl", log)
		require.Equal(t, want, said, log)
	}
}

// What a subagent said stays its own, whatever names it.
func TestBrokenSubagent(t *testing.T) {
	for _, parent := range []string{`"a"`, "7", "true", "{}", "[]"} {
		path := filepath.Join(t.TempDir(), "log.jsonl")
		write(t, path, `{"type":"assistant","session_id":"s","parent_tool_use_id":`+parent+`,"message":{"role":"assistant","content":[{"type":"text","text":"a"}]}}`+"\n")
		require.Empty(t, readLog(t, path, "claude-stream", Position{}).Turns, parent)
	}
}

// A log of Qwen Code is known if fields of its first record are missing.
func TestBrokenBeginning(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "qwen-code.jsonl"))
	require.NoError(t, err)
	whole, _ := readSpoilt(t, t.TempDir(), "log.jsonl", string(text))
	for _, field := range []string{`"subtype": "session_source", `, `"cwd": "/src/shop", `} {
		require.Contains(t, string(text), field)
		said, _ := readSpoilt(t, t.TempDir(), "log.jsonl", strings.Replace(string(text), field, "", 1))
		require.Equal(t, whole, said, field)
	}
}

// Bytes that are not UTF-8 are named in a document, too, and a text of a wrong type beside calls.
func TestNamedLosses(t *testing.T) {
	for name, tt := range map[string]struct{ log, reason, said string }{
		"a.json": {`{"messages":[{"role":"user","content":"a` + "\xff" + `b"},{"role":"user","content":"c"}]}`, notUTF8, "c"},
		"b.jsonl": {`{"sessionId":"s","projectHash":"p","startTime":"2026-01-20T10:00:00Z"}
{"id":"1","timestamp":"2026-01-20T10:00:01Z","type":"gemini","content":{"a":1},"toolCalls":[{"id":"t","name":"read_file","args":{"path":"x"},"status":"success"}]}
`, noContent, `{"path":"x"}`},
	} {
		said, skipped := readSpoilt(t, t.TempDir(), name, tt.log)
		require.Equal(t, map[string]int{tt.reason: 1}, skipped, name)
		require.Contains(t, said, tt.said, name)
	}
}
