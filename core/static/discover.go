package static

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/memcore/memcore/internal/gitignore"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/private"
)

// A candidate is a file that may be given.
type candidate struct {
	file   string // absolute
	tier   Tier
	kind   Kind
	base   string // folder that its globs are relative to
	reason string // why it is not read
	own    bool   // of the user: its links may lead anywhere
	*content
}

// conditional says when a file applies, if it does not always; "" if it does.
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

// A reading is one look at the files.
type reading struct {
	ctx     context.Context
	o       Options
	names   paths.Names
	project string
	beans   string // links resolved; "" if there is none
	exclude gitignore.Patterns
	ignores gitignore.Cache
	targets map[place]target
	readDir func(string) ([]fs.DirEntry, error) // of a scan

	mu       sync.Mutex
	covered  map[string]string // covering folders, by folder
	looked   []string          // folders in which files were looked for
	warnings []Warning
}

func (l *Layer) reading(ctx context.Context) *reading {
	o := l.options
	r := &reading{ctx: ctx, o: o, project: projectOf(o), exclude: gitignore.Compile(o.Exclude), targets: map[place]target{}, readDir: os.ReadDir, covered: map[string]string{}}
	r.names = paths.NewNames(r.project, o.Home)
	if o.Beans != "" {
		r.beans = paths.Resolve(o.Beans)
	}
	return r
}

// projectOf returns the root of the project. A repository that a stranger made above the folder is none (private.Marks). The home folder is nobody's
// project but that of who works in it, also if it is a repository (of dotfiles, say): trust in it would be trust in everything.
func projectOf(o Options) string {
	home := ""
	if o.Home != "" {
		home = paths.Resolve(o.Home)
	}
	for at := o.Dir; ; at = filepath.Dir(at) {
		if at == home && at != o.Dir {
			break
		}
		if counts, _ := private.Marks(at, repositoryMark, o.Dir); counts {
			return at
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if _, inside := below(o.Project, o.Dir); o.Project != "" && o.Project != home && inside {
		return o.Project
	}
	return o.Dir
}

// repositoryMark is in the root of a repository.
const repositoryMark = ".git"

// repositoryOf returns the nearest folder at or above dir that is a repository, and none that a stranger made; "" if there is none.
func repositoryOf(dir string) string {
	for _, at := range repositoriesOf(dir) {
		if counts, _ := private.Marks(at, repositoryMark, dir); counts {
			return at
		}
	}
	return ""
}

// repositoriesOf returns the folders at or above dir that are repositories, the nearest first, whoever made them.
func repositoriesOf(dir string) []string {
	var all []string
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, repositoryMark)); err == nil {
			all = append(all, at)
		}
		if at == filepath.Dir(at) {
			return all
		}
	}
}

// below returns a path relative to a folder, if it is inside by its name.
func below(folder, path string) (string, bool) {
	inside, err := filepath.Rel(folder, path)
	return inside, err == nil && filepath.IsLocal(inside)
}

func (r *reading) warn(path string, line int, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := Warning{path, line, text}
	if !slices.Contains(r.warnings, w) {
		r.warnings = append(r.warnings, w)
	}
}

func (r *reading) lookIn(dir string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looked = append(r.looked, dir)
}

