package core_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

func (m *memory) remembering() {
	m.options.Forgotten = filepath.Join(filepath.Dir(m.options.Folder), "forgotten.json")
}

func found(t *testing.T, m *core.Manager, query, words string) bool {
	t.Helper()
	return slices.ContainsFunc(search(t, m, query).Hits, func(h core.MemoryHit) bool { return strings.Contains(h.Text, words) })
}

// A forgotten chunk stays out of rebuilt indexes and neighbours.
func TestForgetFromTheIndex(t *testing.T) {
	mem := newMemory(t)
	mem.remembering()
	mem.write("chat.jsonl", `{"role":"user","content":"the zebra lives in the red house"}`+"\n"+`{"role":"assistant","content":"I will remember where the animal lives."}`+"\n")
	m := mem.open()
	index(t, m)
	chunks, err := m.Chunks(t.Context(), "notes/chat.jsonl")
	require.NoError(t, err)
	require.Len(t, chunks, 2)
	hit, err := m.Find(t.Context(), chunks[0].ID)
	require.NoError(t, err)
	require.Equal(t, chunks[0], hit)
	require.True(t, found(t, m, "zebra", "zebra"))

	gone, err := m.Forget(t.Context(), "notes/chat.jsonl", chunks[0].ID)
	require.NoError(t, err)
	require.Equal(t, 1, gone.Chunks)
	require.False(t, found(t, m, "zebra", "zebra"))
	require.True(t, found(t, m, "animal", "animal"))
	result, err := m.Search(t.Context(), "zebra red house", core.SearchOptions{Explain: true})
	require.NoError(t, err)
	for _, hit := range result.Hits {
		require.Zero(t, hit.Explain.BM25, "nor by what was said before it: %s", hit.Source)
	}
	_, err = m.Index(t.Context(), core.IndexOptions{Rebuild: true})
	require.NoError(t, err)
	require.False(t, found(t, m, "zebra", "zebra"), "for good")

	gone, err = m.Forget(t.Context(), "notes/staging.md")
	require.NoError(t, err)
	require.Equal(t, 2, gone.Chunks)
	require.False(t, found(t, m, "staging", "staging"))
	n, err := m.Remember(t.Context(), "notes/staging.md")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.True(t, found(t, m, "staging", "staging"))

	mem.write("chat.jsonl", `{"role":"user","content":"the zebra lives in the red house"}`+"\n"+`{"role":"assistant","content":"I will remember where the animal lives."}`+"\n"+
		`{"role":"user","content":"the zebra lives in the blue house now"}`+"\n")
	index(t, m)
	require.True(t, found(t, m, "zebra", "blue house"), "what is said anew is something else")
	require.False(t, found(t, m, "zebra", "red house"))
	options := mem.options
	mem.options.Embedder = nil
	otherwise := mem.open()
	index(t, otherwise)
	require.False(t, found(t, otherwise, "zebra", "red house"), "also if all is made anew with other settings")
	require.NoError(t, otherwise.Close())
	mem.options = options
	index(t, m)

	for _, tt := range []struct {
		path string
		ids  []string
	}{{"notes/none.md", nil}, {"notes/team.md", []string{"none"}}} {
		_, err := m.Forget(t.Context(), tt.path, tt.ids...)
		require.ErrorIs(t, err, core.ErrNotIndexed)
	}
	_, err = m.Remember(t.Context(), "notes/team.md")
	require.ErrorIs(t, err, core.ErrNotForgotten)
	_, err = m.Find(t.Context(), "none")
	require.ErrorIs(t, err, core.ErrNotIndexed)
	require.NoError(t, os.WriteFile(mem.options.Forgotten, []byte(`{"forgotten": [`), 0o600))
	_, err = m.Index(t.Context(), core.IndexOptions{Rebuild: true})
	require.ErrorContains(t, err, "what is forgotten cannot be read", "a damaged list brings nothing back")
	require.False(t, found(t, m, "zebra", "red house"))
	require.NoError(t, m.Close())

	mem.options.Forgotten = ""
	m = mem.open()
	_, err = m.Forget(t.Context(), "notes/team.md")
	require.ErrorIs(t, err, core.ErrNoList)
	mem.options.Folder += "-none"
	empty := mem.open()
	_, err = empty.Find(t.Context(), "x")
	require.ErrorIs(t, err, core.ErrNotIndexed)
}

