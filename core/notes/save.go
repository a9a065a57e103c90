package notes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core/static"
	"github.com/memcore/memcore/internal/secret"
	"github.com/memcore/memcore/internal/section"
)

// SavedSection is the section that memory is saved under if none is named.
const SavedSection = "Auto-saved Memories"

// Targets of a save.
const (
	TargetProject = "project"
	TargetGlobal  = "global"
)

// A SaveRequest is what save_memory is given. In JSON "fact" stands for "content" and "scope" for "target", too.
type SaveRequest struct {
	Content string `json:"content" jsonschema:"the text to remember, Markdown; one line becomes an item of a list"`
	Section string `json:"section,omitempty" jsonschema:"heading to add it under, such as Code Style; default Auto-saved Memories"`
	Target  string `json:"target,omitempty" jsonschema:"where to save it: project (default) or global"`
	Private bool   `json:"private,omitempty" jsonschema:"true for the .local.md file, which is kept out of git"`
	// Supersedes is an older statement that is struck through.
	Supersedes string `json:"supersedes,omitempty" jsonschema:"the older statement that this one corrects, in its words or as a citation such as BEANS.md#L5; it is struck through and no longer recalled"`
	// Loose adds at the end of the file if there is no Section, and takes only what says the same word by word for a duplicate. It is for what
	// people type.
	Loose bool `json:"-"`
}

// UnmarshalJSON takes both forms of parameters.
func (r *SaveRequest) UnmarshalJSON(data []byte) error {
	type plain SaveRequest
	both := struct {
		*plain
		Fact  string `json:"fact"`
		Scope string `json:"scope"`
	}{plain: (*plain)(r)}
	if err := json.Unmarshal(data, &both); err != nil {
		return err
	}
	if r.Content == "" {
		r.Content = both.Fact
	}
	if r.Target == "" {
		r.Target = both.Scope
	}
	return nil
}

// A Change is what a save would write.
type Change struct {
	Path string `json:"path"` // of the file, as shown
	File string `json:"file"` // absolute
	Line int    `json:"line"` // where the text stands afterwards
	Diff string `json:"diff"` // unified
	// Redacted are secrets that were taken out of the text.
	Redacted []secret.Finding `json:"redacted,omitempty"`
}

// A Saved tells what a save has done.
type Saved struct {
	Change
	Written bool `json:"written"`
	// Reason says why nothing was written; "" if something was.
	Reason string `json:"reason,omitempty"`
	// Ignored is the .gitignore file that was changed to keep a private file out of git, "" if none was.
	Ignored string `json:"ignored,omitempty"`
}

// SaveOptions say what a Saver may do.
type SaveOptions struct {
	// Allow are the files that may be written to, by absolute path; nil allows the four targets of the layer.
	Allow []string
	// Confirm is asked before anything is written; nil is yes.
	Confirm func(ctx context.Context, c Change) (bool, error)
	// Find returns the one statement that a SaveRequest.Supersedes means; nil looks into the file that is written to.
	Find func(ctx context.Context, text string) (Place, error)
	// Shown makes what a file says fit for who reads Saved.Reason, which quotes it; nil leaves it as it stands.
	Shown func(ctx context.Context, text string) string
	// RefuseSecrets refuses a text that holds one, instead of taking it out.
	RefuseSecrets bool
}

// A Saver writes into curated memory files. It is safe for concurrent use.
type Saver struct {
	layer   *static.Layer
	journal *Journal
	options SaveOptions
}

// NewSaver returns a saver for the targets of a layer.
func NewSaver(layer *static.Layer, journal *Journal, o SaveOptions) *Saver {
	return &Saver{layer: layer, journal: journal, options: o}
}

// Errors of Save a caller may act on.
var (
	// ErrSecret means that the text holds a secret and SaveOptions.RefuseSecrets is set.
	ErrSecret = errors.New("it holds what looks like a secret")
	// ErrNotAllowed means that the file is not one that may be written to.
	ErrNotAllowed = errors.New("this file may not be written to in this session")
	// ErrOpen means that the text would take what follows it into a code fence or a comment.
	ErrOpen = section.ErrOpen
	// ErrNothing means that there is no text to save.
	ErrNothing = section.ErrNothing
	// ErrTarget means that a target has no such name.
	ErrTarget = errors.New("target is neither project nor global")
	// ErrStatement means that not exactly one statement is the one that is superseded.
	ErrStatement = errors.New("no single statement")
)

