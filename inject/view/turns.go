package view

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/use"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/httpapi"
)

// A turnRow is a prompt and what it got.
type turnRow struct {
	use.Turn
	Tokens int
	Trace  *hook.Trace // if it is among the last ones
}

// WhyNot says why a turn got nothing.
func (r turnRow) WhyNot() string {
	reason := r.Silence
	if r.Trace != nil {
		reason = cmp.Or(reason, r.Trace.Reason, r.Trace.Result.Silence)
	}
	return cmp.Or(reason, "the record does not say why")
}

// mostLeftOut bounds the candidates of a row; the turn's page has all.
const mostLeftOut = 10

// leftOut has the best candidates that a turn did not get.
type leftOut struct {
	Hits []core.MemoryHit
	More int
}

// LeftOut returns the best candidates that the turn did not get.
func (r turnRow) LeftOut() leftOut {
	if r.Trace == nil {
		return leftOut{}
	}
	all := slices.Concat(r.Trace.Result.Withheld, r.Trace.Result.Rejected)
	shown := min(len(all), mostLeftOut)
	return leftOut{all[:shown], len(all) - shown}
}

// A turnGroup is a session with its turns.
type turnGroup struct {
	Agent, Session string
	Rows           []turnRow
}

// turnsPage lists turns by session, the latest first.
type turnsPage struct {
	Request  TurnsRequest
	Problem  string // with the filters
	Groups   []turnGroup
	Agents   []string
	Sessions []TurnSession
	Shown    int
	More     int    // turns that are not shown
	Older    string // the address of the next ones
	Unkept   int    // prompts without text
	Off      bool   // no text is kept
}

const (
	// turnsOnPage bounds the turns of a page.
	turnsOnPage = 50
	// longestPrompt bounds a prompt in the list, in characters.
	longestPrompt = 400
	// longestLinked bounds a prompt in a link, in bytes: escaped it stays below the 64 KB of an
	// address.
	longestLinked = 16 << 10
)

// linked cuts a prompt for a link.
func linked(prompt string) string {
	if len(prompt) <= longestLinked {
		return prompt
	}
	return strings.ToValidUTF8(prompt[:longestLinked], "")
}

func (v visit) turns() error {
	ctx, form := v.r.Context(), v.r.URL.Query()
	p := turnsPage{Request: TurnsRequest{Limit: turnsOnPage, Agent: form.Get("agent"), Session: form.Get("session"), Find: form.Get("find"),
		Times: httpapi.Times{Since: form.Get("since"), Until: form.Get("until")}}}
	status := http.StatusOK
	all, err := v.memory.Turns(ctx, p.Request)
	if err != nil {
		if status = httpapi.StatusOf(err); status != http.StatusBadRequest {
			return err
		}
		p.Problem = err.Error()
		if all, err = v.memory.Turns(ctx, TurnsRequest{Limit: 1}); err != nil {
			return err
		}
		all.Turns, all.Last, all.More = nil, nil, 0
	}
	rows := turnRows(all)
	p.Groups, p.Sessions, p.Shown, p.More = groupsOf(rows), all.Sessions, len(rows), all.More
	p.Off = all.Unkept
	for _, row := range rows {
		if row.Prompt == "" {
			p.Unkept++
		}
	}
	if p.More > 0 {
		older := only(form, []string{"agent", "session", "find", "since"})
		older.Set("until", all.Turns[len(all.Turns)-1].At.Format(time.RFC3339Nano))
		p.Older = "turns?" + older.Encode()
	}
	for _, of := range all.Sessions {
		if !slices.Contains(p.Agents, of.Agent) {
			p.Agents = append(p.Agents, of.Agent)
		}
	}
	slices.Sort(p.Agents)
	return v.showWith(status, "turns", "turns-page", "Turns", p)
}