func TestSupersededIsNotFound(t *testing.T) {
	mem := newMemory(t)
	mem.write("port.md", "# Port\n\n- ~~The zebra port is 1111~~ (superseded 2026-11-21)\n- The zebra port is 2222\n\n~~A paragraph about the old\nzebra house.~~\n\nHalf of ~~this~~ zebra holds.\n\n```\n~~zebra code~~\n```\n")
	m := mem.open()
	index(t, m)
	require.True(t, found(t, m, "zebra port", "2222"))
	require.True(t, found(t, m, "zebra", "~~this~~"))
	require.True(t, found(t, m, "zebra", "~~zebra code~~"))
	for _, gone := range []string{"1111", "paragraph"} {
		require.False(t, found(t, m, "zebra port old house", gone), gone)
	}
	hits := search(t, m, "zebra code").Hits
	require.Equal(t, "notes/port.md", hits[0].Path)
	require.Contains(t, hits[0].Source, "L13", "lines are those of the file")
}

// Chunks around a forgotten turn do not repeat it.
func TestForgottenTurnsAreNotRepeated(t *testing.T) {
	mem := newMemory(t)
	mem.remembering()
	var long strings.Builder
	for i := range 120 {
		fmt.Fprintf(&long, "Sentence number %d talks about the harbour and the ferry in month %d. ", i, i)
	}
	mem.write("chat.jsonl", `{"role":"user","content":"first question"}`+"\n"+`{"role":"assistant","content":"the codename is zanzibar, please do it"}`+"\n"+
		`{"role":"user","content":"`+long.String()+`"}`+"\n"+`{"role":"assistant","content":"yes please do it now"}`+"\n"+`{"role":"user","content":"and the other?"}`+"\n"+`{"role":"assistant","content":"yes please do it now"}`+"\n")
	m := mem.open()
	index(t, m)
	chunks, err := m.Chunks(t.Context(), "notes/chat.jsonl")
	require.NoError(t, err)
	require.Greater(t, len(chunks), 7, "the long turn is cut")
	at := func(line int) core.MemoryHit {
		return chunks[slices.IndexFunc(chunks, func(c core.MemoryHit) bool { return c.StartLine == line })]
	}
	gone, err := m.Forget(t.Context(), "notes/chat.jsonl", at(2).ID, at(4).ID)
	require.NoError(t, err)
	require.Equal(t, 2, gone.Chunks)
	result, err := m.Search(t.Context(), "zanzibar", core.SearchOptions{Explain: true, Limit: 50})
	require.NoError(t, err)
	for _, hit := range result.Hits {
		require.Zero(t, hit.Explain.BM25, hit.Source)
	}
	left, err := m.Chunks(t.Context(), "notes/chat.jsonl")
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(left, func(c core.MemoryHit) bool { return c.StartLine == 6 }), "the same words elsewhere are another turn")
	gone, err = m.Forget(t.Context(), "notes/chat.jsonl", at(3).ID)
	require.NoError(t, err)
	require.Greater(t, gone.Chunks, 3, "a turn is forgotten whole")
}

// A short turn stays forgotten in a log that goes on.
func TestForgottenInALogThatGoesOn(t *testing.T) {
	mem := newMemory(t)
	mem.remembering()
	said := []string{"user: Never use quaggafern.", "assistant: Ok."}
	mem.write("chat.jsonl", agentLog(said...))
	m := mem.open()
	index(t, m)
	require.True(t, found(t, m, "quaggafern", "quaggafern"))
	_, err := m.ForgetLines(t.Context(), chatLog, 1, 1)
	require.NoError(t, err)
	mem.write("chat.jsonl", agentLog(append(said, "user: Which compiler do we need for the small board with the sensors?", "assistant: The one in the container.")...))
	for _, rebuild := range []bool{false, true} {
		_, err = m.Index(t.Context(), core.IndexOptions{Rebuild: rebuild})
		require.NoError(t, err)
		require.False(t, found(t, m, "quaggafern", "quaggafern"))
		require.Empty(t, mem.filesWith("quaggafern"))
	}
}

