package chunker

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/text/payload"
)

const (
	largestFrontmatter = 64 << 10 // bytes
	largestMeta        = 10_000   // values, with those of aliases
)

// A FrontmatterError names the line of broken frontmatter, from 1.
type FrontmatterError struct {
	Line int
	Err  error
}

func (e *FrontmatterError) Error() string { return e.Err.Error() }
func (e *FrontmatterError) Unwrap() error { return e.Err }

// SplitFrontmatter splits a Markdown file and counts the lines before the text. Frontmatter is YAML
// between lines of "---" or TOML between "+++"; without it meta is nil. The text is valid UTF-8
// without carriage returns. After a *FrontmatterError (broken, too large) it still begins behind
// the frontmatter.
func SplitFrontmatter(src []byte) (meta map[string]any, text string, lines int, err error) {
	text, _ = clean(src)
	meta, after, err := splitFrontmatter(text)
	return meta, text[after:], strings.Count(text[:after], "\n"), err
}

// splitFrontmatter takes clean text; the Markdown begins at after.
func splitFrontmatter(text string) (meta map[string]any, after int, err error) {
	mark, _, _ := strings.Cut(text[:min(len(text), 16)], "\n")
	mark = strings.TrimRight(mark, " \t")
	if mark != "---" && mark != "+++" {
		return nil, 0, nil
	}
	from := windowEnd(text, 0)
	end, after := frontmatterEnd(text, from, mark)
	if end < 0 {
		return nil, 0, nil // a thematic break or a list
	}
	meta, line, err := parseMeta(mark, text[from:end])
	if err != nil {
		return nil, after, &FrontmatterError{Line: max(line, 1) + 1, Err: err}
	}
	return meta, after, nil
}

// frontmatter returns the block that chunks show of the frontmatter, as it is after the cuts, and
// where the Markdown begins before them. Broken frontmatter is text, but no Markdown: its last line
// would underline a heading.
func (d *Document) frontmatter(text string) (shown block, cuts []cut, after int) {
	meta, after, err := splitFrontmatter(text)
	var broken *FrontmatterError
	if errors.As(err, &broken) {
		d.warn(broken.Line, "frontmatter is taken as text: %v", err)
		if after <= maxShown {
			return block{span: span{0, len(trimEnd(text[:after]))}, kind: lines}, nil, after
		}
	} else if after > 0 {
		d.Meta, d.Title = meta, titleOf(meta)
	}
	if after == 0 {
		return block{}, nil, 0
	}
	kept := telling(text[:after], d.Title, isBlank(text[after:]))
	from, size := 0, 0
	for _, s := range append(kept, span{after, after}) {
		if s.start > from {
			cuts = append(cuts, cut{Span: payload.Span{Start: from, End: s.start}})
		}
		from = s.end
		size += s.end - s.start
	}
	if last := len(cuts) - 1; size > 0 && !strings.HasPrefix(text[after:], "\n") {
		cuts[last].mark = "\n" // or it would look like a part of the next paragraph
	}
	return block{span: span{0, max(size-1, 0)}, kind: front}, cuts, after
}

// maxShown bounds what chunks show of frontmatter, in bytes.
const maxShown = 4 << 10

// tellingKeys of frontmatter say what a document is about. Title and name are headings already.
var tellingKeys = map[string]bool{
	"title": true, "name": true, "description": true, "summary": true, "abstract": true, "subtitle": true, "excerpt": true, "tldr": true,
	"alias": true, "aliases": true, "tag": true, "tags": true, "keyword": true, "keywords": true, "category": true, "categories": true, "topic": true, "topics": true,
}

// metaKey matches the line that begins with a key, of YAML or TOML.
var metaKey = lazy.Regexp(`^["']?([\pL_][\pL\pN _-]*)["']?[ \t]*[:=](?:[ \t]|$)|^\[`)

