package core_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/minilm"
)

// sessions are a memory of session folders, beside a folder of other files.
type sessions struct {
	t      *testing.T
	folder string
	*core.Manager
}

// newSessions opens a memory of sessions with files below the folder of sessions, and makes its
// index. Those whose names begin with "noted-" are of agents. change may be nil.
func newSessions(t *testing.T, files map[string]string, change func(*core.Options)) sessions {
	t.Helper()
	dir := t.TempDir()
	s := sessions{t: t, folder: filepath.Join(dir, "sessions")}
	for name, text := range files {
		s.write(name, text)
	}
	options := core.Options{Folder: filepath.Join(dir, "index"), Engine: engineNamed(defaultEngine), Embedder: minilm.New(), Freshness: time.Minute, Sources: []source.Source{
		source.NewFolder(source.FolderOptions{Path: s.folder, Name: "session:", Sessions: true, Optional: true, Exclude: []string{"overview.md"},
			OfAgent: func(session string) bool { return strings.HasPrefix(session, "noted-") }}),
		source.NewFolder(source.FolderOptions{Path: filepath.Join(dir, "other"), Workspace: filepath.Join(dir, "other"), Optional: true}),
	}}
	if change != nil {
		change(&options)
	}
	m, err := core.Open(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	s.Manager = m
	_, err = m.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)
	return s
}

// write writes a file below the folder of sessions.
func (s sessions) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.folder, filepath.FromSlash(name))
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o600))
}

// say appends a message to a session's own log.
func (s sessions) say(session, role, text string) {
	s.t.Helper()
	path := filepath.Join(s.folder, session, "messages.jsonl")
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(s.t, err)
	_, err = file.WriteString(messageLine(role, text))
	require.NoError(s.t, err)
	require.NoError(s.t, file.Close())
}

func messageLine(role, text string) string {
	line, _ := json.Marshal(map[string]string{"role": role, "content": text, "timestamp": "2026-02-24T12:00:00Z"})
	return string(line) + "\n"
}

// recall searches sessions.
func (s sessions) recall(query string, o core.SearchOptions) []core.MemoryHit {
	s.t.Helper()
	o.Sessions = true
	result, err := s.Search(s.t.Context(), query, o)
	require.NoError(s.t, err)
	return result.Hits
}

func cited(hits []core.MemoryHit) []string {
	all := []string{}
	for _, h := range hits {
		all = append(all, h.Source)
	}
	return all
}

const authNote = "# Login / SSO\n\n<!--\nMETA:\ncreated: 2024-01-15T10:30:00Z\nkeywords: [\"login\", \"jwt\"]\n-->\n\n## Why (and why not)\n\nThe authentication flow goes\nthrough `retry(() -> call())`.\n\n## Last ##\n<!-- the end -->\n"

// A search of sessions finds any characters as they are written, and parts of words.
func TestRecallOfWhatIsWritten(t *testing.T) {
	said := ""
	for _, m := range []string{"user: please write map(() -> 1) again", "assistant: it returns what Auth returned", "user: C++ and c, -v and --verbose, 100% wide", "user: the author of max_retry_count"} {
		role, text, _ := strings.Cut(m, ": ")
		said += messageLine(role, text)
	}
	s := newSessions(t, map[string]string{"s1/messages.jsonl": said, "s1/working-memory/detail/auth.md": authNote}, nil)
	message := func(line int) string { return fmt.Sprintf("session:s1/messages.jsonl#L%d", line) }
	const note = "session:s1/working-memory/detail/auth.md#L1-L15"
	for _, tt := range []struct {
		query string
		exact bool
		kind  string
		want  []string
	}{
		{"uthenti", false, "", []string{note}},
		{"() ->", false, "", []string{message(1), note}},
		{"auth", false, "", []string{message(2), message(4), note}},
		{"retur", false, "", []string{message(2)}},
		{"C++", false, "", []string{message(3)}},
		{"100%", false, "", []string{message(3)}},
		{"x_retry", false, "", []string{message(4)}},
		{"O / SS", false, "", nil},
		{"n / SS", false, "", []string{note}},
		{"# Why (and", false, "", []string{note}},
		{"2024-01-15T10", false, "", []string{note}},
		{"the end -->", false, "", []string{note}},
		{"-v", false, source.KindMarkdown, nil},
		{"AUTH", true, "", []string{message(2), message(4), note}},
		{"returns what", true, "", []string{message(2)}},
		{"what returns", true, "", nil},
		{" c", true, "", []string{message(3), note}},
		{"retry", true, source.KindConversation, []string{message(4)}},
		{" ", true, "", nil},
	} {
		t.Run(tt.query, func(t *testing.T) {
			var got []string
			found := s.recall(tt.query, core.SearchOptions{Exact: tt.exact, Kind: tt.kind})
			for _, h := range found {
				if h.Exact {
					got = append(got, h.Source)
				}
			}
			require.ElementsMatch(t, tt.want, got)
			if tt.exact || tt.query == "() ->" { // without a word there is no meaning
				require.Len(t, found, len(got))
			}
		})
	}
}

