package curated

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/memcore/memcore/internal/git/gitignore"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/safefile/secretfile"
)

// A candidate is a memory file that may be given.
type candidate struct {
	file    string // absolute
	tier    Tier
	kind    Kind
	base    string // folder that its globs are relative to
	reason  string // why it is not given; "" if it is
	inBeans bool   // its links may lead anywhere
	plugin  string // folder of its plugin, if that is trusted separately

	untrusted bool // is the reason
	*parsed
	*body // once it is given
}

// conditional says when a conditional file applies; "" for other files.
func (c candidate) conditional() string {
	h := c.head
	switch {
	case len(h.Triggers) > 0 && len(h.Globs) > 0:
		return "it applies to requests with " + quotedList(h.Triggers) + " and to paths like " + quotedList(h.Globs)
	case len(h.Triggers) > 0:
		return "it applies to requests with " + quotedList(h.Triggers)
	case len(h.Globs) > 0:
		return "it applies to paths like " + quotedList(h.Globs)
	}
	return ""
}

func quotedList(all []string) string { return `"` + strings.Join(all, `", "`) + `"` }

// A request is one call of a Layer.
type request struct {
	ctx     context.Context
	o       Options
	names   paths.Names
	project string
	beans   string   // links resolved; "" if there is none
	data    []string // the folder of Options.Data, as set and with links resolved

	mu       sync.Mutex
	covered  map[string]string // see covering
	warnings []Warning
}

type finder struct {
	*request
	exclude gitignore.Patterns
	ignores gitignore.Cache
	readDir func(string) ([]fs.DirEntry, error) // of a scan
}

// newFinder takes options with defaults.
func newFinder(ctx context.Context, o Options) *finder {
	q := &request{ctx: ctx, o: o, project: projectOf(o), covered: map[string]string{}}
	q.names = o.names(q.project)
	if o.Beans != "" {
		q.beans = paths.Resolve(o.Beans)
	}
	if data := o.Data; data != "" {
		if !filepath.IsAbs(data) {
			data = filepath.Join(q.project, data)
		}
		q.data = slices.DeleteFunc([]string{data, paths.Resolve(data)}, func(folder string) bool { return folder == q.project })
	}
	return &finder{request: q, exclude: gitignore.Compile(o.Exclude), readDir: os.ReadDir}
}

func (r *request) warn(path string, line int, text string) {
	r.report(Warning{Path: path, Line: line, Text: text})
}

func (r *request) report(w Warning) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.warnings, w) {
		r.warnings = append(r.warnings, w)
	}
}

// covering returns the folder that was trusted, or "", also after errors.
func (r *request) covering(folder string) string {
	r.mu.Lock()
	root, known := r.covered[folder]
	r.mu.Unlock()
	if known || r.o.Trust == nil {
		return root
	}
	root, err := r.o.Trust.Covering(folder)
	if err != nil {
		r.warn("", 0, err.Error())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.covered[folder] = root
	return root
}

// rootOf returns the folder to open a file through.
func (r *request) rootOf(real string) (string, error) {
	if _, inside := below(r.beans, real); r.beans != "" && inside {
		return r.beans, nil
	}
	root := r.covering(filepath.Dir(real))
	if _, inside := below(root, real); root != "" && !inside {
		return "", errOutside
	}
	return root, nil
}

// discover finds the files of all tiers, the lowest priority first.
func (r *finder) discover() ([]candidate, error) {
	var global, plugins, project []candidate
	group, ctx := errgroup.WithContext(r.ctx)
	group.Go(func() error { global = r.global(); return ctx.Err() })
	group.Go(func() error { plugins = r.plugins(); return ctx.Err() })
	group.Go(func() (err error) { project, err = r.inProject(ctx); return err })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(global, plugins, r.mounted(), project), r.ctx.Err()
}

// mounted finds the files of Options.Mounts. Their rules match paths of the project.
func (r *finder) mounted() (found []candidate) {
	for _, m := range r.o.Mounts {
		some := r.folder(m.Folder, Project)
		for i := range some {
			some[i].base = r.project
		}
		found = append(found, some...)
	}
	return found
}

func (r *finder) global() []candidate {
	if r.o.Beans == "" {
		return nil
	}
	found := r.markdownIn(filepath.Join(r.o.Beans, "memories"), candidate{tier: Global, kind: Note, base: r.project})
	found = append(found, r.namedIn(r.o.Beans, candidate{tier: Global, base: r.project})...)
	found = append(found, r.rules(r.o.Beans, Global, r.project)...)
	for i := range found {
		found[i].inBeans = true
	}
	return found
}

// inOriginal returns the path in Options.Original that corresponds to a path of the project, or ""
// if the path is outside the project or there is no original. The file need not exist.
func (r *request) inOriginal(path string) string {
	rel, inside := below(r.project, path)
	if r.o.Original == "" || !inside {
		return ""
	}
	return filepath.Join(r.o.Original, rel)
}

// original returns the file of Options.Original that a file of the project may be a trusted copy
// of, or "".
func (r *request) original(path string) string {
	there := r.inOriginal(path)
	if !r.o.TrustCopies || there == "" {
		return ""
	}
	if there = paths.Resolve(there); r.covering(filepath.Dir(there)) == "" {
		return ""
	}
	return there
}

// isOriginal reports whether a file has the bytes of a trusted original.
func (r *request) isOriginal(file string) bool {
	there := r.original(file)
	if there == "" || secretfile.Reason(file) != "" || secretfile.Reason(there) != "" {
		return false
	}
	rel, _ := below(r.project, file)
	root := r.covering(filepath.Dir(there))
	within, inside := below(root, there)
	here, _, failed := safefile.ReadFile(r.project, rel, maxFile)
	trusted, _, err := safefile.ReadFile(root, within, maxFile)
	return inside && failed == nil && err == nil && bytes.Equal(here, trusted)
}

// distrust refuses a candidate whose folder is not trusted.
func (r *finder) distrust(c *candidate, folder string) {
	if c.reason == "" && r.covering(paths.Resolve(folder)) == "" && !r.isOriginal(c.file) {
		c.reason, c.untrusted = "its folder is not trusted", true
	}
}

// inProject goes down to Dir, and below with Children.
func (r *finder) inProject(ctx context.Context) ([]candidate, error) {
	var found []candidate
	chain := chainOf(r.project, r.o.Dir)
	if r.o.NoParents {
		chain = chain[len(chain)-1:]
	}
	for _, dir := range chain {
		found = append(found, r.folder(dir, Project)...)
	}
	if !r.o.Children || r.covering(r.o.Dir) == "" && r.original(filepath.Join(r.o.Dir, "x")) == "" {
		return found, ctx.Err()
	}
	dirs, err := r.scan(ctx, r.o.Dir)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		found = append(found, r.folder(dir, Directory)...)
	}
	return distinct(found), nil
}

