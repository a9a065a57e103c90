package view

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/internal/kind"
)

func (fakeMemory) Case(_ context.Context, query string) (Case, error) {
	if query == "unreadable" {
		return Case{}, kind.Usagef("%s", hostile)
	}
	e := []Expectation{{Path: hostile, Heading: hostile, Text: hostile}}
	return Case{Query: query, Expect: e, ExpectNot: e}, nil
}

func (fakeMemory) AddCase(_ context.Context, c Case) error {
	if c.ExpectNothing {
		return kind.As(kind.Conflict, kind.Usagef("the file: %s", hostile))
	}
	added = append(added, c)
	return nil
}

// added are the cases that buttons made.
var added []Case

func hitWith(values ...float64) core.MemoryHit {
	e := &core.Explanation{}
	for i, v := range values {
		e.Terms = append(e.Terms, relevance.Term{Name: relevance.Names[i], Value: v, Weight: 2})
	}
	return core.MemoryHit{Explain: e}
}

// Evidence that lowers a score goes to the other side, and all bars have one scale.
func TestEvidenceIsStackedFromOneLine(t *testing.T) {
	c := candidatesOf(core.Result{Hits: []core.MemoryHit{hitWith(1, 3, -1)}, Rejected: []core.MemoryHit{hitWith(2), {}}, Withheld: []core.MemoryHit{{}}})
	require.Len(t, c.Rows, 4)
	scale := barWidth / (8 + 2)
	require.InDelta(t, 2*scale, c.Zero, 1e-9)
	parts := c.Rows[0].Parts
	require.Equal(t, part{Name: "words in common", X: c.Zero, Width: 2 * scale, Value: 2}, parts[0])
	require.Equal(t, part{Name: "share of the prompt's words", X: c.Zero + 2*scale, Width: 6 * scale, Value: 6, Colour: 1}, parts[1])
	require.Equal(t, part{Name: "words of its whole document", X: 0, Width: 2 * scale, Value: -2, Colour: 2}, parts[2])
	require.Equal(t, "withheld", c.Rows[1].State)
	require.Equal(t, 4*scale, c.Rows[2].Parts[0].Width)
	require.Len(t, c.Legend, 3)
}

func TestAllTermsHaveWordsAndColours(t *testing.T) {
	css, err := assets.ReadFile("assets/view.css")
	require.NoError(t, err)
	for _, name := range append([]string{"kind"}, relevance.Names...) {
		p := partOf(name, 1)
		require.Less(t, p.Colour, len(termNames), name)
	}
	for i := range len(termNames) + 1 {
		require.Contains(t, string(css), fmt.Sprintf(".part%d {", i))
	}
}

// A threshold cannot bring back what another rule left out, nor take away one that is sure.
func TestWhatAThresholdDoesNotChange(t *testing.T) {
	explained := func(verdict, why string) core.MemoryHit {
		return core.MemoryHit{Explain: &core.Explanation{Verdict: verdict, Why: why}}
	}
	c := candidatesOf(core.Result{Hits: []core.MemoryHit{explained("kept", "it names you"), explained("kept", "")},
		Rejected: []core.MemoryHit{explained("duplicate of a.md", ""), explained(core.VerdictUnasked, ""), explained("below threshold", "")}, Withheld: []core.MemoryHit{{}}})
	var all []string
	for _, e := range c.Rows {
		all = append(all, e.Fixed)
	}
	require.Equal(t, []string{"always", "", "never", "never", "never", ""}, all)
	require.True(t, c.Unasked)
}

func TestExpectations(t *testing.T) {
	require.Equal(t, Expectation{Path: "a.md", Heading: "B"}, expectationOf(core.MemoryHit{Path: "a.md", Headings: []string{"A", "B"}, Text: "x"}))
	require.Equal(t, Expectation{Path: "a.jsonl", Text: "1 2 3 4 5 6 7 8 9 10 11 12"}, expectationOf(core.MemoryHit{Path: "a.jsonl", Kind: "conversation", Text: "1 2 3\n4 5 6 7 8 9 10 11 12 13"}))
}

// Wrong input is said beside the form, which keeps what was typed.
func TestWrongInputKeepsTheForm(t *testing.T) {
	v := newVisitor(t)
	v.open(t, "/a")
	at := "/w/" + idOf("/a") + "/"
	for _, query := range []string{"q=bad+times&since=someday&path=notes", "q=x&with=threshold&least=NaN&since=someday&path=notes", "q=x&with=threshold&least=7&since=someday&path=notes"} {
		status, body := v.get(t, at+"ask?"+query)
		require.Equal(t, 400, status, query)
		require.Contains(t, body, `role="alert"`)
		require.Contains(t, body, `value="someday"`)
		require.Contains(t, body, `value="notes"`)
	}
	status, body := v.get(t, at+"turns?since=someday&find=x")
	require.Equal(t, 400, status)
	require.Contains(t, body, `value="someday"`)
	status, body = v.get(t, at+"turn?id=gone")
	require.Equal(t, 404, status)
	require.Contains(t, body, "not in the journal")
	status, body = v.get(t, at+"ask?q=unreadable")
	require.Equal(t, 200, status)
	require.Contains(t, body, "Mend the file")
}

