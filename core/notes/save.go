package notes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/internal/markdown/section"
)

// savedSection is for saves that name none.
const savedSection = "Auto-saved Memories"

// Targets of a save.
const (
	TargetProject = "project"
	TargetGlobal  = "global"
	// TargetService is an Elsewhere: a memory service.
	TargetService = "service"
)

// A SaveRequest holds the arguments of save_memory. JSON may name Content "fact" and Target
// "scope".
type SaveRequest struct {
	Content    string `json:"content" jsonschema:"the text to remember, Markdown; one line becomes an item of a list"`
	Section    string `json:"section,omitempty" jsonschema:"heading to add it under, such as Code Style"`
	Target     string `json:"target,omitempty" jsonschema:"where to save it: project (default) or global"`
	Private    bool   `json:"private,omitempty" jsonschema:"true to keep it out of git"`
	Supersedes string `json:"supersedes,omitempty" jsonschema:"the older statement that this one corrects, in its words or as a citation such as BEANS.md#L5"`
	// Path is for the tool: Save writes curated memory.
	Path string `json:"path,omitempty" jsonschema:"memory file to append to instead, such as facts/user.md; episodes is this month's file of solved tasks; in session/overview.md, the state of this session, it replaces sections"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *SaveRequest) UnmarshalJSON(data []byte) error {
	type plain SaveRequest
	both := struct {
		*plain
		Fact  string `json:"fact"`
		Scope string `json:"scope"`
	}{plain: (*plain)(r)}
	err := json.Unmarshal(data, &both)
	r.Content, r.Target = cmp.Or(r.Content, both.Fact), cmp.Or(r.Target, both.Scope)
	return err
}

// A Change is a save or forget in a file.
type Change struct {
	Path     string      `json:"path"` // as shown
	File     string      `json:"file"` // absolute
	Line     int         `json:"line"` // of the text afterwards
	Diff     string      `json:"diff"` // unified
	Also     string      `json:"-"`    // another file that changes, absolute; "" for none
	Redacted []Redaction `json:"redacted,omitempty"`
	Record   string      `json:"-"` // that undoes it, once it is made
	texts    []revised
}

// revised is a file before and after a change.
type revised struct{ path, before, after string }

// Version names the files before the change.
func (c Change) Version() string {
	var all []string
	for _, t := range c.texts {
		all = append(all, Version(t.before))
	}
	if len(all) == 1 {
		return all[0]
	}
	return sum(strings.Join(all, "\n"))
}

// LosesSecret reports whether a secret leaves the files. The journal does not keep it.
func (c Change) LosesSecret() bool {
	return slices.ContainsFunc(c.texts, func(t revised) bool {
		before := countSecrets(t.before)
		return before > 0 && countSecrets(t.after) < before
	})
}

// CanBeUndone reports whether the journal keeps the change: there is no secret in or between its
// lines.
func (c Change) CanBeUndone() bool {
	return !slices.ContainsFunc(c.texts, func(t revised) bool { return hunkOf(Edit{Before: t.before, After: t.after}).Secret })
}

// ShownDiff is Diff without secrets and invisible characters.
func (c Change) ShownDiff() string {
	var all strings.Builder
	for _, t := range c.texts {
		all.WriteString(diff(t.path, joined(Shown(t.before)), joined(Shown(t.after))))
	}
	return all.String()
}

// A Saved is the result of a save.
type Saved struct {
	Change
	Written bool `json:"written"`
	// Reason says why nothing was written.
	Reason string `json:"reason,omitempty"`
	// Ignored is the .gitignore file that now hides a private file.
	Ignored string `json:"ignored,omitempty"`
	// Waiting is a proposal's ID.
	Waiting string `json:"waiting,omitempty"`
	// Remark is that of SaveOptions.
	Remark string `json:"remark,omitempty"`
}

// SaveOptions configure a Saver.
type SaveOptions struct {
	// Confirm is asked first; nil means yes. ErrUnasked: no one can answer.
	Confirm func(ctx context.Context, c Change) (bool, error)
	// Wait keeps a proposal after ErrUnasked; nil fails instead.
	Wait func(ctx context.Context, r SaveRequest, c Change) (id string, err error)
	// Find returns the superseded statement; nil looks in the file.
	Find func(ctx context.Context, text string) (Statement, error)
	// Waiting has texts that are not saved yet, which a correction may replace; may be nil.
	Waiting *Proposals
	// Shown makes quotes in Saved.Reason fit to show; may be nil.
	Shown func(text string) string
	// Label is for the journal; "" names the file.
	Label string
	// Remark returns what a model should know of a change that was made or waits, or ""; may be
	// nil.
	Remark func(c Change) string
	// Longest limits a text, in bytes; 0 is no limit.
	Longest int
}

// A Saver writes curated memory, safe for concurrent use.
type Saver struct {
	layer   *curated.Layer
	journal *Journal
	options SaveOptions
}

// NewSaver returns a saver for the targets of a layer.
func NewSaver(layer *curated.Layer, journal *Journal, o SaveOptions) *Saver {
	return &Saver{layer: layer, journal: journal, options: o}
}

// Errors of Save.
var (
	// ErrUnasked means that no person can be asked.
	ErrUnasked = errors.New("no person can be asked here")
	// ErrOpen means that a code fence or comment stays open.
	ErrOpen = section.ErrOpen
	// ErrNothing means that there is no text to save.
	ErrNothing = section.ErrNothing
	// ErrTarget means that a target has no such name.
	ErrTarget = errors.New("target is neither project nor global")
	// ErrStatement means that not exactly one statement is the superseded one.
	ErrStatement = errors.New("no single statement")
	// ErrNoStatement is the ErrStatement that says that no statement matches.
	ErrNoStatement = fmt.Errorf("%w: 0 statements say that", ErrStatement)
)

// Save adds a text to a memory file, unless that says so already (Saved.Reason). It plans again if
// the file changes before Confirm answers.
func (s *Saver) Save(ctx context.Context, r SaveRequest) (Saved, error) {
	saved, err := s.saveOrReplace(ctx, r)
	if s.options.Remark != nil && err == nil && (saved.Written || saved.Waiting != "") {
		saved.Remark = s.options.Remark(saved.Change)
	}
	return saved, err
}

// saveOrReplace saves a text, perhaps instead of one that waits.
func (s *Saver) saveOrReplace(ctx context.Context, r SaveRequest) (Saved, error) {
	saved, err := s.save(ctx, r)
	if s.options.Waiting == nil || !errors.Is(err, ErrNoStatement) {
		return saved, err
	}
	waiting, failed := s.options.Waiting.About(r.Supersedes)
	if failed != nil || len(waiting) != 1 {
		return saved, errors.Join(err, failed)
	}
	old := waiting[0]
	r.Supersedes = ""
	if old.Save != nil {
		r.Supersedes = old.Save.Supersedes
	}
	if saved, err = s.save(ctx, r); err == nil && (saved.Written || saved.Waiting != "" && saved.Waiting != old.ID) {
		err = s.options.Waiting.Decide(ctx, old.ID)
	}
	return saved, err
}

func (s *Saver) save(ctx context.Context, r SaveRequest) (Saved, error) {
	var found, more []Redaction
	r.Content, found = Clean(r.Content)
	r.Section, more = Clean(r.Section)
	if most, has := s.options.Longest, len(r.Content)+len(r.Section); most > 0 && has > most {
		return Saved{}, fmt.Errorf("%w: the text has %d bytes, want at most %d: shorten it", tools.ErrArguments, has, most)
	}
	if r.Target != "" && r.Target != TargetProject && r.Target != TargetGlobal {
		return Saved{}, fmt.Errorf("%w: %q", ErrTarget, r.Target)
	}
	target, err := s.layer.Target(r.Target == TargetGlobal, r.Private)
	if err != nil {
		return Saved{}, err
	}
	saved := Saved{Change: Change{Path: target.Path, File: target.File, Redacted: append(found, more...)}}
	_ = s.journal.Settle(ctx) // if it fails, so does the change itself
	old, err := s.superseded(ctx, target, r.Supersedes)
	if err != nil {
		return saved, fmt.Errorf("save to %s: supersedes %q: %w", target.Path, r.Supersedes, err)
	}
	plan := func() ([]Edit, error) { return s.plan(target, r, old, &saved.Change) }
	if _, err := plan(); err != nil {
		return s.notSaved(ctx, saved, err)
	}
	if s.options.Confirm != nil {
		yes, err := s.options.Confirm(ctx, saved.Change)
		if errors.Is(err, ErrUnasked) && s.options.Wait != nil {
			if old != nil {
				r.Supersedes = old.Lasting(r.Supersedes)
			}
			if saved.Waiting, err = s.options.Wait(ctx, r, saved.Change); err != nil {
				return saved, fmt.Errorf("save to %s: %w", target.Path, err)
			}
			saved.Reason = "it waits for a person's confirmation"
			return saved, nil
		}
		if err != nil || !yes {
			saved.Reason = "it was not confirmed"
			return saved, err
		}
	}
	// First, so that git never sees it, even after a kill.
	if saved.Ignored, err = target.KeepOutOfGit(); err != nil {
		return saved, fmt.Errorf("%s is not written, since git would see it: %w", target.Path, err)
	}
	record, err := s.journal.Do(ctx, cmp.Or(s.options.Label, "save to "+target.Path), plan)
	if err != nil {
		return s.notSaved(ctx, saved, err) // another process may have saved the same
	}
	saved.Written, saved.Record = true, record.ID
	return saved, nil
}

// notSaved makes a reason if the file says so already.
func (s *Saver) notSaved(ctx context.Context, saved Saved, err error) (Saved, error) {
	var said *section.SaidError
	if !errors.As(err, &said) {
		return saved, fmt.Errorf("save to %s: %w", saved.Path, err)
	}
	shown := *said
	if s.options.Shown != nil {
		shown.Text = s.options.Shown(said.Text)
	}
	saved.Reason = shown.Error()
	return saved, nil
}

// superseded returns the statement that a request corrects; nil for none.
func (s *Saver) superseded(ctx context.Context, target curated.Target, text string) (*Statement, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if s.options.Find != nil {
		found, err := s.options.Find(ctx, text)
		return &found, err
	}
	dir, name, err := target.Place()
	if err != nil {
		return nil, err
	}
	found, err := StatementsAbout(Statement{Path: target.Path, Dir: dir, Name: name}, text)
	if err == nil && len(found) == 0 {
		err = ErrNoStatement
	} else if err == nil && len(found) != 1 {
		err = fmt.Errorf("%w: %d in %s are about it", ErrStatement, len(found), target.Path)
	}
	if err != nil {
		return nil, err
	}
	return &found[0], nil
}

// plan returns the edits of a request in the present files.
func (s *Saver) plan(target curated.Target, r SaveRequest, old *Statement, c *Change) ([]Edit, error) {
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
	c.Diff, c.Also, c.texts = "", "", nil
	if old != nil {
		struck, err := strike(*old)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", old.Citation(), err)
		}
		if old.Dir == dir && old.Name == name {
			start = struck.After
		} else {
			edits = append(edits, struck)
			c.Also, c.Diff = old.File(), diff(old.Path, struck.Before, struck.After)
			c.texts = append(c.texts, revised{old.Path, struck.Before, struck.After})
		}
	}
	heading := r.Section
	if heading == "" {
		heading = savedSection
	}
	after, line, err := section.Add(start, heading, r.Content, true)
	if said := (*section.SaidError)(nil); old != nil && errors.As(err, &said) {
		after, line, err = start, said.Line, nil // the correction is there already
	}
	if err != nil {
		return nil, err
	}
	c.Line, c.Diff = line, diff(target.Path, before, after)+c.Diff
	c.texts = append([]revised{{target.Path, before, after}}, c.texts...)
	return append(edits, Edit{Dir: dir, Name: name, Before: before, After: after, Created: !exists, Mode: target.Mode()}), nil
}

func strike(s Statement) (Edit, error) {
	before, _, err := readFile(s.Dir, s.Name)
	if err == nil {
		s, err = s.in(before)
	}
	if err != nil {
		return Edit{}, err
	}
	after, err := section.Strike(before, s.First, s.Last, time.Now().Format(time.DateOnly))
	if err == nil {
		after, err = summarised(before, after)
	}
	return Edit{Dir: s.Dir, Name: s.Name, Before: before, After: after}, err
}

// Answer returns what the tool says to the model.
func (s Saved) Answer() string {
	text := ""
	switch {
	case s.Written:
		text = fmt.Sprintf("Saved to %s, line %d.", s.Path, s.Line)
	case s.Waiting != "":
		text = fmt.Sprintf("Not saved to %s yet: %s", s.Path, Waits(s.Waiting))
	default:
		text = fmt.Sprintf("Not saved to %s: %s.", s.Path, strings.TrimSuffix(s.Reason, "."))
	}
	if text += redactedNote(" ", s.Redacted); s.Remark != "" {
		text += " " + s.Remark
	}
	return text
}

// Waits tells a model how a person accepts a proposal.
func Waits(id string) string {
	return fmt.Sprintf("it waits for the user's yes as proposal %s. Tell them to answer \"accept %s\" in their next prompt (with memcore's hooks), to choose the prompt memory_accept, or to run 'memcore memory pending', which shows it.", id, id)
}

func redactedNote(separator string, found []Redaction) string {
	if len(found) == 0 {
		return ""
	}
	return fmt.Sprintf("%sText that looks like a secret was removed (%s).", separator, found[0].Rule)
}
