package hook

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/inject/turn"
	"github.com/memcore/memcore/internal/text/prompt"
)

// Applied are rules and memory of folders.
type Applied struct {
	Text string // under its own heading; "" if nothing applies
	// Versions of the files that apply, by path (curated.Memory.Versions).
	Versions map[string]string
	// Stamps, by path, are of documents in Text.
	Stamps map[string]string
	Rules  []journal.Rule
}

const (
	// maxHeading bounds the heading of Applied, in characters.
	maxHeading = 500
	// shareOfRules bounds rules, in characters. Hits get the rest.
	shareOfRules = maxContext / 2
)

// apply finds what applies and is new to the session.
func (a *answer) apply(ctx context.Context) {
	at := curated.Moment{Has: a.record.Keys(journal.Rules), Spent: a.record.Spent}
	if a.agent.ReadsSubfolders {
		at.Own = a.agent.OwnFiles
	}
	if a.event.Kind == Tool {
		at.Touched, at.Room = a.event.Touched, maxContext-maxHeading
	} else {
		at.Request = turn.Query(a.event.Prompt)
		at.Started = a.record.Begun
		at.Named, at.Room = named(at.Request, a.event.Dir), shareOfRules-maxHeading
	}
	began := a.record.Dir
	if a.event.Sub != "" { // a subagent works where its session began
		session := a.entry.Head
		session.Sub = ""
		record, err := a.options.Journal.Session(session)
		a.problem(err)
		began = record.Dir
	}
	var err error
	a.applied, err = a.memory.Now(ctx, began, at)
	a.problem(err)
	if runes(a.applied.Text) > maxContext { // the heading is too long
		a.applied = Applied{Rules: a.applied.Rules}
	}
}

// named returns the files that a prompt names.
func named(request, dir string) (files []string) {
	for _, path := range prompt.Paths(request) {
		if name := filepath.FromSlash(path); strings.HasPrefix(path, "/") {
			files = append(files, name)
		} else {
			files = append(files, join(dir, name))
		}
	}
	return slices.Compact(files)
}
