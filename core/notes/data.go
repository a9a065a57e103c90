package notes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/memcore/memcore/internal/beneath"
	"github.com/memcore/memcore/internal/deny"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/sanitize"
	"github.com/memcore/memcore/internal/secret"
	"github.com/memcore/memcore/internal/statement"
)

// Folders of a Data.
const (
	FactsFolder    = "facts"
	EpisodesFolder = "episodes"
)

// A Data is a folder of facts and episodes, Markdown files below facts/, episodes/ and whatever else is made there. Paths are relative to
// it, slash-separated, and lead nowhere else. Each file has a line "> Summary: …" under its heading, which the index is made of. It is safe for
// concurrent use, also by several processes that share the journal.
type Data struct {
	within  string // "" is anywhere
	dir     string
	journal *Journal
	now     func() time.Time
}

// OpenData returns the data in a folder, which need not exist. It must lie within another, links resolved, if that is not "": a project must not
// lead its memory elsewhere.
func OpenData(within, dir string, journal *Journal) *Data {
	return &Data{within: within, dir: dir, journal: journal, now: time.Now}
}

// Errors of Data a caller may act on.
var (
	// ErrPath means that a path leads out of the data folder, or is none of a memory file.
	ErrPath = errors.New("not the path of a memory file")
	// ErrNoFile means that there is no such file.
	ErrNoFile = errors.New("there is no such memory file")
	// ErrNoEntry means that there is no text to append.
	ErrNoEntry = errors.New("the entry is empty")
	// ErrUnseen means that a change would lose or falsify what its author was not shown of the file. Data itself shows all, and returns it never.
	ErrUnseen = errors.New("what was withheld is not written over")
)

// check returns a path as it is used.
func check(name string) (string, error) {
	wrong := func(why string) (string, error) { return "", fmt.Errorf("%w: %.200q %s", ErrPath, name, why) }
	clean := path.Clean(name)
	switch {
	case name == "":
		return wrong("is empty; want one such as facts/user.md")
	case len(name) > 512:
		return wrong("is too long")
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return wrong("has control characters in it")
	case strings.ContainsAny(name, `\:*?"<>|`):
		return wrong(`has characters in it that are not in every system's file names`)
	case path.IsAbs(name) || !filepath.IsLocal(filepath.FromSlash(clean)):
		return wrong("leads out of the memory folder")
	case !strings.HasSuffix(clean, ".md"):
		return wrong("does not end in .md")
	}
	if seen, findings := sanitize.Reveal(name); len(findings) > 0 || seen != name {
		return wrong("has characters in it that nobody sees")
	}
	for element := range strings.SplitSeq(clean, "/") {
		if strings.HasPrefix(element, ".") || strings.TrimRight(element, ". ") != element {
			return wrong("has a hidden element, or one that ends in a dot or a blank")
		}
	}
	if reason := deny.Reason("/" + clean); reason != "" {
		return wrong("is that of a secret: " + reason)
	}
	return clean, nil
}

// root returns the folder with its links resolved, and makes it if that is wanted.
func (d *Data) root(make bool) (string, error) {
	root := paths.Resolve(d.dir)
	if d.within != "" {
		if _, inside := paths.Within(paths.Resolve(d.within), root); !inside {
			return "", fmt.Errorf("%w: the memory folder %s leads out of %s", ErrPath, d.dir, d.within)
		}
	}
	if make {
		if err := beneath.MakeFolder(root, 0o644); err != nil {
			return "", fmt.Errorf("memory folder: %w", err)
		}
	}
	return root, nil
}

// Read returns the text of a file.
func (d *Data) Read(ctx context.Context, name string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	name, err := check(name)
	if err != nil {
		return "", err
	}
	root, err := d.root(false)
	if err != nil {
		return "", err
	}
	d.settle(ctx)
	text, exists, err := readFile(root, name)
	switch {
	case err != nil:
		return "", fmt.Errorf("memory file %s: %w", name, err)
	case !exists:
		return "", fmt.Errorf("%w: %s; memory_list has those there are", ErrNoFile, name)
	}
	return text, nil
}

// settle sees to it that what is read is not the half of a change that was cut off: a draft is made of it. Where the journal cannot be
// written, files are read as they are.
func (d *Data) settle(ctx context.Context) { _ = d.journal.Settle(ctx) }

