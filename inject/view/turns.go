package view

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/inject/httpapi"
)

// A turnRow is a prompt and what it got.
type turnRow struct {
	journal.Entry
	Tokens int
}

// WhyNot says why a turn got nothing.
func (r turnRow) WhyNot() string {
	return cmp.Or(r.Undelivered, r.Reason, "the journal does not say why")
}

// maxLeftOut bounds the candidates of a row; the turn's page has all.
const maxLeftOut = 10

// leftOut has the best candidates that a turn did not get.
type leftOut struct {
	Hits []core.MemoryHit
	More int
}

// LeftOut returns the best candidates that the turn did not get.
func (r turnRow) LeftOut() leftOut {
	if r.Result == nil {
		return leftOut{}
	}
	all := slices.Concat(r.Result.Withheld, r.Result.Rejected)
	shown := min(len(all), maxLeftOut)
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
	// maxPrompt bounds a prompt in the list, in characters.
	maxPrompt = 400
)

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
		all.Turns, all.More = nil, 0
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

// turnRows counts the tokens of turns.
func turnRows(all Turns) (rows []turnRow) {
	for _, t := range all.Turns {
		row := turnRow{Entry: t}
		for _, g := range t.Passages() {
			row.Tokens += g.Tokens
		}
		rows = append(rows, row)
	}
	return rows
}

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
	all, err := v.memory.Turns(v.r.Context(), TurnsRequest{Turn: id})
	if err != nil {
		return err
	}
	rows := turnRows(all)
	at := slices.IndexFunc(rows, func(row turnRow) bool { return row.ID == id })
	if at < 0 {
		return &httpapi.Error{Status: http.StatusNotFound, Message: "this turn is not in the journal, or no longer"}
	}
	p := turnPage{turnRow: rows[at], Off: all.Unkept}
	p.Logged = v.logged(p.Session)
	if r := p.Result; r != nil {
		for _, hits := range [][]core.MemoryHit{r.Hits, r.Withheld, r.Rejected} {
			v.readAgain(hits)
		}
		p.Candidates = candidatesOf(*r)
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

// readAgain replaces the beginnings of texts by the whole, where the index still has it.
func (v visit) readAgain(hits []core.MemoryHit) {
	for i, h := range hits {
		chunks, err := v.memory.Chunks(v.r.Context(), h.Path)
		if at := slices.IndexFunc(chunks, func(c core.MemoryHit) bool { return c.ID == h.ID }); err == nil && at >= 0 {
			hits[i].Text = chunks[at].Text
		}
	}
}
