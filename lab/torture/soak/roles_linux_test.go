package soak_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memcore/memcore/lab/torture/harness"
)

// A ledger holds acknowledged changes.
type ledger struct {
	mu        sync.Mutex
	live      map[string]string // what was saved, by the word that only it has
	order     []string          // of them, oldest first
	forgotten []string          // words of what was forgotten
	lags      []time.Duration   // from the acknowledgement of a save to the retrieval that finds it
}

func (l *ledger) saved(word, text string, lag time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live[word], l.order, l.lags = text, append(l.order, word), append(l.lags, lag)
}

// oldest removes the oldest statement if there are more than most. The caller forgets it.
func (l *ledger) oldest(most int) (word, text string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.order) <= most {
		return "", "", false
	}
	word, l.order = l.order[0], l.order[1:]
	text = l.live[word]
	delete(l.live, word)
	return word, text, true
}

func (l *ledger) gone(word string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgotten = append(l.forgotten, word)
}

type run struct {
	*harness.Load
	t       *testing.T
	project string
	daemon  *harness.Process
	mcp     *harness.Process
	proxy   *harness.Process
	mcpURL  string
	chatURL string
	chats   *http.Client // of the proxy
	token   string
	ledger  ledger
	done    map[string]*atomic.Int64 // what was done how often, by name

	mu    sync.Mutex
	times []time.Duration // of retrievals over the socket since they were last looked at
}

func (s *run) did(what string) { s.done[what].Add(1) }

func word() string {
	const letters = "bcdfghklmnprstvwz"
	var b strings.Builder
	for range 5 {
		b.WriteByte(letters[rand.IntN(len(letters))])
		b.WriteByte("aeiou"[rand.IntN(5)])
	}
	return b.String()
}

// statement returns a unique statement.
func statement() (key, text string) {
	key = word()
	return key, fmt.Sprintf("The %s %s of %s %s its %s from %s %s", word(), word(), key, word(), word(), word(), word())
}

// answered is the answer to a query.
type answered struct {
	Hits []struct{ Text, Source string }
}

func (s *run) search(ctx context.Context, query string) (answered, error) {
	var found answered
	answer, err := s.Post(ctx, "/v1/search", map[string]any{"workspace": s.project, "query": query, "limit": 5})
	if err == nil {
		err = answer.Error()
	}
	if err == nil {
		err = json.Unmarshal(answer.Body, &found)
	}
	return found, err
}

func (f answered) has(text string) bool {
	return slices.ContainsFunc(f.Hits, func(h struct{ Text, Source string }) bool { return strings.Contains(h.Text, text) })
}

// findable limits the time until a query sees a change on a busy machine. The product promises a
// second.
const findable = 30 * time.Second

// until asks for a word until found accepts the hits, and returns the time taken.
func (s *run) until(ctx context.Context, word string, found bool) (time.Duration, error) {
	begun := time.Now()
	for {
		answer, err := s.search(ctx, word)
		if err != nil {
			return 0, err
		}
		if answer.has(word) == found {
			return time.Since(begun), nil
		}
		if time.Since(begun) > findable {
			return 0, fmt.Errorf("%v after it was acknowledged, a search for %s says %v, want %v", findable, word, !found, found)
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// save saves a statement by some interface and waits until it is found. It finishes even if the
// soak ends, so that the outcome is known.
func (s *run) save(ctx context.Context, session *mcp.ClientSession, n int) error {
	key, text := statement()
	ctx = context.WithoutCancel(ctx)
	var err error
	switch n % 3 {
	case 0:
		var answer harness.Answer
		if answer, err = s.Post(ctx, "/v1/tools/save_memory", map[string]any{"workspace": s.project, "arguments": map[string]string{"content": text}}); err == nil {
			err = answer.Error()
		}
		if err == nil && !bytes.Contains(answer.Body, []byte("Saved to")) {
			return fmt.Errorf("save answers %s", answer.Body)
		}
	case 1:
		var said string
		if said, err = call(ctx, session, "save_memory", map[string]any{"content": text}); err == nil && !strings.Contains(said, "Saved to") {
			return fmt.Errorf("save_memory answers %s", said)
		}
	default:
		var stdout, stderr string
		if stdout, stderr, err = s.Run(ctx, s.project, "", "save", "--yes", "--shared", "--section", "Auto-saved Memories", text); err != nil || !strings.Contains(stdout, "added to") {
			return fmt.Errorf("memcore save: %v: %s%s", err, stdout, stderr)
		}
	}
	if err != nil {
		return fmt.Errorf("save: %w", err)
	}
	lag, err := s.until(ctx, key, true)
	if err != nil {
		return fmt.Errorf("saved by road %d: %w", n%3, err)
	}
	s.ledger.saved(key, text, lag)
	s.did("saves")
	return nil
}

// forget forgets the oldest statement once there are many.
func (s *run) forget(ctx context.Context, session *mcp.ClientSession, n int) error {
	word, text, ok := s.ledger.oldest(harness.Times(5, 40))
	if !ok {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if n%2 == 0 {
		if _, stderr, err := s.Run(ctx, s.project, "", "forget", "--yes", text); err != nil {
			return fmt.Errorf("memcore forget: %w: %s", err, stderr)
		}
	} else if said, err := call(ctx, session, "forget", map[string]any{"text": text}); err != nil || !strings.Contains(said, "Deleted") {
		return fmt.Errorf("forget: %v: %s", err, said)
	}
	if _, err := s.until(ctx, word, false); err != nil {
		return fmt.Errorf("forgotten by road %d: %w", n%2, err)
	}
	s.ledger.gone(word)
	s.did("forgets")
	return nil
}

// call calls a tool over MCP.
func call(ctx context.Context, session *mcp.ClientSession, tool string, arguments map[string]any) (string, error) {
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return "", err
	}
	text, _ := result.Content[0].(*mcp.TextContent)
	if result.IsError {
		return "", errors.New(text.Text)
	}
	return text.Text, nil
}

// connect opens a session of MCP over HTTP.
func (s *run) connect(ctx context.Context, client *http.Client) (*mcp.ClientSession, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "soak", Version: "1"}, nil)
	return c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: s.mcpURL, HTTPClient: client}, nil)
}

