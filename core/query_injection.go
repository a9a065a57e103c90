package core

import (
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/injection"
)

// Injection says why a text seems to instruct a model. It is a hint, not a proof.
type Injection = injection.Verdict

// Values of Options.Injection.
const (
	// InjectionFrame sets MemoryHit.Injection, which package formatter marks.
	InjectionFrame = string(injection.Frame)
	// InjectionWithhold moves suspicious hits to Result.Withheld, without their text.
	InjectionWithhold = string(injection.Withhold)
	// InjectionOff judges no hits.
	InjectionOff = string(injection.Off)
)

// Judge judges all that a model may see of a hit, as queries do. With InjectionOff nothing is
// suspicious.
func (m *Manager) Judge(hit MemoryHit) Injection {
	return m.injections.Judge(hit.shown(), m.options.originOf(&hit))
}

// isPlanted reports whether a statement reads like an instruction that somebody has planted.
func (m *Manager) isPlanted(s Statement) bool {
	return m.Judge(MemoryHit{Kind: source.KindConversation, Speaker: "user", Path: s.Path, Text: s.Text}).Flagged || m.injections.Seizes(s.Text)
}

// shown is all that a block shows of a hit: its text, whose lines count from the first, and what
// stands beside it.
func (h *MemoryHit) shown() string {
	all := []string{h.Text, h.Request, h.Reply}
	if relevance.IsName(h.Speaker) {
		all = append(all, h.Speaker)
	}
	for _, name := range []string{h.Path, h.Source, h.Session, h.Branch} {
		if said := Sentence(name); !slices.Contains(all, said) {
			all = append(all, said)
		}
	}
	return strings.Join(slices.DeleteFunc(all, func(text string) bool { return text == "" }), "\n\n")
}

// Sentence returns the words of a name, of a file or a heading, if they could be a sentence; else
// "". A model reads names, too.
func Sentence(name string) string {
	name, _, _ = strings.Cut(name, "#L")
	if extension := path.Ext(name); len(extension) <= maxExtension {
		name = strings.TrimSuffix(name, extension)
	}
	name = paths.Unspell(name)
	words := strings.Join(strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }), " ")
	if len(strings.Fields(spaced(words))) < wordsOfSentence {
		return ""
	}
	return words
}

// wordsOfSentence is how many words can give an order; a character of a script without blanks
// counts as one.
const wordsOfSentence = 5

// maxExtension is how long ".jsonl" is; what is longer may say something.
const maxExtension = 6

// originOf says who wrote a hit.
func (o *Options) originOf(hit *MemoryHit) injection.Origin {
	switch {
	case hit.Kind == source.KindDocument, slices.ContainsFunc(o.Saved, func(folder string) bool { return hit.Path == folder || strings.HasPrefix(hit.Path, folder+"/") }):
		return injection.Foreign
	case hit.Kind == source.KindMarkdown && hit.Session != "": // models write the notes of sessions
		return injection.Foreign
	case hit.Kind == source.KindConversation:
		return injection.OfSpeaker(hit.Speaker)
	}
	return injection.Own
}

func fingerprintOf(e embed.Embedder) string {
	if e == nil {
		return ""
	}
	return e.Fingerprint()
}

// A judge says whether what a model may see of a hit is suspicious.
type judge func(hit *MemoryHit) Injection

// judgeHits sets q.judge, which adds its time to q.took.
func (q *query) judgeHits() {
	filter := q.m.injections
	if filter.Policy == injection.Off {
		return
	}
	q.withhold = filter.Policy == injection.Withhold
	q.judge = func(hit *MemoryHit) Injection {
		began := time.Now()
		defer func() { q.took["injection"] += time.Since(began) }()
		return q.m.Judge(*hit)
	}
}

// flag judges a hit, marks it, and reports whether to withhold it.
func (s *selection) flag(hit *MemoryHit) bool {
	if s.judge == nil {
		return false
	}
	v := s.judge(hit)
	if hit.Explain != nil {
		hit.Explain.Injection = &v.Score
	}
	if !v.Flagged {
		return false
	}
	hit.Injection = &v
	hit.Request = "" // it is outside of the text that is marked
	if s.judge(&MemoryHit{Kind: hit.Kind, Speaker: hit.Speaker}).Flagged {
		hit.Speaker = ""
	}
	return s.withhold
}

// withhold removes what a model must not see.
func withhold(hit MemoryHit, explain bool) MemoryHit {
	hit.Text, hit.Request = "", ""
	if !explain {
		v := hit.Injection.WithoutExcerpts()
		hit.Injection = &v
	}
	return hit
}
