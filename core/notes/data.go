package notes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/markdown/summary"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
)

// Folders of a Data.
const (
	FactsFolder    = "facts"
	EpisodesFolder = "episodes"
)

// A Data is a folder of Markdown files with a line "> Summary: …" under the heading. Paths are
// relative, slash-separated, and cannot leave it. It is safe for concurrent use, also by processes
// that share the journal.
type Data struct {
	within  string // "" for anywhere
	dir     string
	journal *Journal
	curated []string
	detail  string // the only folder that is written to, instead of facts and episodes; "" for these
	now     func() time.Time
}

// OpenData accepts a missing dir. It must lie in within, if set. Files named in curated are not
// written.
func OpenData(within, dir string, journal *Journal, curated ...string) *Data {
	return &Data{within: within, dir: dir, journal: journal, curated: curated, now: time.Now}
}

// ForAgent returns the folder for changes of agents.
func (d *Data) ForAgent() *Data {
	own := *d
	own.journal = d.journal.ForAgent()
	return &own
}

// In returns another folder with the same settings.
func (d *Data) In(within, dir string) *Data {
	other := *d
	other.within, other.dir = within, dir
	return &other
}

// OnlyIn returns the folder with another one below it to write to, instead of facts and episodes.
func (d *Data) OnlyIn(detail string) *Data {
	own := *d
	own.detail = detail
	return &own
}

// Errors of Data.
var (
	// ErrNoFile means that a memory file does not exist.
	ErrNoFile = errors.New("there is no such memory file")
	// ErrNoEntry means that there is no text to append.
	ErrNoEntry = errors.New("the entry is empty")
	// ErrUnseen, which Data never returns, means that a change would overwrite text that its author
	// did not see.
	ErrUnseen = errors.New("withheld text cannot be overwritten")
)

// root resolves links.
func (d *Data) root() (string, error) {
	root := paths.Resolve(d.dir)
	if d.within != "" {
		if _, inside := paths.Within(paths.Resolve(d.within), root); !inside {
			return "", fmt.Errorf("%w: the memory folder %s leads out of %s", ErrPath, d.dir, d.within)
		}
	}
	return root, nil
}

// makeRoot is root for a folder that need not exist.
func (d *Data) makeRoot() (string, error) {
	root, err := d.root()
	if err != nil {
		return "", err
	}
	if err := safefile.MakeFolder(root, 0o644); err != nil {
		return "", fmt.Errorf("memory folder: %w", err)
	}
	return root, nil
}

// Read returns the text of a file.
func (d *Data) Read(ctx context.Context, name string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	name, err := checkPath(name)
	if err != nil {
		return "", err
	}
	root, err := d.root()
	if err != nil {
		return "", err
	}
	_ = d.journal.Settle(ctx) // reading works without the journal
	text, exists, err := readFile(root, name)
	switch {
	case err != nil:
		return "", fmt.Errorf("memory file %s: %w", name, err)
	case !exists:
		return "", fmt.Errorf("%w: %s; memory_read without a path lists them", ErrNoFile, name)
	}
	return text, nil
}

// A Written is the result of changing a file.
type Written struct {
	Path     string      `json:"path"`
	Summary  string      `json:"summary"`
	Created  bool        `json:"created,omitempty"`
	Applied  int         `json:"appliedCount"`     // patches that were made
	Failed   []string    `json:"failed,omitempty"` // why each of the others was not
	Redacted []Redaction `json:"redacted,omitempty"`
	Diff     string      `json:"diff,omitempty"`
	Remark   string      `json:"remark,omitempty"` // what else the author should know
}

// A Patch replaces a text that a file has exactly once.
type Patch struct {
	OldText string `json:"oldText" jsonschema:"text to find, exactly as it stands in the file, and only once"`
	NewText string `json:"newText" jsonschema:"what replaces it"`
}

// Write creates or overwrites a file.
func (d *Data) Write(ctx context.Context, name, content string) (Written, error) {
	return d.change(ctx, "write", name, writing(content))
}

// Patch replaces, in order, texts that occur exactly once, and skips the others; with all it
// replaces all or nothing.
func (d *Data) Patch(ctx context.Context, name string, patches []Patch, all bool) (Written, error) {
	return d.change(ctx, "patch", name, patching(patches, all))
}

// Append adds a Markdown block to the file AppendedTo names. summary replaces the file's; ""
// generates it.
func (d *Data) Append(ctx context.Context, name, entry, summary string) (Written, error) {
	return d.change(ctx, "append", d.AppendedTo(name), appending(entry, summary, d.now()))
}

// AppendedTo returns name or this month's episodes.
func (d *Data) AppendedTo(name string) string {
	if name == "" {
		return EpisodesFolder + "/" + d.now().Format("2006-01") + ".md"
	}
	return name
}

func (d *Data) change(ctx context.Context, what, name string, revise revision) (Written, error) {
	name, err := d.checkWritten(name)
	if err != nil {
		return Written{}, err
	}
	root, err := d.makeRoot()
	if err != nil {
		return Written{}, err
	}
	w := Written{Path: name}
	_, err = d.journal.Do(ctx, what+" "+name, func() ([]Edit, error) {
		before, exists, err := readFile(root, name)
		if err != nil {
			return nil, fmt.Errorf("memory file %s: %w", name, err)
		}
		after, err := revise.apply(&w, before, exists)
		if err != nil {
			return nil, err
		}
		w.Diff = diff(name, before, after)
		return []Edit{{Dir: root, Name: name, Before: before, After: after, Created: !exists}}, nil
	})
	return w, err
}

// List returns facts, then others, then episodes, each by name. A file without a summary gets a
// generated one, and the summary of an unreadable file says why.
func (d *Data) List(ctx context.Context) ([]Item, error) {
	root, err := d.root()
	if err != nil {
		return nil, err
	}
	_ = d.journal.Settle(ctx)
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
		info, err := entry.Info()
		if name, wrong := checkPath(filepath.ToSlash(name)); wrong == nil && err == nil {
			item := Item{Path: name, Size: info.Size(), Changed: info.ModTime()}
			text, exists, err := readFile(root, name)
			if item.Summary = summary.For(text); err != nil {
				item.Summary = "cannot be read: " + err.Error()
			}
			if exists || err != nil {
				items = append(items, item)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("memory files: %w", err)
	}
	sortItems(items)
	return items, nil
}