// bearer adds the token to each request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// visit is a short session of an MCP client.
func (s *run) visit(ctx context.Context, n int) error {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	session, err := s.connect(ctx, &http.Client{Transport: bearer{s.token, transport}})
	if err != nil {
		return fmt.Errorf("MCP: %w", err)
	}
	defer session.Close()
	question, _ := harness.Fact(n % notes)
	if _, err := call(ctx, session, "search_memory", map[string]any{"query": question}); err != nil {
		return fmt.Errorf("MCP: search_memory: %w", err)
	}
	if _, err := session.ListTools(ctx, nil); err != nil {
		return fmt.Errorf("MCP: tools/list: %w", err)
	}
	if _, err := session.ListResources(ctx, nil); err != nil {
		return fmt.Errorf("MCP: resources/list: %w", err)
	}
	s.did("MCP sessions")
	return nil
}

// retrieve asks for a constant fact.
func (s *run) retrieve(ctx context.Context, n int) error {
	question, port := harness.Fact(n % notes)
	begun := time.Now()
	answer, err := s.Post(ctx, "/v1/retrieve", map[string]string{"workspace": s.project, "query": question})
	took := time.Since(begun)
	if err == nil {
		err = answer.Error()
	}
	if err != nil {
		return fmt.Errorf("retrieve: %w", err)
	}
	var found struct{ Block string }
	if err := json.Unmarshal(answer.Body, &found); err != nil || !strings.Contains(found.Block, port) {
		return fmt.Errorf("%q is not answered with %s (%v): %s", question, port, err, answer.Body)
	}
	s.mu.Lock()
	s.times = append(s.times, took)
	s.mu.Unlock()
	s.did("retrievals")
	return nil
}

// look asks rarer questions.
func (s *run) look(ctx context.Context, n int) error {
	question, _ := harness.Fact(n % notes)
	routes := []struct {
		path string
		body map[string]any
	}{
		{"/v1/retrieve", map[string]any{"query": question, "explain": true}},
		{"/v1/context", map[string]any{}},
		{"/v1/status", map[string]any{}},
		{"/v1/tools/recall_memory", map[string]any{"arguments": map[string]string{"query": "port"}}},
		{"/v1/tools", map[string]any{}},
	}
	route := routes[n%len(routes)]
	route.body["workspace"] = s.project
	answer, err := s.Post(ctx, route.path, route.body)
	if err == nil {
		err = answer.Error()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", route.path, err)
	}
	s.did("other requests")
	return nil
}

// listen follows the daemon's events for a while.
func (s *run) listen(ctx context.Context, n int) error {
	ctx, stop := context.WithTimeout(ctx, time.Duration(1+n%4)*500*time.Millisecond)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://memcore/v1/events", nil)
	if err != nil {
		return err
	}
	response, err := s.Client.Do(request)
	if err != nil {
		return ignore(ctx, err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
	}
	s.did("streams of events")
	return nil
}

// ignore drops errors of an ended context.
func ignore(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Allowed outcomes of a chat: the client leaves, or memory is late.
const cutOff, unremembered = "chats cut off", "chats without memory"

// chat is a turn through the proxy, plain or streamed.
func (s *run) chat(ctx context.Context, n int) error {
	question, port := harness.Fact(n % notes)
	body := fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":%q}]}`, n%2 == 0, question)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.chatURL+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return err
	}
	response, err := s.chats.Do(request)
	if err != nil {
		return fmt.Errorf("chat: %w", err)
	}
	defer response.Body.Close()
	if n%7 == 6 { // a client that goes away in the middle
		s.did(cutOff)
		return nil
	}
	said, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("chat: status %d, %v: %s", response.StatusCode, err, said)
	}
	// The proxy drops late memory, so a busy machine may miss some.
	if response.Header.Get("X-Memcore-Injected") != "0" && !bytes.Contains(said, []byte(port)) {
		return fmt.Errorf("chat: the upstream was not given %s: %s", port, said)
	}
	if response.Header.Get("X-Memcore-Injected") == "0" {
		s.did(unremembered)
	}
	s.did("chats")
	return nil
}