// maxShownOfKey bounds what is shown of one list, such as a thousand tags.
const maxShownOfKey = maxShown / 4

// isList reports whether a line is an item of a list, or has one.
func isList(line string) bool {
	_, value, _ := strings.Cut(line, ": ")
	return strings.HasPrefix(strings.TrimSpace(line), "- ") || strings.HasPrefix(strings.TrimSpace(value), "[")
}

// saysSomething reports whether a line of frontmatter has a sentence as its value: then a person
// wrote it to be read, whatever its key is.
func saysSomething(line string) bool {
	value := line
	if m := metaEntry().FindString(line); m != "" {
		value = line[len(m):]
	}
	words, foreign := 0, 0
	for word := range strings.FieldsSeq(value) {
		if strings.ContainsFunc(word, unicode.IsLetter) && !strings.ContainsAny(word, `/\=<>{}`) {
			words++
		}
		for _, r := range word {
			if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) {
				foreign++ // written without blanks
			}
		}
	}
	return words >= 4 || foreign >= 8
}

// metaEntry matches what stands before the value of a key or an item of a list.
var metaEntry = lazy.Regexp(`^[ \t]*(?:- +)?(?:["']?[\pL_][\pL\pN _-]{0,40}["']?[ \t]*[:=][ \t]+)?`)

// telling returns the lines of frontmatter that say what the document is about, at most maxShown
// bytes. If it has no other text, these are all lines.
func telling(text, title string, alone bool) (kept []span) {
	wanted, isTitle, room, ofKey := false, false, maxShown, maxShownOfKey
	for at := windowEnd(text, 0); at < len(text) && room > 0; {
		end := windowEnd(text, at)
		line := strings.TrimRight(text[at:end], " \t\n")
		if m := metaKey().FindStringSubmatch(line); m != nil {
			key := strings.ToLower(strings.TrimSpace(m[1]))
			ofKey = maxShownOfKey
			isTitle = title != "" && slices.Contains(titleKeys[:], key) && strings.Contains(line, title)
			wanted = tellingKeys[key] && !isTitle
		}
		last := end == len(text) // closes the frontmatter
		switch {
		case last || line == "" || strings.HasPrefix(line, "#"):
		case !wanted && !alone && (isTitle || !saysSomething(line)):
		case isList(line) && ofKey == 0:
		case isList(line) && end-at > ofKey:
			kept = append(kept, span{at, at + len(head(line, ofKey))}, span{end - 1, end})
			room, ofKey = max(room-ofKey, 0), 0 // the next key may say more
		case end-at > room:
			kept = append(kept, span{at, at + len(head(line, room))}, span{end - 1, end})
			room = 0
		default:
			kept = append(kept, span{at, end})
			room, ofKey = room-(end-at), max(ofKey-(end-at), 0)
		}
		at = end
	}
	return kept
}

// frontmatterEnd returns where frontmatter ends and text begins, or -1.
func frontmatterEnd(text string, from int, mark string) (end, after int) {
	for at := from; at < len(text); {
		next := windowEnd(text, at)
		line := strings.TrimRight(text[at:next], " \t\n")
		if line == mark || mark == "---" && line == "..." {
			return at, next
		}
		at = next
	}
	return -1, -1
}

// titleKeys are in order of preference.
var titleKeys = [...]string{"title", "name"}

func titleOf(meta map[string]any) string {
	for _, key := range titleKeys {
		if s, ok := meta[key].(string); ok && !isBlank(s) {
			return strings.Join(strings.Fields(s), " ")
		}
	}
	return ""
}

// parseMeta returns an error's line, from 1.
func parseMeta(mark, text string) (meta map[string]any, line int, err error) {
	if len(text) > largestFrontmatter {
		return nil, 0, fmt.Errorf("it has %d bytes, want at most %d", len(text), largestFrontmatter)
	}
	if mark == "+++" {
		return parseTOML(text)
	}
	return parseYAML(text)
}

