package digest

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/text/prompt"
)

const (
	maxRequest   = 160 // bytes
	maxOutcome   = 200
	maxReply     = 300
	maxStatement = 300
	maxShown     = 160
	maxCommand   = 200
	maxFiles     = 3
	maxRead      = 24 << 10 // bytes of a message that are looked at
)

// Of sums up turns. If the log was read before, up to the first of turns or further, then earlier
// is its digest so far, else the zero Digest: what turns continue or repeat is replaced. redact
// takes secrets out of what is quoted of answers and tools; nil keeps all.
//
// Of a log that is read in pieces it is the same as of the whole.
func Of(turns []chunker.Turn, earlier Digest, redact func(string) string) Digest {
	if len(turns) == 0 {
		return earlier
	}
	if redact == nil {
		redact = func(text string) string { return text }
	}
	first := turns[0].Line
	s := summary{redact: redact, Digest: Digest{
		Exchanges:  before(earlier.Exchanges, func(e Exchange) bool { return e.StartLine < first }),
		Statements: before(earlier.Statements, func(s Statement) bool { return s.Line < first }),
		Failures:   before(earlier.Failures, func(f Failure) bool { return f.Line < first }),
	}}
	s.texts = make(map[string]bool, len(s.Statements))
	for _, one := range s.Statements {
		s.texts[one.Text] = true
	}
	for _, t := range turns {
		s.add(t)
	}
	return s.Digest
}

// before returns a copy of those for which keep holds.
func before[T any](all []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !keep(one) })
}

// A summary is a Digest that grows turn by turn. It keeps no other state, so that reading can go on
// from a Digest.
type summary struct {
	Digest
	redact func(string) string
	texts  map[string]bool // of Statements
}

func (s *summary) add(t chunker.Turn) {
	text := strings.TrimSpace(t.Text)
	switch {
	case t.Role == "user" && text != "" && t.Dialog != "":
		s.dialog(t, text)
	case t.Role == "user" && text != "":
		s.user(t, text)
	case (t.Role == "assistant" || t.Role == "subagent") && text != "":
		s.answer(t, text)
	}
	for _, use := range t.Tools {
		s.tool(t, use)
	}
	if e := s.current(t); e != nil {
		e.EndLine = max(e.EndLine, t.EndLine)
	}
}

// current returns the last exchange if it is of the turn's session, or nil.
func (s *summary) current(t chunker.Turn) *Exchange {
	last := len(s.Exchanges) - 1
	if last < 0 || s.Exchanges[last].Session != t.Session {
		return nil
	}
	return &s.Exchanges[last]
}

func (s *summary) begin(t chunker.Turn, request string) {
	s.Exchanges = append(s.Exchanges, Exchange{
		StartLine: t.Line, EndLine: t.EndLine, Session: t.Session, Time: t.Time, Request: request,
	})
}

func (s *summary) user(t chunker.Turn, text string) {
	text = excerpt.Head(text, maxRead)
	form := prompt.Form(text)
	s.state(t, lead(form.Own, text), false)
	e := s.current(t)
	if goesOn(form) {
		if e != nil {
			e.Interrupted = false
		} else {
			s.begin(t, excerpt.Words(line(form.Own), maxRequest))
			e = s.current(t)
		}
		e.Moments = MomentsAsked(form.Own)
		return
	}
	earlier := ""
	if e != nil {
		earlier = e.Request
		if e.Interrupted || rejects(form.Own) {
			e.Reply, e.Interrupted = excerpt.Words(line(form.Own), maxReply), false
		}
	}
	s.begin(t, requestOf(form, text, earlier))
	s.current(t).Moments = MomentsAsked(form.Own)
}

// steps are orders that finish what was talked about.
var steps = lazy.Regexp(`(?i)\b(commit|push|merge|pull|deploy|ship|release|pr|branch|main|git|now|with|as|well)\b`)

// goesOn reports whether a message only lets the agent go on.
func goesOn(form prompt.Prompt) bool {
	switch {
	case form.Pasted > 0:
		return false
	case form.Kind == prompt.Acknowledgement:
		return true
	case form.Kind != prompt.Request || len(form.Own) > 60:
		return false
	}
	rest := steps().ReplaceAllString(form.Own, "")
	if rest == form.Own || strings.ContainsAny(form.Own, "?？") {
		return false
	}
	return !strings.ContainsFunc(rest, isLetter) || prompt.Form(rest).Kind == prompt.Acknowledgement
}

// isLetter takes all bytes and characters beyond ASCII for letters.
func isLetter(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' || r >= utf8.RuneSelf }

func (s *summary) answer(t chunker.Turn, text string) {
	e := s.current(t)
	if e == nil {
		s.begin(t, chunker.Unheaded)
		e = s.current(t)
	}
	found := outcomeOf(text, s.redact)
	if found == "" {
		return
	}
	if now := worth(found); now >= good || now >= worth(e.Outcome) {
		e.Outcome = found
	}
}

func (s *summary) tool(t chunker.Turn, use chunker.ToolUse) {
	e := s.current(t)
	if e != nil && use.Output != "" {
		e.Interrupted = use.Refused // until the user says why
	}
	if use.Refused {
		return
	}
	if e != nil && !use.Failed {
		for _, file := range changed(use) {
			file = line(s.redact(file))
			if len(e.Files) < maxFiles && !slices.Contains(e.Files, file) {
				e.Files = append(slices.Clip(e.Files), file)
			}
		}
	}
	s.command(t, use)
}

// line returns a text on one line, without control characters.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