// hook is a turn of an agent: three processes.
func (s *run) hook(ctx context.Context, n int) error {
	ctx = context.WithoutCancel(ctx)
	question, _ := harness.Fact(n % notes)
	session := fmt.Sprintf("s%d", n/50%8)
	for _, event := range []map[string]any{
		{"hook_event_name": "SessionStart", "source": "startup"},
		{"hook_event_name": "UserPromptSubmit", "prompt": question},
		{"hook_event_name": "Stop", "stop_hook_active": false},
	} {
		event["session_id"], event["cwd"] = session, s.project
		data, err := json.Marshal(event)
		if err != nil {
			return err
		}
		stdout, stderr, err := s.Run(ctx, s.project, string(data), "hook", "claude-code")
		if err != nil || stderr != "" || stdout != "" && !json.Valid([]byte(stdout)) {
			return fmt.Errorf("hook: %v: %q %q", err, stdout, stderr)
		}
		s.did("hook processes")
	}
	return nil
}

// index runs commands that read everything, and sometimes rebuilds the index.
func (s *run) index(ctx context.Context, n int) error {
	args := [][]string{{"index", "--quiet"}, {"memory", "pending", "--json"}, {"status", "--json"}, {"search", "--json", "port"}, {"index", "--quiet", "--rebuild"}, {"status", "--usage", "--json"}}[n%6]
	if _, stderr, err := s.Run(context.WithoutCancel(ctx), s.project, "", args...); err != nil {
		return fmt.Errorf("memcore %v: %w: %s", args, err, stderr)
	}
	s.did("other commands")
	return nil
}

// converse appends to a log and starts another when it is long. The oldest is removed.
func (s *run) converse(_ context.Context, n int) error {
	const long, kept = 120, 4
	line := func(kind, payload string) string {
		return fmt.Sprintf(`{"timestamp":%q,"type":%q,"payload":%s}`+"\n", time.Now().UTC().Format(time.RFC3339Nano), kind, payload)
	}
	name := func(i int) string { return filepath.Join(s.project, "sessions", fmt.Sprintf("rollout-%d.jsonl", i)) }
	text := line("response_item", fmt.Sprintf(`{"type":"message","role":"user","content":[{"type":"input_text","text":"Line %d speaks of %s and %s."}]}`, n, word(), word()))
	if n%long == 0 {
		text = line("session_meta", fmt.Sprintf(`{"id":"%d","timestamp":%q,"cwd":%q,"originator":"soak","cli_version":"1"}`, n, time.Now().UTC().Format(time.RFC3339), s.project)) + text
		if err := os.Remove(name(n/long - kept)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(name(0)), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(name(n/long), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err = file.WriteString(text); err == nil {
		s.did("lines of logs")
	}
	return errors.Join(err, file.Close())
}

// edit makes, changes, renames and removes files of its own folder.
func (s *run) edit(_ context.Context, n int) error {
	name := func(i int) string {
		return filepath.Join(s.project, "drafts", fmt.Sprint(i/10%3), fmt.Sprintf("%d.md", i%30))
	}
	path := name(rand.IntN(30))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	s.did("changes of files")
	var err error
	switch n % 6 {
	case 0, 1:
		err = os.WriteFile(path, fmt.Appendf(nil, "# Draft\n\nOf %s and %s.\n", word(), word()), 0o644)
	case 2: // as editors do
		if err = os.WriteFile(path+"~", fmt.Appendf(nil, "# Draft\n\nOf %s.\n", word()), 0o644); err == nil {
			err = os.Rename(path+"~", path)
		}
	case 3:
		err = os.Rename(path, name(rand.IntN(30)))
	case 4:
		err = os.Remove(path)
	default:
		if n%60 == 5 { // a whole folder
			if err = os.Rename(filepath.Dir(path), filepath.Join(s.project, "archive")); err == nil {
				err = os.RemoveAll(filepath.Join(s.project, "archive"))
			}
		}
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return err
}

// turn makes the daemon reopen the workspace, as after a change of settings, and use a second one.
func (s *run) turn(ctx context.Context, n int) error {
	harness.Write(s.t, filepath.Join(s.project, ".beans", "config.yaml"), fmt.Sprintf("memory:\n  exclude: [nothing%d]\n", n%2))
	other := filepath.Join(s.project, "..", "other")
	answer, err := s.Post(ctx, "/v1/search", map[string]string{"workspace": other, "query": "port"})
	if err == nil {
		err = answer.Error()
	}
	if err != nil {
		return fmt.Errorf("the other workspace: %w", err)
	}
	s.did("openings of workspaces")
	return nil
}
