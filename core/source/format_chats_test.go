package source

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// An archive is read as it was sent, in all its files, and only if it is named.
func TestExportArchive(t *testing.T) {
	log, err := os.ReadFile(filepath.Join("testdata", "chatgpt.json"))
	require.NoError(t, err)
	dir := tree(t, map[string]string{"conversations.json": string(log)})
	path := filepath.Join(dir, "export.zip")
	file, err := os.Create(path)
	require.NoError(t, err)
	archive := zip.NewWriter(file)
	for name, text := range map[string]string{
		"chat.html": "<p>", "user.json": "{}", "conversations-001.json": strings.ReplaceAll(string(log), "conv-1", "conv-2"), "conversations-000.json": string(log),
	} {
		w, err := archive.Create(name)
		require.NoError(t, err)
		_, err = w.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	require.NoError(t, file.Close())

	found := list(t, NewFolder(FolderOptions{Path: dir}))
	require.Empty(t, found.Documents)
	require.Len(t, found.Skipped, 1)
	require.Contains(t, found.Skipped[0].Reason, "name the file")

	f := NewFolder(FolderOptions{Path: path})
	doc := list(t, f).Documents[0]
	require.Equal(t, "chatgpt", doc.Format)
	content, err := f.Read(t.Context(), doc, Position{})
	require.NoError(t, err)
	require.Equal(t, map[string]int{"a conversation without a current branch": 2}, content.Skipped)
	alone := NewFolder(FolderOptions{Path: filepath.Join(dir, "conversations.json")})
	once, err := alone.Read(t.Context(), list(t, alone).Documents[0], Position{})
	require.NoError(t, err)
	require.Len(t, content.Turns, 2*len(once.Turns))
	require.Equal(t, "conv-1", content.Turns[0].Session)
	require.Equal(t, "conv-2", content.Turns[len(once.Turns)].Session)
	for i, turn := range content.Turns {
		require.Equal(t, i+1, turn.Line)
	}
}

func TestBrokenArchive(t *testing.T) {
	dir := tree(t, map[string]string{"a.zip": "PK no archive", "empty.zip": ""})
	for _, name := range []string{"a.zip", "empty.zip"} {
		found := list(t, NewFolder(FolderOptions{Path: filepath.Join(dir, name)}))
		require.Empty(t, found.Documents)
		require.Len(t, found.Skipped, 1)
	}
}

// conversationsOf returns conversations of an export; each says who it is.
func conversationsOf(format string) (all []string) {
	for n := range 4 {
		text := fmt.Sprintf(`{"uuid":"c%d","name":"a {\"uuid\":1}","created_at":"2026-03-01T09:00:00Z","chat_messages":[`+
			`{"uuid":"m1","sender":"human","text":"","content":[{"type":"text","text":"question %d"}]},`+
			`{"uuid":"m2","sender":"assistant","text":"","content":[{"type":"text","text":"answer %d, {\"chat_messages\": [ and \\"}]}]}`, n, n, n)
		if format == "chatgpt" {
			text = fmt.Sprintf(`{"title":"a {\"mapping\":1}","create_time":1787220000.5,"mapping":{"root":{"id":"root","parent":null,"children":["q"],"message":null},`+
				`"q":{"id":"q","parent":"root","children":["a"],"message":{"id":"q","author":{"role":"user"},"create_time":1787220001,"content":{"content_type":"text","parts":["question %d"]},"recipient":"all"}},`+
				`"a":{"id":"a","parent":"q","children":[],"message":{"id":"a","author":{"role":"assistant"},"create_time":1787220002,"content":{"content_type":"text","parts":["answer %d, {\"mapping\": {"]},"recipient":"all"}}},`+
				`"current_node":"a","conversation_id":"c%d"}`, n, n, n)
		}
		all = append(all, text)
	}
	return all
}

// readExported returns who said what in which conversation.
func readExported(t *testing.T, text string) (said []string, skipped map[string]int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "conversations.json")
	write(t, path, text)
	f := NewFolder(FolderOptions{Path: path})
	found := list(t, f)
	require.Len(t, found.Documents, 1, "%.300s", text)
	content, err := f.Read(t.Context(), found.Documents[0], Position{})
	require.NoError(t, err)
	for _, turn := range content.Turns {
		said = append(said, turn.Session+" "+turn.Role+" "+turn.Text)
	}
	return said, content.Skipped
}

// A conversation of an export that is spoilt, in whatever way, costs no other, and is named.
func TestSpoiltConversation(t *testing.T) {
	for _, format := range []string{"chatgpt", "claude-ai"} {
		all := conversationsOf(format)
		whole, skipped := readExported(t, "["+strings.Join(all, ",")+"]")
		require.Len(t, whole, 2*len(all))
		require.Empty(t, skipped)
		for _, between := range []string{",", ",\r\n  "} {
			for i := range all {
				for _, s := range spoilers {
					what := fmt.Sprintf("%s, conversation %d with %s", format, i+1, s.name)
					parts, next := slices.Clone(all), ""
					if s.two {
						if i+1 == len(all) {
							continue
						}
						next = between + all[i+1]
						parts = slices.Delete(parts, i+1, i+2)
					}
					parts[i] = s.spoil(all[i], next)
					said, skipped := readExported(t, "["+strings.Join(parts, between)+"]\n")
					lost := missing(whole, said)
					for _, text := range lost {
						require.True(t, strings.HasPrefix(text, fmt.Sprintf("c%d ", i)) && !s.harmless, "%s costs %q", what, text)
					}
					require.Empty(t, missing(said, whole), what)
					if len(lost) > 0 || len(said) != len(whole) && !s.repeats {
						require.NotEmpty(t, skipped, what)
					}
				}
			}
		}
	}
}