// folders returns the folders in which a change may change what was read.
func (r *reading) folders(found []candidate) []string {
	all := r.looked
	for _, c := range found {
		if c.content != nil {
			all = append(all, filepath.Dir(c.real))
		}
	}
	for at, t := range r.targets {
		if t.content != nil {
			all = append(all, filepath.Dir(t.content.real))
		} else if path, err := resolveImport(filepath.Dir(at.from), at.name, r.o.Home); err == nil && errors.Is(t.err, fs.ErrNotExist) {
			if root, err := r.rootOf(path); err == nil && root != "" { // it may appear
				all = append(all, filepath.Dir(path))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// covering returns the folder whose trust covers a folder; "" if there is none. What nobody can tell is not trusted.
func (r *reading) covering(folder string) string {
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

// rootOf returns the folder through which a file may be opened, its links resolved; "" if it may not be.
func (r *reading) rootOf(real string) (string, error) {
	if _, inside := below(r.beans, real); r.beans != "" && inside {
		return r.beans, nil
	}
	root := r.covering(filepath.Dir(real))
	if _, inside := below(root, real); root != "" && !inside {
		return "", errOutside
	}
	return root, nil
}

// discover finds the files of all tiers, each for itself, in order of priority, lowest first.
func (r *reading) discover() ([]candidate, error) {
	var global, plugins, project []candidate
	group, ctx := errgroup.WithContext(r.ctx)
	group.Go(func() error { global = r.global(); return ctx.Err() })
	group.Go(func() error { plugins = r.plugins(); return ctx.Err() })
	group.Go(func() (err error) { project, err = r.inProject(ctx); return err })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(global, plugins, project), r.ctx.Err()
}

func (r *reading) global() []candidate {
	if r.o.Beans == "" {
		return nil
	}
	found := r.markdownIn(filepath.Join(r.o.Beans, "memories"), candidate{tier: Global, kind: Note, base: r.project})
	found = append(found, r.named(r.o.Beans, Global)...)
	found = append(found, r.rules(r.o.Beans, Global, r.project)...)
	for i := range found {
		found[i].own = true
	}
	return found
}

// plugins finds the memory of plugins: PLUGINS/NAME/memory/*.md.
func (r *reading) plugins() []candidate {
	var found []candidate
	for _, folder := range r.o.Plugins {
		own := false
		switch rest, inHome := strings.CutPrefix(folder, "~/"); {
		case folder == "" || inHome && r.o.Home == "":
			continue
		case inHome && strings.HasPrefix(rest, defaultFolder+"/") && r.o.Beans != "":
			folder, own = filepath.Join(r.o.Beans, strings.TrimPrefix(rest, defaultFolder+"/")), true
		case inHome:
			folder = filepath.Join(r.o.Home, rest)
		case !filepath.IsAbs(folder):
			folder = filepath.Join(r.project, folder)
		}
		r.lookIn(folder)
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue // most projects have none
		}
		for _, entry := range entries {
			at := filepath.Join(folder, entry.Name(), "memory")
			main := r.namedIn(at, candidate{tier: Plugin})
			notes := r.markdownIn(at, candidate{tier: Plugin, kind: Note})
			notes = slices.DeleteFunc(notes, func(n candidate) bool {
				return slices.ContainsFunc(main, func(m candidate) bool { return m.file == n.file })
			})
			all := append(notes, main...)
			for i := range all {
				all[i].own, all[i].base = own, r.project
				if !own {
					r.distrust(&all[i], at)
				}
			}
			found = append(found, all...)
		}
	}
	return found
}

// distrust gives a candidate the reason why it is not read, if its folder is not trusted.
func (r *reading) distrust(c *candidate, folder string) {
	if c.reason == "" && r.covering(paths.Resolve(folder)) == "" {
		c.reason = notTrusted
	}
}

const notTrusted = "its folder is not trusted"

// inProject finds the project's files, from its root down to the folder the agent works in; those below it if that is wanted.
func (r *reading) inProject(ctx context.Context) ([]candidate, error) {
	var found []candidate
	for _, dir := range r.chain() {
		found = append(found, r.folder(dir, Project)...)
	}
	if !r.o.Children || r.covering(r.o.Dir) == "" {
		return found, ctx.Err()
	}
	dirs, err := r.scan(ctx, r.o.Dir)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		found = append(found, r.folder(dir, Directory)...)
	}
	return found, nil
}

// chain returns the folders from the project's root down to the one the agent works in; that alone without parents.
func (r *reading) chain() []string {
	if r.o.NoParents {
		return []string{r.o.Dir}
	}
	return chainOf(r.project, r.o.Dir)
}

// chainOf returns the folders from root down to dir, both included.
func chainOf(root, dir string) []string {
	chain := []string{dir}
	for at := dir; at != root && at != filepath.Dir(at); {
		at = filepath.Dir(at)
		chain = append(chain, at)
	}
	slices.Reverse(chain)
	return chain
}

// folder finds the memory files and rules of a folder.
func (r *reading) folder(dir string, tier Tier) []candidate {
	found := append(r.named(dir, tier), r.rules(filepath.Join(dir, r.o.Folder), tier, dir)...)
	for i := range found {
		r.distrust(&found[i], dir)
	}
	return found
}

// named finds the files that have one of the names, in the hidden folder of dir and in dir itself.
func (r *reading) named(dir string, tier Tier) []candidate {
	if tier == Global {
		return r.namedIn(dir, candidate{tier: tier, base: r.project})
	}
	like := candidate{tier: tier, base: dir}
	return append(r.namedIn(filepath.Join(dir, r.o.Folder), like), r.namedIn(dir, like)...)
}

func (r *reading) namedIn(dir string, like candidate) []candidate {
	r.lookIn(dir)
	var found []candidate
	for _, name := range r.o.Names {
		for _, file := range []struct {
			name string
			kind Kind
		}{{name, Instructions}, {LocalName(name), Private}} {
			path := filepath.Join(dir, file.name)
			if _, err := os.Lstat(path); err != nil {
				if !errors.Is(err, fs.ErrNotExist) && !notFolder(err) {
					r.warn(r.names.Of(path), 0, "cannot be looked at: "+reasonOf(err).Error())
				}
				continue
			}
			c := like
			c.file, c.kind = path, file.kind
			if c.kind == Private && r.o.NoLocal {
				c.reason = "files that end in .local.md are turned off"
			}
			found = append(found, c)
		}
	}
	return found
}

// LocalName is the name of the private file beside a memory file: BEANS.local.md beside BEANS.md.
func LocalName(name string) string {
	ext := filepath.Ext(name)
	return strings.TrimSuffix(name, ext) + ".local" + ext
}

// markdownIn finds all Markdown files of a folder, by name.
func (r *reading) markdownIn(dir string, like candidate) []candidate {
	r.lookIn(dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !notFolder(err) {
			r.warn(r.names.Of(dir), 0, "cannot be read: "+reasonOf(err).Error())
		}
		return nil
	}
	var found []candidate
	for _, entry := range entries {
		if !entry.IsDir() && isMarkdown(entry.Name()) && !strings.HasPrefix(entry.Name(), ".") {
			c := like
			c.file = filepath.Join(dir, entry.Name())
			found = append(found, c)
		}
	}
	return found
}

// deepestRules is how many folders deep rules may lie.
const deepestRules = 5

// rules finds the rules in a hidden folder, those of folders in it after its own.
func (r *reading) rules(hidden string, tier Tier, base string) []candidate {
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

// readers is how many files are read at a time.
const readers = 20

// read reads the candidates and what they import, and gives those that are the same file as an earlier one their reason.
func (r *reading) read(found []candidate) error {
	group, ctx := errgroup.WithContext(r.ctx)
	group.SetLimit(readers)
	for i := range found {
		c := &found[i]
		if c.reason != "" {
			continue
		}
		group.Go(func() error {
			content, err := r.open(c.file, c.own, maxFile)
			if err != nil {
				c.reason = "it is left out: " + err.Error()
				r.warn(r.names.Of(c.file), 0, "is left out: "+err.Error())
				return ctx.Err()
			}
			c.content = content
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	first := map[string]string{}
	for i := range found {
		c := &found[i]
		switch {
		case c.content == nil:
		case first[c.real] != "":
			c.reason, c.content = "it is the same file as "+first[c.real], nil
		default:
			first[c.real] = r.names.Of(c.file)
		}
	}
	return r.gather(found)
}
