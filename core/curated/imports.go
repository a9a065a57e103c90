package curated

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/markdown/fence"
	"github.com/memcore/memcore/internal/text/lazy"
)

type importRef struct {
	path string
	// mention means in a sentence, where few agents follow it.
	mention bool
	// perhaps means that it may name no file: a line with blanks, or another kind of file. Without
	// such a file it is text.
	perhaps bool
}

// importsOf finds the imports outside of code and comments, by line.
func importsOf(lines []string) map[int][]importRef {
	found := map[int][]importRef{}
	for b := range chunker.Blocks(strings.Join(lines, "\n")) {
		if isCode(lines[b.Start], b) {
			continue
		}
		var open fence.Fence
		comment := false
		for i := b.Start; i < b.End; i++ {
			line := lines[i]
			var code bool
			if open, code = open.Next(bare(line)); code && b.List {
				continue
			}
			if line, comment = outsideComment(line, comment); strings.TrimSpace(line) == "" {
				continue
			}
			if path, ok := importOf(line); ok {
				found[i] = []importRef{{path: path}}
				continue
			}
			if path, ok := blankImportOf(line); ok {
				found[i] = append(found[i], importRef{path: path, perhaps: true})
			}
			if strings.Contains(line, "@") {
				found[i] = append(found[i], mentionsIn(codeSpan().ReplaceAllString(line, "``"))...)
			}
		}
	}
	return found
}

// ImportsIn returns the paths that the text of a memory file imports, also by mentions, or would
// import if there were such a file.
func ImportsIn(text string) (all []string) {
	c := parse("", []byte(text))
	for i := range c.lines {
		for _, found := range c.imports[i] {
			if isMarkdown(found.path) {
				all = append(all, found.path)
			}
		}
	}
	return all
}

// isCode is false for tags around imports.
func isCode(first string, b chunker.Block) bool {
	if b.Prose || b.List || b.Level > 0 {
		return false
	}
	return fence.Opens(bare(first)).Open() || isIndented(first)
}

// openFence is open at the end. Lists close their own.
func openFence(lines []string) fence.Fence {
	var open fence.Fence
	for b := range chunker.Blocks(strings.Join(lines, "\n")) {
		open = fence.Fence{}
		if opened := fence.Opens(bare(lines[b.Start])); opened.Open() && isCode(lines[b.Start], b) {
			open = opened
			for _, line := range lines[b.Start+1 : b.End] {
				if open, _ = open.Next(bare(line)); !open.Open() {
					break
				}
			}
		}
	}
	return open
}

// followsMentions reports whether a mention in a file's sentence is an import.
func followsMentions(file string) bool { return slices.Contains(mentioning, filepath.Base(file)) }

// mentionsIn returns Markdown files first: the others are not followed.
func mentionsIn(line string) (all []importRef) {
	for rest := line; ; {
		at := mention().FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		all = append(all, importRef{path: rest[at[2]:at[3]], mention: true})
		rest = rest[at[3]:] // the end of one may begin the next
	}
	alone := strings.TrimSpace(itemMark().ReplaceAllString(strings.TrimSpace(line), ""))
	for _, at := range otherMention().FindAllStringSubmatch(line, maxImports) {
		if path := strings.TrimRight(at[1], ".,:;!?*"); !isMarkdown(path) {
			all = append(all, importRef{path: path, mention: alone != "@"+path, perhaps: true})
		}
	}
	return all
}

// outsideComment removes HTML comments and reports whether one stays open.
func outsideComment(line string, open bool) (rest string, stillOpen bool) {
	for {
		if open {
			_, after, closed := strings.Cut(line, "-->")
			if !closed {
				return rest, true
			}
			line = after
		}
		before, after, opens := strings.Cut(line, "<!--")
		rest += before
		if !opens {
			return rest, false
		}
		line, open = after, true
	}
}

// importOf returns the path in "@import PATH" or "@PATH.md" that is a whole line, item or quote.
func importOf(line string) (path string, ok bool) {
	rest, ok := strings.CutPrefix(itemMark().ReplaceAllString(strings.TrimSpace(line), ""), "@")
	if !ok {
		return "", false
	}
	if path, ok := strings.CutPrefix(rest, "import"); ok && strings.TrimLeft(path, " \t") != path {
		path = strings.TrimSpace(path)
		if strings.HasSuffix(path, ";") || strings.HasPrefix(path, "url(") {
			return "", false // of a style sheet
		}
		path = strings.Trim(path, `"'`)
		return path, path != ""
	}
	return rest, !strings.ContainsAny(rest, " \t") && isMarkdown(rest)
}

