package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/internal/sanitize"
	"github.com/memcore/memcore/internal/suspicion"
)

// shownFiles are facts and episodes as a model is shown them: without secrets and hidden characters, and those of a folder that is not trusted made safe as all
// that is retrieved is. A repository may bring some.
type shownFiles struct {
	*notes.Data
	*app
	screen *suspicion.Screen
}

func (f shownFiles) shown(ctx context.Context, text string) string {
	v := f.screen.Judge(ctx, text) // agents write these files, from what they have read
	if v.Suspicious && f.screen.Policy == suspicion.Withhold {
		text = v.Redact(text, suspicion.Gap)
		v.Suspicious = false
	}
	if text = f.safe(text); v.Suspicious {
		text = suspicion.Mark + "\n" + suspicion.Quote(text)
	}
	return text
}

// line is shown for what stands on one line, such as a summary or a statement.
func (f shownFiles) line(ctx context.Context, text string) string { return oneLine(f.shown(ctx, text)) }

// name is line for names and headings: those that say less than a sentence order nothing, and are not judged, since single words look like anything.
func (f shownFiles) name(ctx context.Context, text string) string {
	if len(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })) < wordsOfSentence {
		return oneLine(f.safe(text))
	}
	return f.line(ctx, text)
}

// wordsOfSentence is how many words say as much as a sentence.
const wordsOfSentence = 5

// safe is a text without secrets and hidden characters, and made safe if its folder is not trusted.
func (f shownFiles) safe(text string) string {
	text, _ = notes.Clean(text)
	if !f.trusted() {
		text, _ = formatter.Sanitize(text)
	}
	return text
}

func (f shownFiles) trusted() bool {
	folder, err := f.trust().Covering(f.project)
	return err == nil && folder != ""
}

// shownFiles are the files of the data folder.
func (a *app) shownFiles() (shownFiles, error) {
	data, err := a.data()
	if err != nil {
		return shownFiles{}, err
	}
	at, err := a.place()
	if err != nil {
		return shownFiles{}, err
	}
	embedder, err := a.embedder(at)
	if err != nil {
		return shownFiles{}, err
	}
	screen, err := a.screen(embedder)
	return shownFiles{data, a, screen}, err
}

// screen judges what is shown to models by the configured policy.
func (a *app) screen(embedder embed.Embedder) (*suspicion.Screen, error) {
	policy := suspicion.Policy(a.settings.Injection.Policy)
	if embedder == nil {
		return suspicion.NewScreen(policy, "", nil)
	}
	return suspicion.NewScreen(policy, embedder.Fingerprint(), func(ctx context.Context, texts []string) ([][]float32, error) {
		return embedder.Embed(ctx, embed.Query, texts)
	})
}

// Read implements notes.Files.
func (f shownFiles) Read(ctx context.Context, name string) (string, error) {
	text, err := f.Data.Read(ctx, name)
	return f.shown(ctx, text), err
}

// List implements notes.Files.
func (f shownFiles) List(ctx context.Context) ([]notes.Item, error) {
	items, err := f.Data.List(ctx)
	for i := range items {
		items[i].Path, items[i].Summary = f.name(ctx, items[i].Path), f.line(ctx, items[i].Summary)
	}
	return items, err
}

// Write implements notes.Files. What a model was not shown of a file it cannot have meant to throw away. Secrets are meant to go.
func (f shownFiles) Write(ctx context.Context, name, content string) (notes.Written, error) {
	before, err := f.Data.Read(ctx, name)
	if err != nil {
		before = "" // there is none, or Data says what is wrong
	}
	if f.loses(ctx, before, content) {
		return notes.Written{}, fmt.Errorf("%s: %w: parts of it were not shown to you: change others with memory_patch, add with memory_append, or ask the person to look at the file", name, notes.ErrUnseen)
	}
	if err := noRemarks(name, before, content); err != nil {
		return notes.Written{}, err
	}
	return f.told(ctx)(f.Data.Write(ctx, name, content))
}

// Patch implements notes.Files.
func (f shownFiles) Patch(ctx context.Context, name string, patches []notes.Patch, all bool) (notes.Written, error) {
	for _, p := range patches {
		if err := noRemarks(name, p.OldText, p.NewText); err != nil {
			return notes.Written{}, err
		}
	}
	return f.told(ctx)(f.Data.Patch(ctx, name, patches, all))
}

// Append implements notes.Files.
func (f shownFiles) Append(ctx context.Context, name, entry, summary string) (notes.Written, error) {
	name = f.AppendedTo(name)
	if err := noRemarks(name, "", entry+"\n"+summary); err != nil {
		return notes.Written{}, err
	}
	if before, err := f.Data.Read(ctx, name); err == nil && summary != "" && f.loses(ctx, notes.SummaryOf(before), summary) {
		return notes.Written{}, fmt.Errorf("%s: %w: the summary that is there was not shown to you: append without one", name, notes.ErrUnseen)
	}
	return f.told(ctx)(f.Data.Append(ctx, name, entry, summary))
}

// told makes what a change has done fit to be shown: a summary is made of the file, also of what is withheld.
func (f shownFiles) told(ctx context.Context) func(notes.Written, error) (notes.Written, error) {
	return func(w notes.Written, err error) (notes.Written, error) {
		w.Summary = f.line(ctx, w.Summary)
		return w, err
	}
}

// loses tells whether a text that takes the place of another lacks a line of what shown left out of that one.
func (f shownFiles) loses(ctx context.Context, before, after string) bool {
	before = notes.WithoutSummary(before)
	var unseen []string
	if f.screen.Policy == suspicion.Withhold {
		for _, part := range f.screen.Judge(ctx, before).Parts(before) {
			for line := range strings.Lines(part) {
				unseen = append(unseen, strings.TrimSpace(line))
			}
		}
	}
	if !f.trusted() {
		for line := range strings.Lines(before) {
			if _, findings := formatter.Sanitize(line); slices.ContainsFunc(findings, func(found formatter.Finding) bool { return found.Kind == "override" }) {
				unseen = append(unseen, strings.TrimSpace(line))
			}
		}
	}
	return slices.ContainsFunc(unseen, func(part string) bool { return !strings.Contains(after, part) })
}

// noRemarks refuses a text with remarks that shown puts into texts, if the one whose place it takes has not got them itself: they would
// stay for ever, and say of a file what is not so.
func noRemarks(name, before, after string) error {
	for _, remark := range []string{suspicion.Gap, suspicion.Mark, sanitize.Withheld} {
		if strings.Count(after, remark) > strings.Count(before, remark) {
			return fmt.Errorf("%s: %w: %q is a remark about it, not part of it: leave it out", name, notes.ErrUnseen, remark)
		}
	}
	return nil
}
