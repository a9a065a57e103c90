package curated

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
)

// Files by which agents know what is installed.
const (
	// GeminiManifest names the files that Gemini CLI loads for an extension.
	GeminiManifest = "gemini-extension.json"
	geminiInstall  = ".gemini-extension-install.json" // where the extension comes from
	claudeList     = "installed_plugins.json"         // in Claude Code's folder of plugins: where each is
	codexCache     = "cache"                          // in that of Codex
)

type plugin struct {
	dir     string
	context []string // files that its manifest has an agent load, relative to dir
	inBeans bool     // and so trusted
	outside string   // its folder of Options.Plugins, links resolved, if that is not in the project
}

// plugins finds what manifests name, then memory/*.md.
func (r *finder) plugins() []candidate {
	var found []candidate
	for _, folder := range r.o.Plugins {
		for _, p := range r.pluginsIn(folder) {
			found = append(found, r.memoryOf(p)...)
		}
	}
	return found
}

// pluginsIn returns the plugins of a folder of Options.Plugins, by name.
func (r *finder) pluginsIn(folder string) []plugin {
	var template plugin
	switch rest, inHome := strings.CutPrefix(folder, "~/"); {
	case folder == "" || inHome && r.o.Home == "":
		return nil
	case inHome && strings.HasPrefix(rest, defaultFolder+"/") && r.o.Beans != "":
		folder, template.inBeans = filepath.Join(r.o.Beans, strings.TrimPrefix(rest, defaultFolder+"/")), true
	case inHome:
		folder = filepath.Join(r.o.Home, rest)
		template.outside = paths.Resolve(folder)
	case !filepath.IsAbs(folder):
		folder = filepath.Join(r.project, folder)
	default:
		template.outside = paths.Resolve(folder)
	}
	var all []plugin
	dirs := foldersIn(folder)
	if template.outside != "" {
		dirs = r.installed(folder)
	}
	for _, dir := range dirs {
		p := template
		p.dir = dir
		r.geminiExtension(&p)
		all = append(all, p)
	}
	return all
}

// installed returns the plugins in Claude Code's list, else each folder and those in Codex's cache.
func (r *finder) installed(folder string) []string {
	if _, err := os.Lstat(filepath.Join(folder, claudeList)); err == nil {
		return r.claudePlugins(folder)
	}
	var dirs []string
	for _, dir := range foldersIn(folder) {
		if filepath.Base(dir) == codexCache {
			dirs = append(dirs, codexPlugins(dir)...)
		} else {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func (r *finder) memoryOf(p plugin) []candidate {
	var found []candidate
	for _, name := range p.context {
		found = append(found, candidate{file: filepath.Join(p.dir, name), tier: Plugin, kind: Instructions})
	}
	at := filepath.Join(p.dir, "memory")
	if _, err := os.Stat(at); err == nil {
		main := r.namedIn(at, candidate{tier: Plugin})
		notes := r.markdownIn(at, candidate{tier: Plugin, kind: Note})
		notes = slices.DeleteFunc(notes, func(n candidate) bool {
			return slices.ContainsFunc(main, func(m candidate) bool { return m.file == n.file })
		})
		found = append(append(found, notes...), main...)
	}
	for i := range found {
		c := &found[i]
		c.base, c.inBeans = r.project, p.inBeans
		if name := strings.TrimSuffix(filepath.Base(c.file), ".md"); c.kind == Note && slices.Contains(r.o.Others, name) {
			c.reason = "it is for the agent " + name + " alone"
		}
		switch {
		case p.outside != "":
			r.distrustPlugin(c, p)
		case !p.inBeans:
			r.distrust(c, at)
		}
	}
	return found
}

// distrustPlugin demands trust in the plugin or a folder up to that of all plugins (p.outside).
// Trust in home does not suffice: strangers write plugins.
func (r *finder) distrustPlugin(c *candidate, p plugin) {
	c.plugin = paths.Resolve(p.dir)
	root := r.covering(c.plugin)
	_, among := below(p.outside, root)
	if c.reason == "" && root != c.plugin && (root == "" || !among) {
		c.reason, c.untrusted = r.names.Of(p.dir)+" is not trusted", true
	}
}

// geminiExtension finds the files of contextFileName, else GEMINI.md. It follows links, but not in
// a project or Beans.
func (r *finder) geminiExtension(p *plugin) {
	var from struct {
		Source string `json:"source"`
		Type   string `json:"type"`
	}
	if p.outside != "" && readManifest(p.dir, geminiInstall, &from) == nil && from.Type == "link" && filepath.IsAbs(from.Source) {
		p.dir = filepath.Clean(from.Source)
	}
	var manifest struct {
		Context json.RawMessage `json:"contextFileName"`
	}
	err := readManifest(p.dir, GeminiManifest, &manifest)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		r.warn(r.names.Of(filepath.Join(p.dir, GeminiManifest)), 0, "is not used: "+reasonOf(err).Error())
		return
	}
	if slices.Contains(r.o.Loaded, GeminiManifest) {
		return
	}
	names := oneOrSeveral(manifest.Context)
	if len(names) == 0 {
		names = []string{"GEMINI.md"}
	}
	for _, name := range names[:min(len(names), maxContext)] {
		name = filepath.FromSlash(name)
		if !filepath.IsLocal(name) {
			r.warn(r.names.Of(filepath.Join(p.dir, GeminiManifest)), 0, "names a file outside of its folder, which is not read")
			continue
		}
		if _, err := os.Lstat(filepath.Join(p.dir, name)); err == nil {
			p.context = append(p.context, name)
		}
	}
}

// maxContext bounds the files that a manifest names.
const maxContext = 20

func oneOrSeveral(raw json.RawMessage) (all []string) {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}
	}
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all
}

