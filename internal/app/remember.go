package app

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/reflection"
	"github.com/memcore/memcore/internal/text/plain"
	"github.com/memcore/memcore/store/keyword"
)

// remembering labels the changes that a user's prompt asked for.
const remembering = "asked to remember"

// remember saves what a prompt of the user asks to remember: rules where they instruct, if the
// folder is trusted, and the rest as facts. It returns where each is; none if nothing was asked.
func (n Notes) remember(ctx context.Context, prompt string) (places []string, err error) {
	rules, facts := reflection.Asked(prompt, time.Now())
	if !n.w.Trusted() {
		rules, facts = nil, append(facts, rules...) // a rule would not be used
	}
	if len(rules)+len(facts) == 0 {
		return nil, nil
	}
	journal, err := n.Journal()
	if err != nil {
		return nil, err
	}
	data, err := n.Data()
	if err != nil {
		return nil, err
	}
	var decided []string
	saver := notes.NewSaver(n.w.Curated().Layer(), journal, notes.SaveOptions{Label: remembering})
	for _, p := range rules {
		saved, err := saver.Save(ctx, notes.SaveRequest{Content: strings.TrimPrefix(p.Text, "- "), Target: notes.TargetProject, Private: true})
		if err != nil {
			return places, err
		}
		places, decided = append(places, saved.Path), append(decided, p.ID)
	}
	facts = slices.DeleteFunc(facts, func(p notes.Proposal) bool {
		known, err := n.statements(ctx, strings.TrimPrefix(p.Text, "- "))
		if err != nil || len(known) == 0 {
			return false
		}
		places, decided = append(places, known[0].Path), append(decided, p.ID)
		return true
	})
	changes, err := data.Accept(ctx, remembering, facts)
	if err != nil {
		return places, err
	}
	for _, w := range changes {
		places = append(places, n.w.Names().Of(filepath.Join(n.w.DataDir(), filepath.FromSlash(w.Path))))
	}
	for _, p := range facts {
		decided = append(decided, p.ID)
	}
	slices.Sort(places)
	return slices.Compact(places), n.Proposals().Decide(ctx, decided...) // rules find the same in the log
}

// remembered says to the agent what remember has saved.
func remembered(places []string) string {
	if len(places) == 0 {
		return ""
	}
	return fmt.Sprintf("memcore: what the user asks to remember is saved in %s, in their words. Do not save it again, and tell them where it is; 'memcore save --undo' takes it back.", plain.OneLine(strings.Join(places, ", ")))
}

const (
	// rememberedFor is how long a model's save may be about what the user's prompt has saved.
	rememberedFor = 15 * time.Minute
	// aboutTheSame is which share of a save's words must be in what is saved.
	aboutTheSame = 0.6
)

// savedAlready returns what the user's own prompt has just saved that a model's save is about. The
// model's words are another text that nobody has agreed to.
func (n Notes) savedAlready(text string) (saved notes.Statement, ok bool) {
	journal, err := n.Journal()
	if err != nil {
		return saved, false
	}
	records, err := journal.Records()
	if err != nil {
		return saved, false
	}
	for _, r := range records {
		if r.Label != remembering || time.Since(r.At) > rememberedFor {
			continue
		}
		for _, h := range r.Edits {
			for line := range strings.Lines(h.New) {
				if item, isItem := strings.CutPrefix(line, "- "); isItem && shareOf(text, item) >= aboutTheSame {
					return notes.Statement{Path: n.w.Names().Of(h.File()), Text: strings.TrimSpace(item)}, true
				}
			}
		}
	}
	return saved, false
}

// shareOf returns which share of a text's words another text has.
func shareOf(text, other string) float64 {
	terms := keyword.NewTerms()
	has := terms.Of(other)
	asked := terms.Asked(text)
	n := 0
	for _, a := range asked {
		if slices.ContainsFunc(a.Spellings, func(spelling string) bool { return slices.Contains(has, spelling) }) {
			n++
		}
	}
	return float64(n) / float64(max(len(asked), 1))
}