// A Written tells what a change of a file has done.
type Written struct {
	Path    string `json:"path"`
	Summary string `json:"summary"`
	Created bool   `json:"created,omitempty"`
	Applied int    `json:"appliedCount"` // patches that were made
	// Failed says of each patch that was not made why.
	Failed   []string         `json:"failed,omitempty"`
	Redacted []secret.Finding `json:"redacted,omitempty"` // secrets that were taken out
	Diff     string           `json:"diff,omitempty"`
}

// A revision makes the text of a file from the one before it, and notes in w what it has done.
type revision func(w *Written, before string, exists bool) (string, error)

// Write makes or overwrites a file.
func (d *Data) Write(ctx context.Context, name, content string) (Written, error) {
	return d.change(ctx, "write", name, writing(content))
}

func writing(content string) revision {
	return func(w *Written, before string, exists bool) (string, error) {
		var text string
		text, w.Redacted = clean(content)
		return withSummary(before, endLine(text), ""), nil
	}
}

// A Patch replaces a text that a file has exactly once.
type Patch struct {
	OldText string `json:"oldText" jsonschema:"text to find, exactly as it stands in the file, and only once"`
	NewText string `json:"newText" jsonschema:"what replaces it"`
}

// Patch replaces texts in a file, in order. Those whose old text is not there, or more than once, are left out and named; if all is set, none is
// made then.
func (d *Data) Patch(ctx context.Context, name string, patches []Patch, all bool) (Written, error) {
	return d.change(ctx, "patch", name, patching(patches, all))
}

func patching(patches []Patch, all bool) revision {
	return func(w *Written, before string, exists bool) (string, error) {
		if !exists {
			return "", fmt.Errorf("%w: %s; memory_write makes it", ErrNoFile, w.Path)
		}
		text := before
		w.Applied, w.Failed = 0, nil
		for i, p := range patches {
			n := strings.Count(text, p.OldText)
			switch {
			case p.OldText == "":
				w.Failed = append(w.Failed, fmt.Sprintf("patch %d: oldText is empty", i+1))
			case n == 0:
				w.Failed = append(w.Failed, fmt.Sprintf("patch %d: oldText is not in the file", i+1))
			case n > 1:
				w.Failed = append(w.Failed, fmt.Sprintf("patch %d: oldText is in the file %d times; give more of it", i+1, n))
			default:
				text = strings.Replace(text, p.OldText, p.NewText, 1)
				w.Applied++
			}
		}
		if all && len(w.Failed) > 0 {
			w.Applied = 0
			return before, nil
		}
		text, w.Redacted = clean(text)
		return withSummary(before, text, ""), nil
	}
}

// Append adds an entry, a Markdown block, at the end of a file, which is made if it is missing; without a name to that of this month's episodes. summary
// takes the place of the file's line, "" regenerates it.
func (d *Data) Append(ctx context.Context, name, entry, summary string) (Written, error) {
	return d.change(ctx, "append", d.AppendedTo(name), appending(entry, summary))
}

// AppendedTo is the file that Append adds to: a name, or that of this month's episodes for "".
func (d *Data) AppendedTo(name string) string {
	if name == "" {
		return EpisodesFolder + "/" + d.now().Format("2006-01") + ".md"
	}
	return name
}

func appending(entry, summary string) revision {
	return func(w *Written, before string, exists bool) (string, error) {
		entry, redacted := clean(entry)
		w.Redacted = redacted
		entry = strings.Trim(entry, "\n")
		given, more := clean(summary)
		w.Redacted = append(w.Redacted, more...)
		if strings.TrimSpace(entry) == "" {
			return "", ErrNoEntry
		}
		text := before
		if strings.TrimSpace(text) == "" {
			text = "# " + titleOf(w.Path) + "\n"
		}
		text = strings.TrimRight(text, "\n")
		between := "\n\n"
		if statement.IsItem(entry) && statement.IsItem(text[strings.LastIndexByte(text, '\n')+1:]) {
			between = "\n" // one list
		}
		return withSummary(before, text+between+entry+"\n", given), nil
	}
}