// blankImportOf returns the path of "@with blanks.md" that is a whole line, item or quote.
func blankImportOf(line string) (path string, ok bool) {
	rest, ok := strings.CutPrefix(itemMark().ReplaceAllString(strings.TrimSpace(line), ""), "@")
	path = strings.ReplaceAll(strings.Trim(rest, `"'`), `\ `, " ")
	return path, ok && isMarkdown(path) && strings.Contains(path, " ") && !strings.Contains(path, " @")
}

func isIndented(line string) bool {
	return strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
}

var (
	itemMark = lazy.Regexp(`^(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]+)+`)
	codeSpan = lazy.Regexp("`+[^`]*`+")
	// otherMention is "@path" in a sentence.
	otherMention = lazy.Regexp(`(?:^|[\s(|>,:;*_"'（，。、：；])@([\p{L}\p{N}_./~-][^\s@()<>|` + "`" + `"'，。、：；（）]*)`)
	// mention is "@path.md" in a sentence, not in mail addresses or labels.
	mention = lazy.Regexp(`(?i)(?:^|[\s(|>,:;*_"'（，。、：；])@((?:~/|\.{1,2}/|/)?[\p{L}\p{N}_.][^\s@()<>|` + "`" + `"'，。、：；（）]*?\.md)(?:[^\p{L}\p{N}_/-]|$)`)
)

// bare removes what may precede a fence in lists and quotes.
func bare(line string) string {
	return strings.TrimLeft(itemMark().ReplaceAllString(strings.TrimLeft(line, " \t"), ""), " \t")
}

// An importKey is a file's real path and what it imports.
type importKey struct{ from, name string }

// An importTarget is the imported file, or the error.
type importTarget struct {
	parsed *parsed
	err    error
}

// wanted returns imports in order, up to the limit, and as many of what may be one.
func (r *reader) wanted(c *parsed, mentions bool) []importRef {
	if r.o.NoImports {
		return nil
	}
	var sure, perhaps []importRef
	for i := range c.lines {
		for _, n := range c.imports[i] {
			switch {
			case n.mention && !mentions:
			case n.perhaps:
				perhaps = append(perhaps, n)
			default:
				sure = append(sure, n)
			}
		}
	}
	return slices.Concat(sure[:min(len(sure), maxImports)], perhaps[:min(len(perhaps), maxImports)])
}

const (
	importers       = 10   // imports that are read concurrently
	maxImportsInAll = 1000 // in all
)

var errTooMany = fmt.Errorf("there are more than %d imports in all", maxImportsInAll)

// gather reads the imports of files, level by level.
func (r *reader) gather(files []candidate) error {
	type source struct {
		*parsed
		mentions bool
	}
	var level []source
	for _, c := range files {
		if c.parsed != nil {
			level = append(level, source{c.parsed, followsMentions(c.file)})
		}
	}
	for depth := 0; depth < r.o.ImportDepth && len(level) > 0; depth++ {
		var places []importKey
		mentions := map[importKey]bool{}
		for _, s := range level {
			for _, n := range r.wanted(s.parsed, s.mentions) {
				at := importKey{s.real, n.path}
				if _, known := r.targets[at]; known {
					continue
				}
				if r.targets[at] = (importTarget{err: errTooMany}); len(r.targets) <= maxImportsInAll {
					places = append(places, at)
					mentions[at] = s.mentions
				}
			}
		}
		found := make([]importTarget, len(places))
		group, ctx := errgroup.WithContext(r.ctx)
		group.SetLimit(importers)
		for i, at := range places {
			group.Go(func() error {
				found[i] = r.target(ctx, at)
				return ctx.Err()
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		level = nil
		for i, at := range places {
			r.targets[at] = found[i]
			if c := found[i].parsed; c != nil {
				level = append(level, source{c, mentions[at] || followsMentions(c.real)})
			}
		}
	}
	return nil
}

func (r *reader) target(ctx context.Context, at importKey) importTarget {
	if err := ctx.Err(); err != nil {
		return importTarget{err: err}
	}
	path, err := resolveImport(filepath.Dir(at.from), at.name, r.o.Home)
	if errors.Is(err, errKind) && r.isFile(path) {
		return importTarget{err: errOtherFile}
	}
	if err != nil {
		return importTarget{err: err}
	}
	c, err := r.open(path, false, maxImportBytes)
	return importTarget{c, err}
}

// errOtherFile is errKind for a file that exists.
var errOtherFile = fmt.Errorf("%w", errKind)

// isFile reports whether a path is a file in a trusted folder.
func (r *reader) isFile(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	root, err := r.rootOf(real)
	info, statErr := os.Stat(real)
	return err == nil && root != "" && statErr == nil && info.Mode().IsRegular()
}