// Each byte that a conversation can be cut off at, and each that can be taken out, costs at most
// that conversation; its number and place are said.
func TestConversationCutAnywhere(t *testing.T) {
	for _, format := range []string{"chatgpt", "claude-ai"} {
		all := conversationsOf(format)
		place := len(all[0]) + 2
		whole, _ := readExported(t, "["+strings.Join([]string{all[0], all[2], all[3]}, ",")+"]")
		for at := 1; at < len(all[1]); at++ {
			for _, spoilt := range []string{all[1][:at], all[1][:at-1] + all[1][at:]} {
				said, skipped := readExported(t, "["+strings.Join([]string{all[0], spoilt, all[2], all[3]}, ",")+"]")
				others := slices.DeleteFunc(slices.Clone(said), func(text string) bool { return !slices.Contains(whole, text) })
				require.Len(t, others, 6, "%q: %v", spoilt, said)
				if !json.Valid([]byte(spoilt)) {
					require.Equal(t, others, said, spoilt)
					require.Contains(t, skipped, fmt.Sprintf("conversation 2, at byte %d, is broken", place), "%q: %v", spoilt, skipped)
				}
			}
		}
	}
}

// Of a conversation with a part of a wrong type, the rest is read, and that is named.
func TestSpoiltMessage(t *testing.T) {
	all := conversationsOf("chatgpt")
	for old, spoilt := range map[string]string{
		`"q":{"id":"q","parent":"root"`:                               `"q":7,"was":{"id":"q","parent":"root"`,
		`"author":{"role":"user"}`:                                    `"author":"user"`,
		`"content":{"content_type":"text","parts":["question 1"]}`:    `"content":[]`,
		`"parts":["question 1"]`:                                      `"parts":"question 1"`,
		`{"id":"q","author":{"role":"user"},"create_time":1787220001`: `{"id":"q","was":1`,
	} {
		require.Contains(t, all[1], old)
		said, skipped := readExported(t, "["+all[0]+","+strings.Replace(all[1], old, spoilt, 1)+","+all[2]+"]")
		require.Len(t, said, 5, spoilt)
		require.Equal(t, `c1 assistant answer 1, {"mapping": {`, said[2], spoilt)
		require.NotEmpty(t, skipped, spoilt)
	}
	all = conversationsOf("claude-ai")
	for _, spoilt := range []string{`7`, `{"uuid":"m1","sender":7,"text":"question 1"}`, `{"uuid":"m1","sender":"human","content":7}`, `{}`, `null`} {
		begin := strings.Index(all[1], `{"uuid":"m1"`)
		end := strings.Index(all[1], `,{"uuid":"m2"`)
		said, skipped := readExported(t, "["+all[0]+","+all[1][:begin]+spoilt+all[1][end:]+","+all[2]+"]")
		require.Len(t, said, 5, spoilt)
		require.NotEmpty(t, skipped, spoilt)
	}
}

// Of many broken conversations the first are named, also if each takes in all that follow.
func TestManyBrokenConversations(t *testing.T) {
	var text strings.Builder
	all := conversationsOf("chatgpt")
	for range 300 {
		text.WriteString(`,{"title":"x","create_time":1,"mapping":{"a":[1,` + "\n" + all[0])
	}
	said, skipped := readExported(t, "["+text.String()[1:]+"]")
	require.Len(t, said, 600)
	require.Equal(t, 300-maxNamedElements, skipped["further conversations that cannot be read"])

	said, skipped = readExported(t, "["+all[0]+strings.Repeat(`,{"title":"x","mapping":{},"create_time":}`, 50)+","+all[1]+"]")
	require.Len(t, said, 4)
	require.NotEmpty(t, skipped)
}

// What elements gives are objects of its text, in their order, and all of an array that is
// whole.
func FuzzElements(f *testing.F) {
	f.Add(`[{"a":1,"b":2},{"a":"{\"a\":1,\"b\":2}","b":[{"a":[],"b":{}}]}]`, 3)
	f.Add(`[{"a":1,{"a":2,"b":"x},{"a":3,"b":4}]`, 1)
	f.Add("\xef\xbb\xbf[null,7,\"{\x00\",{\"b\":1,\"a\":[1,", 2)
	f.Add("\xef\xbbx,[{\"a\":1,\"b\":tru},{\"a\":{\"b\":0,\"a\":1},\"b\":\"{\"a", 2)
	f.Fuzz(func(t *testing.T, text string, size int) {
		var got []json.RawMessage
		last := int64(-1)
		var in io.Reader = strings.NewReader(text)
		if size%2 == 0 {
			in = iotest.OneByteReader(in)
		}
		e := elements{marks: []string{`"a"`, `"b"`}, lose: func(int, int64, string) {}}
		e.take = func(_ int, at int64, value []byte) {
			got = append(got, slices.Clone(value))
			if at <= last || value[0] != '{' {
				t.Fatalf("at %d, after %d: %q", at, last, value)
			}
			if last = at; !strings.HasPrefix(text[at:], string(value)) {
				t.Fatalf("at %d: %q, which is not there", at, value)
			}
		}
		if err := e.read(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		var all []json.RawMessage
		if json.Unmarshal([]byte(text), &all) != nil {
			return
		}
		if slices.ContainsFunc(all, func(value json.RawMessage) bool { return value[0] == '[' }) {
			return
		}
		all = slices.DeleteFunc(all, func(value json.RawMessage) bool { return value[0] != '{' })
		if !slices.EqualFunc(all, got, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Errorf("%q gives %q, want %q", text, got, all)
		}
	})
}