// claudePlugins returns plugins for the user or this project, like Claude Code without CLAUDE.md.
func (r *finder) claudePlugins(folder string) []string {
	type install struct {
		Path    string `json:"installPath"`
		Scope   string `json:"scope"`
		Project string `json:"projectPath"`
	}
	var list struct {
		Plugins map[string]json.RawMessage `json:"plugins"` // of installs; in version 1 of the list, of one
	}
	if err := readManifest(folder, claudeList, &list); err != nil {
		r.warn(r.names.Of(filepath.Join(folder, claudeList)), 0, "is not used: "+reasonOf(err).Error())
		return nil
	}
	var dirs []string
	for _, raw := range list.Plugins {
		var installs []install
		if json.Unmarshal(raw, &installs) != nil {
			installs = make([]install, 1)
			_ = json.Unmarshal(raw, &installs[0]) // an unreadable one has no path
		}
		for _, i := range installs {
			elsewhere := i.Project != "" && paths.Resolve(i.Project) != r.project
			if filepath.IsAbs(i.Path) && !elsewhere {
				dirs = append(dirs, filepath.Clean(i.Path))
			}
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// codexPlugins returns the folders that Codex would use of MARKETPLACE/PLUGIN/VERSION.
func codexPlugins(cache string) []string {
	var dirs []string
	for _, marketplace := range foldersIn(cache) {
		for _, dir := range foldersIn(marketplace) {
			if versions := foldersIn(dir); len(versions) > 0 {
				dirs = append(dirs, slices.MaxFunc(versions, compareVersions))
			}
		}
	}
	return dirs
}

// compareVersions puts "local", a plugin under development, last.
func compareVersions(a, b string) int {
	a, b = filepath.Base(a), filepath.Base(b)
	switch {
	case a == b:
		return 0
	case a == "local":
		return 1
	case b == "local":
		return -1
	}
	if by := semver.Compare("v"+a, "v"+b); by != 0 {
		return by
	}
	return strings.Compare(a, b)
}

// foldersIn includes links, sorted by name.
func foldersIn(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var all []string
	for _, entry := range entries {
		if entry.IsDir() || entry.Type()&fs.ModeSymlink != 0 {
			all = append(all, filepath.Join(dir, entry.Name()))
		}
	}
	return all
}

// maxManifest is in bytes.
const maxManifest = 1 << 20

// readManifest reads a JSON file that anyone may have written.
func readManifest(dir, name string, to any) error {
	data, _, err := safefile.ReadFile(paths.Resolve(dir), name, maxManifest)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}