// Texts with the whole query come first, then those with its words, with parts of words, and with a
// near meaning.
func TestOrderOfWhatIsWritten(t *testing.T) {
	said := ""
	for _, text := range []string{"the retry of the call", "call the retry, then retry the call once more", "in the log: retry call 3 of 5", strings.Repeat("retry and call and ", 30) + "no more.",
		"a recall is something else", "phone the harbour office before noon"} {
		said += messageLine("user", text)
	}
	s := newSessions(t, map[string]string{"s1/messages.jsonl": said}, nil)
	require.Equal(t, "session:s1/messages.jsonl#L3", cited(s.recall("Retry call", core.SearchOptions{}))[0])
	found := s.recall("call", core.SearchOptions{})
	at := slices.Index(cited(found), "session:s1/messages.jsonl#L5")
	require.Positive(t, at)
	require.True(t, found[at].Exact)
	for i, h := range found {
		require.Equal(t, i < at, regexp.MustCompile(`\bcall\b`).MatchString(h.Text), "those with the word come first")
	}
}

// Sessions are told apart, from each other and from what else memory knows.
func TestSearchOfOneSession(t *testing.T) {
	const id = "0a1b2c3d-ferry"
	s := newSessions(t, map[string]string{
		"s1/messages.jsonl":                                   messageLine("user", "the ferry sails at eight"),
		"s2/messages.jsonl":                                   messageLine("user", "the ferry is late today"),
		"s2/working-memory/overview.md":                       "# The ferry, in every request anyway\n",
		"s2/messages-20260101T000000.000000000Z-abcdef.jsonl": messageLine("user", "an older ferry"),
		"claude-code-" + id + "/working-memory/detail/n.md":   "# Note\n\nThe ferry note of the agent.\n",
		"stated.md":                 "# The ferry of nobody's session\n",
		"../other/" + id + ".jsonl": claudeLog(id, "user: when does the ferry leave from the northern pier?", "assistant: The ferry leaves the northern pier at nine, because the tide is too low before that on most days of the month."),
		"../other/ferry.md":         "# Ferry\n\nThe ferry has a document of its own.\n",
	}, nil)
	search := func(o core.SearchOptions) []string {
		result, err := s.Search(t.Context(), "ferry", o)
		require.NoError(t, err)
		return cited(result.Hits)
	}
	note := "session:claude-code-" + id + "/working-memory/detail/n.md#L1-L3"
	older := "session:s2/messages-20260101T000000.000000000Z-abcdef.jsonl#L1"
	require.ElementsMatch(t, []string{"session:s1/messages.jsonl#L1", "session:s2/messages.jsonl#L1", older, note, id + ".jsonl#L2"}, search(core.SearchOptions{Sessions: true}))
	require.ElementsMatch(t, []string{"session:s2/messages.jsonl#L1", older}, search(core.SearchOptions{Session: "s2"}))
	for _, name := range []string{id, "claude-code-" + id} {
		require.ElementsMatch(t, []string{note, id + ".jsonl#L2"}, search(core.SearchOptions{Session: name}), name)
	}
	require.Equal(t, []string{note}, search(core.SearchOptions{Session: id, Kind: source.KindMarkdown}))
	require.Contains(t, search(core.SearchOptions{}), "ferry.md#L1-L3")
	require.Len(t, search(core.SearchOptions{Exact: true}), 6, "exact also searches documents")
	require.Equal(t, []string{id + ".jsonl#L2"}, cited(s.recall("leave from the northern", core.SearchOptions{Exact: true})), "the request that it answers")
	for _, h := range s.recall("ferry", core.SearchOptions{Session: "s2"}) {
		require.Equal(t, "s2", h.Session)
	}
	for _, o := range []core.SearchOptions{{Session: "s3"}, {Session: "ferry"}, {Session: "2"}} {
		_, err := s.Search(t.Context(), "ferry", o)
		require.ErrorIs(t, err, core.ErrNoConversation, o.Session)
	}
	none := newSessions(t, nil, nil)
	_, err := none.Search(t.Context(), "ferry", core.SearchOptions{Sessions: true})
	require.ErrorIs(t, err, core.ErrNoConversation)
}