// What answered a forgotten turn is not taken for the answer to the turn before it, also if the log
// goes on there.
func TestAnswersToAForgottenTurn(t *testing.T) {
	mem := newMemory(t)
	mem.remembering()
	said := []string{"run: ls → crates.txt", "user: Where do the gulls of the harbour sleep in winter, and who feeds them?", "assistant: The gulls sleep on the roof of the old customs house, and the widow of the smith feeds them.",
		"user: How do I count the quaggafern crates before the ship leaves the quay?", "assistant: You count the crates at each departure, and write the number on the board of the office."}
	const later = "assistant: The ledger of the crates lies in the drawer below the board, and the clerk has its key."
	mem.write("chat.jsonl", agentLog(said...))
	m := mem.open()
	index(t, m)
	answered := func(line int) string {
		chunks, err := m.Chunks(t.Context(), chatLog)
		require.NoError(t, err)
		i := slices.IndexFunc(chunks, func(c core.MemoryHit) bool { return c.StartLine == line })
		require.GreaterOrEqual(t, i, 0)
		return chunks[i].Request
	}
	require.Contains(t, answered(6), "quaggafern")
	_, err := m.ForgetLines(t.Context(), chatLog, 5, 5)
	require.NoError(t, err)
	require.Contains(t, answered(4), "gulls")
	require.Empty(t, answered(6))
	mem.write("chat.jsonl", agentLog(append(said, later)...))
	index(t, m)
	require.Empty(t, answered(7))
}

// One JSON document may be one line, rewritten with each message. Only the forgotten part stays
// out.
func TestForgetInJSONDocuments(t *testing.T) {
	for name, indent := range map[string]string{"one line": "", "many lines": " "} {
		t.Run(name, func(t *testing.T) {
			mem := newMemory(t)
			mem.remembering()
			type message struct {
				Role    string `json:"role"`
				Content string `json:"content"`
			}
			said := []message{{"user", "the codename is zanzibar, keep it to yourself"}, {"assistant", "the quagga knows the harbour office"}, {"user", "the ferry leaves from the northern quay"}}
			write := func() {
				text, err := json.MarshalIndent(said, "", indent)
				if indent == "" {
					text, err = json.Marshal(said)
				}
				require.NoError(t, err)
				mem.write("chat.json", string(text))
			}
			write()
			m := mem.open()
			index(t, m)
			chunks, err := m.Chunks(t.Context(), "notes/chat.json")
			require.NoError(t, err)
			require.Len(t, chunks, 3)
			secret := slices.IndexFunc(chunks, func(c core.MemoryHit) bool { return strings.Contains(c.Text, "zanzibar") })
			gone, err := m.Forget(t.Context(), "notes/chat.json", chunks[secret].ID)
			require.NoError(t, err)
			require.Equal(t, 1, gone.Chunks)
			require.False(t, found(t, m, "zanzibar", "zanzibar"))
			require.True(t, found(t, m, "quagga", "quagga"))
			said = append(append([]message{{"user", "the zeppelin hangar opens at noon"}}, said...), message{"user", "the telescope dome is new"})
			write()
			index(t, m)
			for _, words := range []string{"quagga", "ferry", "zeppelin", "telescope"} {
				require.True(t, found(t, m, words, words), words)
			}
			require.False(t, found(t, m, "zanzibar", "zanzibar"), "it is in another line now")
		})
	}
}