// post sends a form as a button of the page does.
func (v visitor) post(t *testing.T, path string, form url.Values, origin string) (int, string, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.server.URL+path, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	client := *v.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, response.Header.Get("Location"), string(body)
}

func TestButtonsMakeCases(t *testing.T) {
	added = nil
	v := newVisitor(t)
	v.open(t, "/a")
	at := "/w/" + idOf("/a") + "/"
	e := Expectation{Path: "a & b.md", Heading: "H", Text: "t"}
	about := func(fields url.Values) []string { return []string{fields.Encode()} }
	form := url.Values{"about": about(url.Values{"question": {"which?"}, "q": {"which?"}, "since": {"7d"}}), "say": {wish(stayAway, e, 3)}}
	for _, origin := range []string{"", "null", "http://evil.example"} {
		status, _, _ := v.post(t, at+"case", form, origin)
		require.Equal(t, 403, status, origin)
	}
	require.Empty(t, added)
	status, location, body := v.post(t, at+"case", form, v.server.URL)
	require.Equal(t, 303, status, body)
	require.Equal(t, at+"ask?q=which%3F&since=7d#c3", location)
	require.Equal(t, []Case{{Query: "which?", ExpectNot: []Expectation{e}}}, added)

	_, location, _ = v.post(t, at+"case", url.Values{"about": about(url.Values{"question": {"which?"}, "id": {"12"}}), "expected": {"c.md"}}, v.server.URL)
	require.Equal(t, at+"turn?id=12#case", location)
	require.Equal(t, Case{Query: "which?", Expect: []Expectation{{Path: "c.md"}}}, added[1])

	status, _, body = v.post(t, at+"case", url.Values{"about": about(url.Values{"question": {"which?"}}), "say": {"wish=nothing"}}, v.server.URL)
	require.Equal(t, 409, status)
	require.Contains(t, body, `role="alert"`)
	require.Contains(t, body, "which?</textarea>")
	require.NotContains(t, body, "<img")
}

func TestTurnsAreGrouped(t *testing.T) {
	row := func(second int64, session string) turnRow {
		return turnRow{Entry: journal.Entry{Head: journal.Head{Agent: "codex", Session: session}, Event: journal.Event{At: time.Unix(second, 0)}}}
	}
	groups := groupsOf([]turnRow{row(4, "b"), row(3, "a"), row(2, "b")})
	require.Len(t, groups, 2)
	require.Equal(t, "b", groups[0].Session)
	require.Len(t, groups[0].Rows, 2)
}

// manyTurns has more than a page shows, all of the longest.
type manyTurns struct{ fakeMemory }

func (manyTurns) Turns(_ context.Context, r TurnsRequest) (Turns, error) {
	var all Turns
	for i := range r.Limit {
		t := journal.Entry{Head: journal.Head{ID: strconv.Itoa(i), Agent: "codex", Session: "s"}, Event: journal.Event{At: time.Unix(int64(1000-i), 5e6).UTC(), Prompt: strings.Repeat("prompt ", 285)}}
		for range 4 {
			t.Given = append(t.Given, journal.Given{Kind: journal.Passage, Path: "a/long/path/of/a/document.md", Source: "a/long/path/of/a/document.md#L10-L200", Title: strings.Repeat("word ", 40)})
		}
		all.Turns = append(all.Turns, t)
	}
	all.More = 7
	return all, nil
}

type manyMemories struct{ fakeMemories }

func (manyMemories) Use(_ context.Context, _ string, do func(Memory) error) error {
	return do(manyTurns{})
}

func TestTurnsArePaged(t *testing.T) {
	v := newVisitor(t)
	v.pages.memories = manyMemories{}
	v.open(t, "/a")
	status, body := v.get(t, "/w/"+idOf("/a")+"/turns?find=prompt")
	require.Equal(t, 200, status)
	require.Contains(t, body, `<a href="turns?find=prompt&amp;until=1970-01-01T00%3A15%3A51.005Z">7 older turns</a>`)
	require.Less(t, len(body), 300_000)
}

// A turn that got only lines got something.
func TestLinesAreShown(t *testing.T) {
	row := turnRow{Entry: journal.Entry{Answer: journal.Answer{Given: []journal.Given{
		{Kind: journal.Beginning}, {Kind: journal.Line, Key: "abcde-12", Source: "b.md#L12", Title: "How it ends", Opened: true}}}}}
	var b strings.Builder
	require.NoError(t, templates().ExecuteTemplate(&b, "turn-row", row))
	require.Contains(t, b.String(), "(line: <bdi>How it ends</bdi>)")
	require.Contains(t, b.String(), "<td>yes</td>")
	require.NotContains(t, b.String(), "Nothing was given")
}

func TestWhyNothingCame(t *testing.T) {
	for want, e := range map[string]journal.Entry{
		"it had it":                    {Answer: journal.Answer{Reason: "it had it"}},
		"late":                         {Answer: journal.Answer{Reason: "it had it"}, Undelivered: "late"},
		"the journal does not say why": {},
	} {
		row := turnRow{Entry: e}
		require.Equal(t, want, row.WhyNot())
	}
	for off, want := range map[bool]string{true: "hook.log", false: "was false then"} {
		var b strings.Builder
		require.NoError(t, templates().ExecuteTemplate(&b, "turn", turnPage{Off: off}))
		require.Contains(t, b.String(), want)
	}
}
