package core

import (
	"context"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/internal/suspicion"
)

// Suspicion says why a text seems to be written for a model to obey. It is a hint, not a proof.
type Suspicion = suspicion.Verdict

// What becomes of suspicious hits: Options.Injection.
const (
	// InjectionFrame returns them with MemoryHit.Suspicion, and package formatter marks them as not to be followed.
	InjectionFrame = string(suspicion.Frame)
	// InjectionWithhold returns them as Result.Withheld, without their text.
	InjectionWithhold = string(suspicion.Withhold)
	// InjectionOff judges nothing.
	InjectionOff = string(suspicion.Off)
)

// Suspect judges a text as hits are judged, for roads that show text of this memory which is no hit. With InjectionOff nothing is
// suspicious.
func (m *Manager) Suspect(ctx context.Context, text string) Suspicion {
	return m.screen.Judge(ctx, text)
}

func fingerprintOf(e embed.Embedder) string {
	if e == nil {
		return ""
	}
	return e.Fingerprint()
}

// screenEmbedder makes vectors of parts of hits, as queries: those are not kept on disk.
func screenEmbedder(options Options) suspicion.Embedder {
	if options.Embedder == nil {
		return nil
	}
	return func(ctx context.Context, texts []string) ([][]float32, error) {
		ctx, stop := context.WithTimeout(ctx, options.EmbedTimeout)
		defer stop()
		return options.Embedder.Embed(ctx, embed.Query, texts)
	}
}

// A judge says how suspicious a text is.
type judge func(text string) Suspicion

// screening makes a selection judge what it chooses, and adds the time that takes to took.
func (m *Manager) screening(ctx context.Context, s *selection, took map[string]time.Duration) {
	if m.screen.Policy == suspicion.Off {
		return
	}
	s.withhold = m.screen.Policy == suspicion.Withhold
	until := time.Now().Add(screenTime)
	if deadline, ok := ctx.Deadline(); ok {
		until = earlier(until, time.Now().Add(time.Until(deadline)/3))
	}
	s.judge = func(text string) Suspicion {
		began := time.Now()
		defer func() { took["screen"] += time.Since(began) }()
		ctx, stop := context.WithDeadline(ctx, until)
		defer stop()
		return m.screen.Judge(ctx, text)
	}
}

// screenTime is how long judging the hits of a query may wait for the embedding model, of the time left a third at most. What is
// judged later is judged by words alone: hits that were found in time are not lost to it.
const screenTime = 150 * time.Millisecond

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// suspect judges a hit, notes what it finds in it and tells whether to withhold it.
func (s *selection) suspect(hit *MemoryHit) bool {
	if s.judge == nil {
		return false
	}
	v := s.judge(hit.Text)
	for _, beside := range []string{sentence(hit.Source), hit.Request} { // what is shown beside the text
		if beside == "" || v.Suspicious {
			continue
		}
		if of := s.judge(beside); of.Suspicious {
			v = of
		}
	}
	if hit.Explain != nil {
		hit.Explain.Suspicion = &v.Score
	}
	if !v.Suspicious {
		return false
	}
	hit.Suspicion = &v
	hit.Request = "" // it stands outside of what is marked
	return s.withhold
}

// sentence is what a file's name says, if it says as much as a sentence; "" else. A name is shown to the model, too.
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

// withhold takes out of a hit what a model must not see.
func withhold(hit MemoryHit, explain bool) MemoryHit {
	hit.Text, hit.Request = "", ""
	if !explain {
		v := hit.Suspicion.WithoutExcerpts()
		hit.Suspicion = &v
	}
	return hit
}
