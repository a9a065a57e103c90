package source

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func peek(text string) fields {
	s := skimmer{in: bufio.NewReaderSize(strings.NewReader(text), 16)} // the smallest that there is
	return s.record()
}

func TestFieldsOfARecord(t *testing.T) {
	for text, want := range map[string]fields{
		`{"a":"x","b":{"c":1.5,"d":[true,null]},"e":null}`:       {"": "{", "a": "x", "b": "{", "b.c": "1.5", "b.d": "[", "b.d[]": "bool", "e": ""},
		`[{"role":"user"},{"role":"assistant","x":1}]`:           {"": "[", "[]": "{", "[].role": "user"},
		` { "a" : "\"\\\u00e4\ud83d\ude00" } `:                   {"": "{", "a": "\"\\ä😀"},
		`{"a":{"b":{"c":{"d":"deep"}}},"z":"behind"}`:            {"": "{", "a": "{", "a.b": "{", "a.b.c": "{", "z": "behind"},
		`{"messages":[{"content":[[{"x":{"y":[1]}}]],"r":"u"}]}`: {"": "{", "messages": "[", "messages[]": "{", "messages[].content": "[", "messages[].r": "u"},
		`{"a":1,"b":tru`:        {"": "{", "a": "1"},
		`{"a":"cut`:             {"": "{"},
		`{"a":"x" "b":"y"}`:     {"": "{", "a": "x"},
		`{"a":"x",}`:            {"": "{", "a": "x"},
		`{"a":"first","a":"2"}`: {"": "{", "a": "2"},
		`{]`:                    {"": "{"},
		`"text"`:                {"": "text"},
		``:                      {},
	} {
		require.Equal(t, want, peek(text), text)
	}
	require.Len(t, peek(`{"a":"` + strings.Repeat("x", 1<<20) + `","cwd":"/w"}`)["a"], maxPeekText)
	require.Equal(t, "/w", peek(`{"a":"` + strings.Repeat(`\u00e4`, 1<<16) + `","cwd":"/w"}`)["cwd"])
	require.Equal(t, "/w", peek(`{"` + strings.Repeat("k", 1<<16) + `":{},"cwd":"/w"}`)["cwd"])
}

// What encoding/json reads of a record, a skimmer reads, too.
func FuzzFieldsOfARecord(f *testing.F) {
	for _, seed := range []string{`{"cwd":"/w","message":{"content":[{"type":"image","data":"AAAA"}]}}`, `{"cwd":"\u002fw\\","x":[[[[]]]]}`, "{\"cwd\":\"a\"\n}", `{"CWD":1,"cwd":null}`, `[1,{"cwd":"x"}]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := peek(text)
		var want map[string]json.RawMessage
		if len(text) > maxPeekName || json.Unmarshal([]byte(text), &want) != nil || want == nil {
			return
		}
		for name, raw := range want {
			var value any
			require.NoError(t, json.Unmarshal(raw, &value))
			kept, has := got[name]
			if strings.ContainsAny(name, ".[]") || name == "" { // a name may also be a path
				continue
			}
			require.True(t, has, "%q of %q", name, text)
			if s, ok := value.(string); ok {
				require.Equal(t, s, kept)
			}
		}
	})
}

// A log's working directory is found behind pictures of any size, in little memory.
func TestWorkingDirectoryBehindALongText(t *testing.T) {
	const size = 64 << 20
	for name, record := range map[string][2]string{
		"message before type": {`{"parentUuid":null,"message":{"role":"user","content":[{"type":"image","source":{"data":"`, `"}}]},"type":"user","uuid":"u","cwd":"/w/app","sessionId":"s"}` + "\n"},
		"escapes":             {`{"type":"user","message":{"role":"user","content":"\"`, `\\"},"uuid":"u","cwd":"/w/app","sessionId":"s"}` + "\n"},
		"later record":        {`{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","content":"`, `"}}` + "\n" + claudeLog("/w/app")},
	} {
		t.Run(name, func(t *testing.T) {
			log := io.MultiReader(strings.NewReader(record[0]), io.LimitReader(letters{}, size), strings.NewReader(record[1]))
			require.Less(t, allocated(func() {
				require.Equal(t, sniffed{format: "claude-code", cwd: "/w/app"}, sniff(t.Context(), bufio.NewReaderSize(log, headBytes), "log.jsonl", true))
			}), uint64(4<<20))
		})
	}
}

// allocated returns the bytes that a function allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// letters are without end.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'A'
	}
	return len(p), nil
}

// A log that names no folder is not read as a whole.
func TestLogWithoutWorkingDirectoryIsNotReadToItsEnd(t *testing.T) {
	line := `{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","content":"hi"}}` + "\n"
	log := strings.NewReader(strings.Repeat(line, 1<<16))
	require.Equal(t, sniffed{format: "claude-code"}, sniff(t.Context(), bufio.NewReaderSize(log, headBytes), "log.jsonl", true))
	require.Greater(t, log.Len(), 3<<20)
	for _, records := range []int{sniffRecords - 1, 3 * sniffRecords} {
		found := sniff(t.Context(), bufio.NewReaderSize(strings.NewReader(strings.Repeat(line, records)+claudeLog("/w")), headBytes), "log.jsonl", true)
		require.Equal(t, "/w", found.cwd, records)
	}
}

// Nested values are not recorded: a small file once took a gigabyte.
func TestDeepValues(t *testing.T) {
	deep := strings.Repeat("[", 32_000)
	var many strings.Builder
	many.WriteString("{")
	for i := range 32_000 {
		fmt.Fprintf(&many, `"%d":1,`, i)
	}
	for _, text := range []string{deep, `["role",` + deep, `{"a":` + strings.Repeat(`{"a":`, 6_000), many.String()} {
		require.Less(t, allocated(func() { peek(text) }), uint64(8<<20), "%.20s", text)
	}
}