// What was said a moment ago is found, and what was deleted is not.
func TestRecallOfThisMoment(t *testing.T) {
	s := newSessions(t, map[string]string{"s1/messages.jsonl": messageLine("user", "we deploy on Fridays")}, nil)
	s.say("s1", "assistant", "zebra one")
	s.say("s2", "user", "zebra two")
	require.ElementsMatch(t, []string{"session:s1/messages.jsonl#L2", "session:s2/messages.jsonl#L1"}, cited(s.recall("zebra", core.SearchOptions{Exact: true})))
	path := filepath.Join(s.folder, "s1", "messages.jsonl")
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString(`{"role":"user","content":"zebra half` + "\n")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	s.say("s1", "user", "zebra after the torn line")
	require.ElementsMatch(t, []string{"session:s1/messages.jsonl#L2", "session:s1/messages.jsonl#L4"}, cited(s.recall("zebra", core.SearchOptions{Session: "s1"})), "a torn line spoils no other")
	require.NoError(t, os.Rename(path, strings.TrimSuffix(path, ".jsonl")+"-20260101T000000Z-x.jsonl"))
	s.say("s1", "user", "a new zebra")
	require.Len(t, s.recall("zebra", core.SearchOptions{Session: "s1"}), 3, "the log was rotated")
	require.NoError(t, os.RemoveAll(filepath.Join(s.folder, "s1")))
	require.Equal(t, []string{"session:s2/messages.jsonl#L1"}, cited(s.recall("zebra", core.SearchOptions{})))
}

// A turn gets what other sessions said, but not what its own context has.
func TestTurnsLeaveOutTheirOwnSession(t *testing.T) {
	const id = "0a1b2c3d-abc"
	s := newSessions(t, map[string]string{"cursor-" + id + "/messages.jsonl": messageLine("user", "the staging database of the pangolin listens on port 5433"),
		"cursor-" + id + "/working-memory/detail/port.md": "# Port\n\nThe staging database of the pangolin listens on port 5433.\n"}, nil)
	ask := func(o core.RetrieveOptions) []string {
		result, err := s.RetrieveRelevant(t.Context(), "which port does the staging database of the pangolin use?", o)
		require.NoError(t, err)
		return cited(result.Hits)
	}
	require.NotEmpty(t, ask(core.RetrieveOptions{Session: "another-session"}))
	require.Empty(t, ask(core.RetrieveOptions{Session: id}))
	require.NotEmpty(t, ask(core.RetrieveOptions{Session: id, SessionFrom: time.Now().Add(time.Hour)}), "the agent has dropped its history since")
}