// turnRows joins turns with their traces. Unrecorded prompts come first.
func turnRows(all Turns) []turnRow {
	traces := map[string]*hook.Trace{}
	var rows []turnRow
	for i, t := range all.Last {
		if t.Turn != "" {
			traces[t.Turn] = &all.Last[i]
		} else if t.Event.Kind == hook.Prompt {
			id := fmt.Sprintf("%s%d", unrecorded, t.At.UnixMilli())
			rows = append(rows, turnRow{Turn: use.Turn{ID: id, At: t.At, Agent: t.Event.Agent, Session: t.Event.Session, Prompt: t.Event.Prompt}, Trace: &all.Last[i]})
		}
	}
	for _, t := range all.Turns {
		row := turnRow{Turn: t, Trace: traces[t.ID]}
		if row.Trace != nil && row.Prompt == "" {
			row.Prompt = row.Trace.Event.Prompt
		}
		for _, h := range t.Hits {
			row.Tokens += h.Tokens
		}
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b turnRow) int { return b.At.Compare(a.At) })
	return rows
}

// unrecorded begins the IDs of turns that have only a trace.
const unrecorded = "at-"

// groupsOf groups rows by session, in order.
func groupsOf(rows []turnRow) (groups []turnGroup) {
	for _, row := range rows {
		at := slices.IndexFunc(groups, func(g turnGroup) bool { return g.Agent == row.Agent && g.Session == row.Session })
		if at < 0 {
			at = len(groups)
			groups = append(groups, turnGroup{Agent: row.Agent, Session: row.Session})
		}
		groups[at].Rows = append(groups[at].Rows, row)
	}
	return groups
}

// turnPage is a turn with its candidates.
type turnPage struct {
	turnRow
	Candidates candidates
	Case       *caseBox // nil without a prompt
	Off        bool     // no text of prompts is kept
	Logged     bool     // the session's log is indexed
}

func (v visit) turn() error {
	id := v.r.URL.Query().Get("id")
	request := TurnsRequest{Turn: id}
	if strings.HasPrefix(id, unrecorded) {
		request = TurnsRequest{Limit: 1}
	}
	all, err := v.memory.Turns(v.r.Context(), request)
	if err != nil {
		return err
	}
	rows := turnRows(all)
	at := slices.IndexFunc(rows, func(row turnRow) bool { return row.ID == id })
	if at < 0 {
		return &httpapi.Error{Status: http.StatusNotFound, Message: "this turn is not in the record, or no longer"}
	}
	p := turnPage{turnRow: rows[at], Off: all.Unkept}
	p.Logged = v.logged(p.Session)
	if p.Trace != nil {
		p.Candidates = candidatesOf(p.Trace.Result)
	} else {
		p.Candidates = candidatesOf(core.Result{Hits: v.passages(p.Hits)})
	}
	if p.Prompt != "" {
		p.Case = v.caseBox(p.Prompt, url.Values{"id": {id}})
		p.Candidates.mark(p.Case.Case)
	}
	return v.show("turns", "turn", "Turn of "+timeText(p.At), p)
}

// logged reports whether the index has a session's log.
func (v visit) logged(session string) bool {
	if session == "" {
		return false
	}
	_, found, err := v.memory.Documents(v.r.Context(), core.DocumentsOptions{Find: session, Limit: 1})
	return err == nil && found > 0
}

// passages returns recorded hits with their current text, if they still exist.
func (v visit) passages(recorded []use.Hit) []core.MemoryHit {
	var hits []core.MemoryHit
	for _, h := range recorded {
		hit := core.MemoryHit{ID: h.ID, Path: h.Path, Source: h.Source}
		chunks, err := v.memory.Chunks(v.r.Context(), h.Path)
		if at := slices.IndexFunc(chunks, func(c core.MemoryHit) bool { return c.ID == h.ID }); err == nil && at >= 0 {
			hit = chunks[at]
		}
		hit.Score, hit.TokenEstimate = h.Score, h.Tokens
		hits = append(hits, hit)
	}
	return hits
}