// What is forgotten is forgotten in all memories with the same list, wherever it is said there; one
// that was not indexed since leaves out what it has not read again.
func TestForgottenElsewhere(t *testing.T) {
	const pilot = "Always call the harbour pilot Quillfeather before you deploy, since he wants to be paid."
	mem, other := newMemory(t), newMemory(t)
	mem.remembering()
	other.options.Forgotten, other.options.Name = mem.options.Forgotten, "other"
	mem.write("chat.jsonl", agentLog("user: "+pilot, "assistant: I will call the pilot.", "user: From now on use graphite for the hinges of the gate."))
	other.write("copy.jsonl", agentLog("user: hello", "user: "+pilot, "assistant: I will call the pilot.", "user: From now on use graphite for the hinges of the gate."))
	other.write("note.md", "# Note\n\nThe ferry leaves at eight from the northern quay.\n\n> "+pilot+"\n")
	m := mem.open()
	index(t, m)
	other.options.Freshness = -1
	o := other.open()
	index(t, o)
	require.True(t, found(t, o, "harbour pilot", "Quillfeather"))

	_, err := m.ForgetLines(t.Context(), chatLog, 1, 1)
	require.NoError(t, err)
	require.False(t, found(t, m, "harbour pilot", "Quillfeather"))
	require.False(t, found(t, o, "harbour pilot", "Quillfeather"), "not even before it is read again")
	said, err := o.Said(t.Context())
	require.NoError(t, err)
	require.Empty(t, said)
	index(t, o)
	require.False(t, found(t, o, "harbour pilot", "Quillfeather"))
	require.Empty(t, other.filesWith("Quillfeather"), "a run removes it from the disk")
	require.True(t, found(t, o, "ferry", "ferry leaves"))
	require.Contains(t, statements(t, o, "graphite"), "From now on use graphite for the hinges of the gate.")
	require.NotContains(t, statements(t, o, "pilot"), pilot)
	hidden, err := o.Hidden(t.Context(), "notes/note.md")
	require.NoError(t, err)
	require.Equal(t, 1, hidden)

	// A log goes on, is copied and named anew.
	mem.write("chat.jsonl", agentLog("user: "+pilot, "assistant: I will call the pilot.", "user: From now on use graphite for the hinges of the gate.", "user: From now on ask the miller before you plane anything."))
	mem.write("fork.jsonl", agentLog("user: what is new?", "user: "+pilot, "user: From now on ask the miller before you plane anything."))
	index(t, m)
	require.False(t, found(t, m, "harbour pilot", "Quillfeather"))
	require.Empty(t, mem.filesWith("Quillfeather"))
	require.Contains(t, statements(t, m, "miller"), "From now on ask the miller before you plane anything.")

	// A document that is forgotten by its name says nothing more, elsewhere only what it said.
	_, err = o.Forget(t.Context(), "notes/note.md")
	require.NoError(t, err)
	other.write("note.md", "# Note\n\nThe ferry leaves at eight from the northern quay.\n\nThe zebra lives in the red house beside the office.\n")
	other.write("renamed.md", "# Note\n\nThe ferry leaves at eight from the northern quay.\n\nThe zebra lives in the blue house beside the office.\n")
	index(t, o)
	require.False(t, found(t, o, "zebra", "red house"))
	require.True(t, found(t, o, "zebra", "blue house"))
	require.False(t, found(t, o, "ferry", "ferry leaves"))

	// Whoever takes it back finds the copies, too.
	_, err = m.Remember(t.Context(), chatLog)
	require.NoError(t, err)
	index(t, o)
	require.True(t, found(t, m, "harbour pilot", "Quillfeather"))
	require.True(t, found(t, o, "harbour pilot", "Quillfeather"))

	// A memory of which too much is not read again says that rather than nothing.
	for i := range 120 {
		other.write(fmt.Sprintf("many/%d.md", i), fmt.Sprintf("# %d\n\nThe lamp number %d hangs at the quay.\n", i, i))
	}
	index(t, o)
	_, err = m.ForgetLines(t.Context(), chatLog, 1, 1)
	require.NoError(t, err)
	result := search(t, o, "lamp")
	require.Empty(t, result.Hits)
	require.Contains(t, result.Stale.Reason, "something was forgotten")
	index(t, o)
	require.NotEmpty(t, search(t, o, "lamp").Hits)
}
