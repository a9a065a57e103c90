package core

import (
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
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

// Judge judges the text of a hit as queries do. With InjectionOff nothing is suspicious.
func (m *Manager) Judge(hit MemoryHit) Injection {
	return m.injections.Judge(hit.Text, m.options.originOf(&hit))
}

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

// A judge says whether a text of a hit is suspicious.
type judge func(hit *MemoryHit, text string) Injection

// judgeHits sets q.judge, which adds its time to q.took.
func (q *query) judgeHits() {
	filter := q.m.injections
	if filter.Policy == injection.Off {
		return
	}
	q.withhold = filter.Policy == injection.Withhold
	q.judge = func(hit *MemoryHit, text string) Injection {
		began := time.Now()
		defer func() { q.took["injection"] += time.Since(began) }()
		return filter.Judge(text, q.m.options.originOf(hit))
	}
}

// flag judges a hit, marks it, and reports whether to withhold it.
func (s *selection) flag(hit *MemoryHit) bool {
	if s.judge == nil {
		return false
	}
	v := s.judge(hit, hit.Text)
	for _, beside := range []string{sentence(hit.Source), hit.Request} { // shown beside the text
		if beside == "" || v.Flagged {
			continue
		}
		if of := s.judge(hit, beside); of.Flagged {
			v = of
		}
	}
	if hit.Explain != nil {
		hit.Explain.Injection = &v.Score
	}
	if !v.Flagged {
		return false
	}
	hit.Injection = &v
	hit.Request = "" // it is outside of the text that is marked
	return s.withhold
}

// sentence returns the words of a file's name if they could be a sentence; else "". A model reads
// names, too.
func sentence(source string) string {
	path, _, _ := strings.Cut(source, "#")
	words := strings.FieldsFunc(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r)
	})
	if len(words) < 5 {
		return ""
	}
	return strings.Join(words, " ")
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
