package static

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/fence"
)

// A named import is a path as it stands in a file.
type named struct {
	path string
	// mention is true if it stands within a sentence; then it counts only in files whose agents follow such.
	mention bool
}

// importsOf finds the imports of a text outside of code and comments, by line.
func importsOf(lines []string) map[int][]named {
	found := map[int][]named{}
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
				found[i] = []named{{path: path}}
			} else if strings.Contains(strings.ToLower(line), ".md") {
				found[i] = append(found[i], mentionsIn(codeSpan().ReplaceAllString(line, "``"))...)
			}
		}
	}
	return found
}

// isCode tells a block of code by its first line. Whatever else is no paragraph and no list, such as tags around imports, is looked into.
func isCode(first string, b chunker.Block) bool {
	if b.Prose || b.List || b.Level > 0 {
		return false
	}
	return fence.Opens(bare(first)).Open() || isIndented(first)
}

// openFence returns the fence that is open at the end of a text. One in a list ends with the list.
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

func mentionsIn(line string) []named {
	var all []named
	for {
		at := mention().FindStringSubmatchIndex(line)
		if at == nil {
			return all
		}
		all = append(all, named{path: line[at[2]:at[3]], mention: true})
		line = line[at[3]:] // what ends one may begin the next
	}
}

// outsideComment leaves out of a line what is in an HTML comment, and tells whether one is open behind it.
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

// importOf returns what a line imports: "@import PATH", or "@PATH.md" on a line of its own, also as an item or in a quote.
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

// isIndented tells indented code by its first columns.
func isIndented(line string) bool {
	return strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
}

var (
	itemMark = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]+)+`)
	})
	codeSpan = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("`+[^`]*`+")
	})
	// mention is "@path.md" within a sentence: not in a word (mail addresses) nor in the label of a link.
	mention = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:^|[\s(|>,:;*_"'（，。、：；])@((?:~/|\.{1,2}/|/)?[\p{L}\p{N}_.][^\s@()<>|` + "`" + `"'，。、：；（）]*?\.md)(?:[^\p{L}\p{N}_/-]|$)`)
	})
)

// bare is a line without indentation and the marks of lists and quotes, behind which fenced code may stand.
func bare(line string) string {
	return strings.TrimLeft(itemMark().ReplaceAllString(strings.TrimLeft(line, " \t"), ""), " \t")
}

// A place is where an import stands: the file, by its real path, and the name it has there.
type place struct{ from, name string }

// A target is what an import leads to, or why it leads nowhere.
type target struct {
	content *content
	err     error
}

// wanted are the imports of a file that count, in order, up to the limit.
func (r *reading) wanted(c *content, mentions bool) []named {
	if r.o.Imports.Off {
		return nil
	}
	var all []named
	for i := range c.lines {
		for _, n := range c.imports[i] {
			if !n.mention || mentions {
				all = append(all, n)
			}
		}
	}
	return all[:min(len(all), r.o.Imports.MaxPerFile)]
}

const (
	importers   = 10   // imports that are resolved at a time
	mostImports = 1000 // in all
)

var errTooMany = fmt.Errorf("there are more than %d imports in all", mostImports)

// gather reads what files import, level by level.
func (r *reading) gather(files []candidate) error {
	type source struct {
		*content
		mentions bool
	}
	var level []source
	for _, c := range files {
		if c.content != nil {
			level = append(level, source{c.content, r.o.mentions(filepath.Base(c.file))})
		}
	}
	for depth := 0; depth < r.o.Imports.MaxDepth && len(level) > 0; depth++ {
		var places []place
		mentions := map[place]bool{}
		for _, s := range level {
			for _, n := range r.wanted(s.content, s.mentions) {
				at := place{s.real, n.path}
				if _, known := r.targets[at]; known {
					continue
				}
				if r.targets[at] = (target{err: errTooMany}); len(r.targets) <= mostImports {
					places = append(places, at)
					mentions[at] = s.mentions
				}
			}
		}
		found := make([]target, len(places))
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
			if c := found[i].content; c != nil {
				level = append(level, source{c, mentions[at] || r.o.mentions(filepath.Base(c.real))})
			}
		}
	}
	return nil
}

func (r *reading) target(ctx context.Context, at place) target {
	if err := ctx.Err(); err != nil {
		return target{err: err}
	}
	path, err := resolveImport(filepath.Dir(at.from), at.name, r.o.Home)
	if err != nil {
		return target{err: err}
	}
	c, err := r.open(path, false, r.o.Imports.MaxBytes)
	return target{c, err}
}
