package static

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/memcore/memcore/internal/paths"
)

// Rules returns what applies now, for one turn: rules and other files with triggers that are in the request, or with globs that
// match one of the paths; and rules that always apply, unless Load has given them. Paths may be absolute or relative to Options.Dir
// and need not exist; rules of the folders on the way to them count, too. The same turn gets the same rules again.
//
// A trigger is in a request if its words are, one after the other, whatever their case; the last may have a suffix of English
// inflection. In scripts without blanks it is enough that the letters are. A glob without a slash matches names at any depth, others
// match paths relative to the folder that holds the rules (doublestar: "src/**/*.{ts,tsx}").
func (l *Layer) Rules(ctx context.Context, request string, touched []string) (Memory, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.reading(ctx)
	found, err := r.discover()
	if err != nil {
		return Memory{}, err
	}
	var absolute []string
	for _, path := range touched {
		if !filepath.IsAbs(path) {
			path = filepath.Join(r.o.Dir, path)
		}
		absolute = append(absolute, paths.Resolve(path))
		for _, dir := range r.way(path) {
			for _, c := range r.folder(dir, Directory) {
				if !slices.ContainsFunc(found, func(f candidate) bool { return f.file == c.file }) {
					found = append(found, c)
				}
			}
		}
	}
	if err := r.read(found); err != nil {
		return Memory{}, err
	}
	found = slices.DeleteFunc(found, func(c candidate) bool {
		return c.content != nil && c.kind != Rule && !c.head.Conditional()
	})
	words := wordsOf(request)
	m := r.assemble(found, l.rest(), l.given, func(c candidate) string {
		switch {
		case !c.head.Conditional() && l.start != nil && l.given[c.real]:
			return "it was given at the start"
		case !c.head.Conditional() || c.applies(request, words, absolute):
			return ""
		}
		return c.conditional()
	})
	return m, ctx.Err()
}

// applies tells whether a conditional file applies.
func (c candidate) applies(request string, words []string, touched []string) bool {
	for _, trigger := range c.head.Triggers {
		if contains(request, words, trigger) {
			return true
		}
	}
	for _, glob := range c.head.Globs {
		for _, path := range touched {
			if matches(glob, c.base, path) {
				return true
			}
		}
	}
	return false
}

// matches tells whether a glob of a rule in base matches an absolute path.
func matches(glob, base, path string) bool {
	glob = strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(glob), "./"), "/")
	rel, inside := below(base, path)
	if !inside {
		return !strings.Contains(glob, "/") && globMatches(glob, filepath.Base(path))
	}
	rel = filepath.ToSlash(rel)
	if !strings.Contains(strings.TrimSuffix(glob, "/"), "/") {
		for element := range strings.SplitSeq(rel, "/") {
			if globMatches(strings.TrimSuffix(glob, "/"), element) {
				return true
			}
		}
		return false
	}
	if strings.HasSuffix(glob, "/") {
		glob += "**"
	}
	return globMatches(glob, rel)
}

// globMatches is false for a broken glob, which was reported when its file was read.
func globMatches(glob, path string) bool {
	ok, err := doublestar.Match(glob, path)
	return ok && err == nil
}

// wordsOf are the words of a text in lower case.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) && r != '+' && r != '#' && r != '_'
	})
}

// contains tells whether a trigger is in a request.
func contains(request string, words []string, trigger string) bool {
	if strings.ContainsFunc(trigger, isUnspaced) {
		return strings.Contains(strings.ToLower(request), strings.ToLower(strings.TrimSpace(trigger)))
	}
	wanted := wordsOf(trigger)
	last := len(wanted) - 1
	if last < 0 {
		return false
	}
	for at := range words {
		rest := words[at:]
		if len(rest) > last && slices.Equal(rest[:last], wanted[:last]) && inflects(wanted[last], rest[last]) {
			return true
		}
	}
	return false
}

// inflects tells whether a word is another, perhaps with a suffix that English puts behind.
func inflects(word, said string) bool {
	suffix, ok := strings.CutPrefix(said, word)
	if !ok && len(word) > 3 && strings.HasSuffix(word, "e") { // write, writing
		suffix, ok = strings.CutPrefix(said, word[:len(word)-1])
		return ok && (suffix == "ing" || suffix == "ed")
	}
	return ok && (suffix == "" || len(word) > 2 && slices.Contains([]string{"s", "es", "ed", "ing"}, suffix))
}

// isUnspaced tells letters of scripts that are written without blanks.
func isUnspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