// unquoted matches values that lack quotes required by YAML, as editors write them: globs,
// mentions, sentences with a colon.
var unquoted = lazy.Regexp("(?m)^([A-Za-z_][\\w-]*):[ \\t]+([*!@%`].*|[^\"'\\[{|>#\\s].*: .*)$")

func quoteValues(text string) string {
	return unquoted().ReplaceAllStringFunc(text, func(line string) string {
		key, value, _ := strings.Cut(line, ":")
		return key + ": '" + strings.ReplaceAll(strings.TrimSpace(value), "'", "''") + "'"
	})
}

func parseTOML(text string) (map[string]any, int, error) {
	meta := map[string]any{}
	err := toml.Unmarshal([]byte(text), &meta)
	if err == nil {
		return meta, 0, nil
	}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		line, _ := at.Position()
		return nil, line, err
	}
	return nil, 0, err
}

var yamlLine = lazy.Regexp(`^(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): `)

func parseYAML(text string) (map[string]any, int, error) {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		if yaml.Unmarshal([]byte(quoteValues(text)), &root) != nil {
			return nil, lineOf(err), withoutLine(err)
		}
	}
	if root.Kind == 0 || len(root.Content) == 0 {
		return map[string]any{}, 0, nil // empty, or comments only
	}
	content := root.Content[0]
	if content.Kind != yaml.MappingNode {
		return nil, content.Line, errors.New("it is not a mapping of keys to values")
	}
	if valuesIn(content, map[*yaml.Node]int{}) > largestMeta {
		return nil, content.Line, fmt.Errorf("it has more than %d values, aliases followed", largestMeta)
	}
	if key := keyOfParts(content); key != nil {
		return nil, key.Line, errors.New("a key of it is a mapping or a list, as braces of a template without quotes make it, such as {{date}}")
	}
	var meta map[string]any
	if err := content.Decode(&meta); err != nil {
		return nil, lineOf(err), withoutLine(err)
	}
	return plain(meta).(map[string]any), 0, nil
}

// keyOfParts returns the first key that is itself a mapping or a list, or nil. YAML allows such
// keys, but the decoder's error for them names types of Go.
func keyOfParts(n *yaml.Node) *yaml.Node {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && (c.Kind == yaml.MappingNode || c.Kind == yaml.SequenceNode) {
			return c
		}
		if key := keyOfParts(c); key != nil {
			return key
		}
	}
	return nil
}

func lineOf(err error) int {
	if m := yamlLine().FindStringSubmatch(err.Error()); m != nil {
		line, _ := strconv.Atoi(m[1])
		return line
	}
	return 0
}

// withoutLine removes the line number, which is the frontmatter's own.
func withoutLine(err error) error {
	return errors.New(strings.TrimPrefix(yamlLine().ReplaceAllString(err.Error(), ""), "yaml: "))
}

// valuesIn counts values, to a little over largestMeta. done has the counts of anchors; recursive
// ones count as too many.
func valuesIn(n *yaml.Node, done map[*yaml.Node]int) int {
	if n.Kind == yaml.AliasNode {
		count, ok := done[n.Alias]
		if !ok {
			done[n.Alias] = largestMeta + 1
			count = valuesIn(n.Alias, done)
			done[n.Alias] = count
		}
		return count
	}
	if n.Anchor != "" {
		if _, ok := done[n]; !ok {
			done[n] = largestMeta + 1
		}
	}
	count := 1
	for _, c := range n.Content {
		if count += valuesIn(c, done); count > largestMeta {
			break
		}
	}
	if n.Anchor != "" {
		done[n] = count
	}
	return count
}

// plain makes every key a string, as in JSON.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = plain(e)
		}
	case map[any]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[fmt.Sprint(k)] = plain(e)
		}
		return out
	case []any:
		for i, e := range v {
			v[i] = plain(e)
		}
	}
	return value
}