// Of an agent's session that memcore noted, a turn gets what it gets of an agent's log. A search
// finds each word of it, as of a chat between people, of which a turn may get all.
func TestTurnsOfNotedSessions(t *testing.T) {
	said := messageLine("user", "check the certificate of the media share") + messageLine("assistant", "Done.") +
		messageLine("user", "which port does the media share use?") + messageLine("assistant", "The media share listens on port 8445, because 8443 belongs to the camera recorder.") +
		messageLine("user", "We decided that backups of the media share run at 3 am.") + messageLine("assistant", "OK, with the token ghp_"+"x7Kq9Rz2Lm4Wv8Yt6Bn3Cd5Fg1Hj0Ps9Qw2E.")
	s := newSessions(t, map[string]string{"noted-1/messages.jsonl": said, "people/messages.jsonl": messageLine("user", "remember to check the certificate of the ferry")}, nil)
	ask := func(prompt string) core.Result {
		result, err := s.RetrieveRelevant(t.Context(), prompt, core.RetrieveOptions{Lines: core.MaxLines})
		require.NoError(t, err)
		return result
	}
	const at = "session:noted-1/messages.jsonl#L"
	for _, prompt := range []string{"When does the certificate of the media share expire?", "renew the certificate of the media share"} {
		result := ask(prompt)
		require.Subset(t, []string{at + "4", at + "5"}, cited(result.Hits), prompt)
		for _, l := range result.Lines {
			require.NotContains(t, l.Request, "check the certificate of the media")
		}
	}
	require.Equal(t, []string{"We decided that backups of the media share run at 3 am."}, texts(ask("When do backups of the media share run?").Said))
	port := ask("Which port has the media share?").Hits
	require.Equal(t, at+"4", port[0].Source)
	require.Equal(t, "which port does the media share use?", port[0].Request)
	require.Contains(t, cited(ask("When was the certificate of the ferry checked?").Hits), "session:people/messages.jsonl#L1")

	require.Equal(t, at+"1", cited(s.recall("check the certificate of the media share", core.SearchOptions{Exact: true}))[0])
	require.Equal(t, []string{at + "2"}, cited(s.recall("Done.", core.SearchOptions{Exact: true})))
	require.Empty(t, s.recall("x7Kq9Rz2", core.SearchOptions{Exact: true}))
	passage, err := s.Read(t.Context(), at+"1-L2")
	require.NoError(t, err)
	require.Equal(t, "The user: check the certificate of the media share\n\nDone.", passage.Text)

	s.say("noted-1", "user", "now renew it")
	s.say("noted-1", "assistant", "Renewed.")
	require.Equal(t, []string{at + "7"}, cited(s.recall("now renew it", core.SearchOptions{Exact: true})))
	require.Equal(t, []string{at + "2"}, cited(s.recall("Done.", core.SearchOptions{Exact: true})))
	info, _, err := s.Documents(t.Context(), core.DocumentsOptions{Find: "noted-1"})
	require.NoError(t, err)
	require.Len(t, info, 1)
	require.Equal(t, 9, info[0].Chunks, "each turn, and what the user states")
}

// Query and answer may share only their meaning, and a word that is nowhere is near to nothing.
func TestRecallByMeaning(t *testing.T) {
	said := ""
	for _, text := range []string{"the staging server lives behind the blue gateway", "we picked Postgres because the team knows it", "please always run the linter before committing", "lunch was good"} {
		said += messageLine("user", text)
	}
	files := map[string]string{"s1/messages.jsonl": said, "s1/working-memory/detail/ferry.md": "# Ferry\n\nThe boat leaves at dawn, the timetable hangs in the harbour office.\n\nPassword: hunter2-is-secret\n"}
	s := newSessions(t, files, nil)
	words := newSessions(t, files, func(o *core.Options) { o.Embedder = nil })
	for query, want := range map[string]string{
		"which relational database was chosen":      "session:s1/messages.jsonl#L2",
		"where is the test environment":             "session:s1/messages.jsonl#L1",
		"when does the ship depart in the morning?": "session:s1/working-memory/detail/ferry.md#L1-L5",
	} {
		require.NotContains(t, cited(words.recall(query, core.SearchOptions{})), want, "%s: it must be found by meaning", query)
		require.Equal(t, want, slices.Concat(cited(s.recall(query, core.SearchOptions{})), []string{""})[0], query)
	}
	for _, query := range []string{"zzqqxx", "frobnicate", "Quxley GmbH", "quantum chromodynamics"} {
		require.Empty(t, s.recall(query, core.SearchOptions{}), query)
	}
	require.Contains(t, s.recall("password", core.SearchOptions{})[0].Text, "Password: [redacted: password]")
	require.Empty(t, s.recall("hunter2-is", core.SearchOptions{Exact: true}), "the beginning of a secret does not find it")
}