func (r *finder) folder(dir string, tier Tier) []candidate {
	template, hidden := candidate{tier: tier, base: dir}, filepath.Join(dir, r.o.Folder)
	found := slices.Concat(r.namedIn(hidden, template), r.namedIn(dir, template), r.rules(hidden, tier, dir))
	for i := range found {
		from := dir
		if _, inside := below(r.project, found[i].file); !inside { // of Original
			from = filepath.Dir(found[i].file)
		}
		r.distrust(&found[i], from)
	}
	return found
}

// namedIn finds files by name, and their private neighbours.
func (r *finder) namedIn(dir string, template candidate) []candidate {
	var found []candidate
	for _, name := range r.o.Names {
		for _, file := range []struct {
			name string
			kind Kind
		}{{name, Instructions}, {LocalName(name), Private}} {
			path := filepath.Join(dir, file.name)
			_, err := os.Lstat(path)
			if there := r.inOriginal(path); file.kind == Private && there != "" && isMissing(err) {
				path = there
				_, err = os.Lstat(path)
			}
			if err != nil {
				if !isMissing(err) {
					r.warn(r.names.Of(path), 0, "cannot be accessed: "+reasonOf(err).Error())
				}
				continue
			}
			c := template
			c.file, c.kind = path, file.kind
			if c.kind == Private && r.o.NoLocal {
				c.reason = "files that end in .local.md are turned off"
			}
			found = append(found, c)
		}
	}
	return found
}

// LocalName names the private neighbour: BEANS.local.md for BEANS.md.
func LocalName(name string) string {
	ext := filepath.Ext(name)
	return strings.TrimSuffix(name, ext) + ".local" + ext
}

// markdownIn sorts the files by name.
func (r *finder) markdownIn(dir string, template candidate) []candidate {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if !isMissing(err) {
			r.warn(r.names.Of(dir), 0, "cannot be read: "+reasonOf(err).Error())
		}
		return nil
	}
	var found []candidate
	for _, entry := range entries {
		if !entry.IsDir() && isMarkdown(entry.Name()) && !strings.HasPrefix(entry.Name(), ".") {
			c := template
			c.file = filepath.Join(dir, entry.Name())
			found = append(found, c)
		}
	}
	return found
}

// deepestRules bounds the nesting of folders of rules.
const deepestRules = 5

// rules finds those in subfolders last.
func (r *finder) rules(hidden string, tier Tier, base string) []candidate {
	var found []candidate
	var walk func(dir string, depth int)
	walk = func(dir string, depth int) {
		found = append(found, r.markdownIn(dir, candidate{tier: tier, kind: Rule, base: base})...)
		entries, err := os.ReadDir(dir)
		if err != nil || depth == deepestRules {
			return
		}
		for _, entry := range entries {
			if entry.IsDir() {
				walk(filepath.Join(dir, entry.Name()), depth+1)
			}
		}
	}
	walk(filepath.Join(hidden, "rules"), 0)
	return found
}