// titleOf is the heading of a file that is made: "2026-02 Episodes", "User Facts".
func titleOf(name string) string {
	base := strings.TrimSuffix(path.Base(name), ".md")
	first, size := utf8.DecodeRuneInString(base)
	base = string(unicode.ToUpper(first)) + base[size:]
	switch path.Dir(name) {
	case EpisodesFolder:
		return base + " Episodes"
	case FactsFolder:
		return base + " Facts"
	}
	return base
}

// Clean is a text without secrets and hidden characters, and what was taken out.
func Clean(text string) (string, []secret.Finding) { return clean(text) }

// clean is a text as it may be stored.
func clean(text string) (string, []secret.Finding) {
	text, _ = sanitize.Reveal(strings.ToValidUTF8(text, "\uFFFD"))
	return secret.Redact(text)
}

func endLine(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// change makes a change of one file, from its text as it is.
func (d *Data) change(ctx context.Context, what, name string, to revision) (Written, error) {
	name, err := check(name)
	if err != nil {
		return Written{}, err
	}
	root, err := d.root(true)
	if err != nil {
		return Written{}, err
	}
	w := Written{Path: name}
	_, err = d.journal.Do(ctx, what+" "+name, func() ([]Edit, error) {
		before, exists, err := readFile(root, name)
		if err != nil {
			return nil, fmt.Errorf("memory file %s: %w", name, err)
		}
		after, err := to.of(&w, before, exists)
		if err != nil {
			return nil, err
		}
		w.Diff = diff(name, before, after)
		return []Edit{{Dir: root, Name: name, Before: before, After: after, Created: !exists}}, nil
	})
	return w, err
}

// of applies a revision to a file, whose line ends stay what they are.
func (r revision) of(w *Written, before string, exists bool) (string, error) {
	plain := strings.ReplaceAll(before, "\r\n", "\n")
	after, err := r(w, plain, exists)
	if err != nil {
		return "", err
	}
	if after == plain {
		after = before
	} else if first, _, ok := strings.Cut(before, "\n"); ok && strings.HasSuffix(first, "\r") {
		after = strings.ReplaceAll(after, "\n", "\r\n")
	}
	w.Created, w.Summary = !exists, SummaryOf(after)
	return after, nil
}

// An Item is a file in the index.
type Item struct {
	Path    string `json:"path"`
	Summary string `json:"summary"`
	Size    int64  `json:"size"` // bytes
}

// List returns all memory files: facts, then others, then episodes, each by name.
func (d *Data) List(ctx context.Context) ([]Item, error) {
	root, err := d.root(false)
	if err != nil {
		return nil, err
	}
	d.settle(ctx)
	items := []Item{}
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist) && file == root:
			return filepath.SkipAll
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && file != root:
			return filepath.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		if name, err = check(filepath.ToSlash(name)); err != nil {
			return nil // not one of ours
		}
		text, exists, err := readFile(root, name)
		switch info, statErr := entry.Info(); {
		case err != nil && statErr == nil:
			items = append(items, Item{Path: name, Summary: "cannot be read: " + err.Error(), Size: info.Size()})
		case exists:
			items = append(items, Item{Path: name, Summary: SummaryOf(text), Size: int64(len(text))})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("memory files: %w", err)
	}
	sortItems(items)
	return items, nil
}

func sortItems(items []Item) {
	slices.SortFunc(items, func(a, b Item) int {
		if x, y := rank(a.Path), rank(b.Path); x != y {
			return x - y
		}
		return strings.Compare(a.Path, b.Path)
	})
}

func rank(name string) int {
	switch folder, _, _ := strings.Cut(name, "/"); folder {
	case FactsFolder:
		return 0
	case EpisodesFolder:
		return 2
	}
	return 1
}

// IndexMessage is the user message for the first iteration of a task; "" if there are no memory files.
func IndexMessage(items []Item) string {
	if len(items) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Available memory:\n")
	for _, item := range items {
		fmt.Fprintf(&b, "- %s (%s): %s\n", item.Path, sizeText(item.Size), item.Summary)
	}
	return b.String()[:b.Len()-1] + indexHint
}

// indexHint ends the message.
const indexHint = "\n\nUse memory_read to load relevant files before responding."

// sizeText is a size as the index shows it: 320B, 1.2KB.
func sizeText(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%dB", n)
	case n < 1000_000:
		return fmt.Sprintf("%.1fKB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1fMB", float64(n)/1e6)
}