// Save adds a text to a memory file. A text that the file has already, word by word or about, is not written again: Saved.Reason says which line has it.
// If the file changes between the question and the answer, the text is added to the file as it is then.
func (s *Saver) Save(ctx context.Context, r SaveRequest) (Saved, error) {
	var findings []secret.Finding
	r.Content, findings = clean(r.Content)
	heading, more := clean(r.Section)
	r.Section, findings = heading, append(findings, more...)
	if len(findings) > 0 && s.options.RefuseSecrets {
		return Saved{}, fmt.Errorf("%w (%s)", ErrSecret, findings[0].Rule)
	}
	target, err := s.target(r)
	if err != nil {
		return Saved{}, err
	}
	saved := Saved{Change: Change{Path: target.Path, File: target.File, Redacted: findings}}
	_ = s.journal.Settle(ctx) // what a file says by half a change does not count as said; if it fails, writing does, too, and says why
	old, err := s.superseded(ctx, target, r.Supersedes)
	if err == nil && old != nil && s.options.Allow != nil && !slices.Contains(s.options.Allow, filepath.Join(old.Dir, filepath.FromSlash(old.Name))) {
		err = fmt.Errorf("%w: %s", ErrNotAllowed, old.Path)
	}
	if err != nil {
		return saved, fmt.Errorf("save to %s: supersedes %q: %w", target.Path, r.Supersedes, err)
	}
	_, err = s.plan(target, r, old, &saved.Change)
	if reason := s.saidReason(ctx, err); reason != "" {
		saved.Reason = reason
		return saved, nil
	}
	if err != nil {
		return saved, fmt.Errorf("save to %s: %w", target.Path, err)
	}
	if s.options.Confirm != nil {
		yes, err := s.options.Confirm(ctx, saved.Change)
		if err != nil {
			return saved, err
		}
		if !yes {
			saved.Reason = "it was not confirmed"
			return saved, nil
		}
	}
	// First: git must not see what is private at any moment, and a process that ends in between would not come back to it.
	if saved.Ignored, err = target.KeepOutOfGit(); err != nil {
		return saved, fmt.Errorf("%s is not written, since git would see it: %w", target.Path, err)
	}
	_, err = s.journal.Do(ctx, "save to "+target.Path, func() ([]Edit, error) { return s.plan(target, r, old, &saved.Change) })
	if reason := s.saidReason(ctx, err); reason != "" { // another process was faster
		saved.Reason = reason
		return saved, nil
	}
	if err != nil {
		return saved, fmt.Errorf("save to %s: %w", target.Path, err)
	}
	saved.Written = true
	return saved, nil
}

func (s *Saver) saidReason(ctx context.Context, err error) string {
	var said *section.SaidError
	if !errors.As(err, &said) {
		return ""
	}
	shown := *said
	if s.options.Shown != nil {
		shown.Text = s.options.Shown(ctx, said.Text)
	}
	return shown.Error()
}

// target finds the file of a request, and checks that it may be written to.
func (s *Saver) target(r SaveRequest) (static.Target, error) {
	if r.Target != "" && r.Target != TargetProject && r.Target != TargetGlobal {
		return static.Target{}, fmt.Errorf("%w: %q", ErrTarget, r.Target)
	}
	target, err := s.layer.Target(r.Target == TargetGlobal, r.Private)
	if err != nil {
		return static.Target{}, err
	}
	if s.options.Allow == nil || slices.Contains(s.options.Allow, target.File) {
		return target, nil
	}
	return static.Target{}, fmt.Errorf("%w: %s", ErrNotAllowed, target.Path)
}

// superseded is the place of the statement that a request corrects; nil for none.
func (s *Saver) superseded(ctx context.Context, target static.Target, text string) (*Place, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if s.options.Find != nil {
		place, err := s.options.Find(ctx, text)
		return &place, err
	}
	dir, name, err := target.Place()
	if err != nil {
		return nil, err
	}
	found, err := StatementsAbout(Place{Path: target.Path, Dir: dir, Name: name}, text)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%w: %d in %s are about it", ErrStatement, len(found), target.Path)
	}
	return &found[0], nil
}

// plan are the edits that a request makes of the files as they are now.
func (s *Saver) plan(target static.Target, r SaveRequest, old *Place, c *Change) ([]Edit, error) {
	dir, name, err := target.Place()
	if err != nil {
		return nil, err
	}
	before, exists, err := readFile(dir, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", target.Path, err)
	}
	var edits []Edit
	start := before
	c.Diff = ""
	if old != nil {
		struck, err := strike(*old)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", old.Citation(), err)
		}
		if old.Dir == dir && old.Name == name {
			start = struck.After
		} else {
			edits = append(edits, struck)
			c.Diff = diff(old.Path, struck.Before, struck.After)
		}
	}
	heading := r.Section
	if heading == "" && !r.Loose {
		heading = SavedSection
	}
	after, line, err := section.Add(start, heading, r.Content, !r.Loose)
	if said := (*section.SaidError)(nil); old != nil && errors.As(err, &said) {
		after, line, err = start, said.Line, nil // what takes its place is there already
	}
	if err != nil {
		return nil, err
	}
	c.Line, c.Diff = line, diff(target.Path, before, after)+c.Diff
	e := Edit{Dir: dir, Name: name, Before: before, After: after, Created: !exists, Mode: target.Mode()}
	return append(edits, e), nil
}

// strike is the edit that strikes a statement through.
func strike(p Place) (Edit, error) {
	before, _, err := readFile(p.Dir, p.Name)
	if err == nil {
		p, err = p.within(before)
	}
	if err != nil {
		return Edit{}, err
	}
	after, err := section.Strike(before, p.First, p.Last, time.Now().Format(time.DateOnly))
	return Edit{Dir: p.Dir, Name: p.Name, Before: before, After: after}, err
}

// Answer is what the tool says to the model.
func (s Saved) Answer() string {
	var b strings.Builder
	if s.Written {
		fmt.Fprintf(&b, "Saved to %s, line %d.", s.Path, s.Line)
	} else {
		fmt.Fprintf(&b, "Not saved to %s: %s.", s.Path, strings.TrimSuffix(s.Reason, "."))
	}
	return b.String() + takenOut(" ", s.Redacted)
}

// takenOut is what an answer says at its end of secrets that were taken out, behind a separator; "" if there were none.
func takenOut(separator string, found []secret.Finding) string {
	if len(found) == 0 {
		return ""
	}
	return fmt.Sprintf("%sWhat looked like a secret was taken out (%s).", separator, found[0].Rule)
}