// The rare words of a long query decide.
func TestRecallOfAPastedText(t *testing.T) {
	said := ""
	for i := range 30 {
		said += messageLine("user", fmt.Sprintf("the build of part %d took long again", i))
	}
	s := newSessions(t, map[string]string{"s1/messages.jsonl": said + messageLine("user", "the quokka exporter writes to bucket seven")}, nil)
	pasted := "the build took long again because of the exporter of the quokka "
	for i := range 200 {
		pasted += fmt.Sprintf("filler%c%c ", 'a'+i/26, 'a'+i%26)
	}
	require.Equal(t, "session:s1/messages.jsonl#L31", cited(s.recall(pasted, core.SearchOptions{}))[0])
}

// TestRecallOfLabelledChats measures recall on chats with known answers, in the layout of eval:
// MEMCORE_CHATS='…/locomo/conv-*' go test ./core -run LabelledChats -v.
func TestRecallOfLabelledChats(t *testing.T) {
	pattern := os.Getenv("MEMCORE_CHATS")
	if pattern == "" {
		t.Skip("MEMCORE_CHATS names no folders")
	}
	folders, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	type line struct{ ID, Text, Speaker string }
	read := func(file string) (all []line) {
		f, err := os.Open(file)
		require.NoError(t, err)
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var l line
			require.NoError(t, json.Unmarshal(lines.Bytes(), &l))
			all = append(all, l)
		}
		return all
	}
	sum, questions := map[string]float64{}, 0
	for _, folder := range folders {
		at, said := map[int]string{}, ""
		for n, l := range read(filepath.Join(folder, "corpus.jsonl")) {
			at[n+1] = l.ID
			said += messageLine("user", l.Speaker+": "+l.Text)
		}
		relevant := map[string]map[string]bool{}
		judged, err := os.ReadFile(filepath.Join(folder, "qrels.tsv"))
		require.NoError(t, err)
		for row := range strings.Lines(string(judged)) {
			if cells := strings.Split(strings.TrimSpace(row), "\t"); len(cells) == 3 && cells[2] != "0" {
				if relevant[cells[0]] == nil {
					relevant[cells[0]] = map[string]bool{}
				}
				relevant[cells[0]][cells[1]] = true
			}
		}
		for name, embedder := range map[string]embed.Embedder{"words": nil, "words and meaning": minilm.New()} {
			s := newSessions(t, map[string]string{"s1/messages.jsonl": said}, func(o *core.Options) { o.Embedder = embedder })
			for _, q := range read(filepath.Join(folder, "queries.jsonl")) {
				if len(relevant[q.ID]) == 0 {
					continue
				}
				if embedder != nil {
					questions++
				}
				for _, h := range s.recall(q.Text, core.SearchOptions{Limit: 5}) {
					if relevant[q.ID][at[h.StartLine]] {
						sum[name] += 1 / float64(len(relevant[q.ID]))
					}
				}
			}
		}
	}
	for name, hits := range sum {
		t.Logf("recall@5 by %s: %.3f of %d questions", name, hits/float64(questions), questions)
	}
}

// Searching a long session also as written stays fast.
func BenchmarkRecall(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "sessions", "s1", "messages.jsonl")
	var said strings.Builder
	for i := range 10_000 {
		said.WriteString(messageLine("user", fmt.Sprintf("message %d about subject%d %s", i, i%97, strings.Repeat("filler ", i%40))))
	}
	require.NoError(b, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(b, os.WriteFile(path, []byte(said.String()), 0o600))
	m, err := core.Open(context.Background(), core.Options{Folder: filepath.Join(dir, "index"), Engine: engineNamed(defaultEngine),
		Sources: []source.Source{source.NewFolder(source.FolderOptions{Path: filepath.Join(dir, "sessions"), Name: "session:", Sessions: true})}})
	require.NoError(b, err)
	defer m.Close()
	_, err = m.Index(context.Background(), core.IndexOptions{})
	require.NoError(b, err)
	for b.Loop() {
		result, err := m.Search(context.Background(), "message about subject5", core.SearchOptions{Sessions: true, Limit: 5})
		require.NoError(b, err)
		require.Len(b, result.Hits, 5)
	}
}
