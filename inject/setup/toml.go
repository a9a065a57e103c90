package setup

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// A tables is a TOML file, seen as the tables it is made of. It is changed by replacing pieces of its text: every table that is added has one
// line break before it, which goes with it when it is taken out.
type tables struct {
	text   string
	values map[string]any
	all    []table // in order; what stands before the first header is none
}

// A table is one header and the lines below it, to the last one that is neither empty nor a comment.
type table struct {
	array      bool // [[…]]
	key        []string
	start, end int
	pairs      []pair
}

// A pair is a key and where its value stands. Only strings have a place.
type pair struct {
	key        string
	text       string
	start, end int
}

func parseTables(text string) (*tables, error) {
	t := &tables{text: text}
	return t, t.parse()
}

// maxTables is the largest TOML file that is read, in bytes. Its parser calls itself for each level of nesting, which costs about a kilobyte of stack;
// 8 MB of brackets end the process.
const maxTables = 256 << 10

func (t *tables) parse() error {
	if len(t.text) > maxTables {
		return fmt.Errorf("it is larger than %d KiB, which memcore does not change", maxTables>>10)
	}
	t.values, t.all = nil, nil
	if err := toml.Unmarshal([]byte(t.text), &t.values); err != nil {
		var strict *toml.DecodeError
		if errors.As(err, &strict) {
			line, _ := strict.Position()
			return fmt.Errorf("it is not valid TOML: line %d: %w", line, err)
		}
		return fmt.Errorf("it is not valid TOML: %w", err)
	}
	var p unstable.Parser
	p.Reset([]byte(t.text))
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			key, at := keyOf(e)
			t.closeLast(t.lineStart(at))
			t.all = append(t.all, table{array: e.Kind == unstable.ArrayTable, key: key, start: t.lineStart(at)})
		case unstable.KeyValue:
			key, _ := keyOf(e)
			if len(t.all) == 0 || len(key) != 1 {
				continue
			}
			one := pair{key: key[0]}
			if v := e.Value(); v.Kind == unstable.String {
				one.text, one.start, one.end = string(v.Data), int(v.Raw.Offset), int(v.Raw.Offset+v.Raw.Length)
			}
			last := &t.all[len(t.all)-1]
			last.pairs = append(last.pairs, one)
		}
	}
	t.closeLast(len(t.text))
	return p.Error()
}

// keyOf returns the parts of a key, and where it begins.
func keyOf(n *unstable.Node) (key []string, at int) {
	at = -1
	for it := n.Key(); it.Next(); {
		if at < 0 {
			at = int(it.Node().Raw.Offset)
		}
		key = append(key, string(it.Node().Data))
	}
	return key, at
}

func (t *tables) lineStart(at int) int { return strings.LastIndexByte(t.text[:at], '\n') + 1 }

// closeLast ends the last table before limit, without the empty lines and comments there: those belong to what follows.
func (t *tables) closeLast(limit int) {
	if len(t.all) == 0 {
		return
	}
	last := &t.all[len(t.all)-1]
	end := last.start
	for at := last.start; at < limit; {
		line, _, _ := strings.Cut(t.text[at:limit], "\n")
		at += min(len(line)+1, limit-at)
		if trimmed := strings.Trim(line, blanks); trimmed != "" && trimmed[0] != '#' {
			end = at
		}
	}
	last.end = end
}

func (t *tables) splice(start, end int, with string) error {
	t.text = t.text[:start] + with + t.text[end:]
	return t.parse()
}

// lineBreak is the one the file uses.
func (t *tables) lineBreak() string {
	if at := strings.IndexByte(t.text, '\n'); at > 0 && t.text[at-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// add puts tables at the end, each a header and its lines. In a file that is made, the first one begins it.
func (t *tables) add(made bool, all ...[]string) error {
	nl := t.lineBreak()
	for i, lines := range all {
		if !made || i > 0 || t.text != "" {
			t.text += nl
		}
		t.text += strings.Join(lines, nl) + nl
	}
	return t.parse()
}

// remove takes a table out, with the line break before it if no two lines become one by that.
func (t *tables) remove(one table) error {
	before := t.text[:one.start]
	for _, nl := range []string{"\r\n", "\n"} {
		if cut, ok := strings.CutSuffix(before, nl); ok {
			if rest := t.text[one.end:]; cut == "" || strings.HasSuffix(cut, "\n") || rest == "" || strings.HasPrefix(rest, nl) || strings.HasPrefix(rest, "\n") {
				before = cut
			}
			break
		}
	}
	return t.splice(len(before), one.end, "")
}

func (one table) is(key ...string) bool { return slices.Equal(one.key, key) }

func (one table) below(key ...string) bool {
	return len(one.key) >= len(key) && slices.Equal(one.key[:len(key)], key)
}

// get returns the string of a pair.
func (one table) get(key string) (pair, bool) {
	i := slices.IndexFunc(one.pairs, func(p pair) bool { return p.key == key && p.end > 0 })
	if i < 0 {
		return pair{}, false
	}
	return one.pairs[i], true
}

// quotedTOML is a string as TOML writes it. What JSON escapes, TOML escapes alike.
func quotedTOML(text string) string {
	var b bytes.Buffer
	quoted, _ := marshal(text, "", "") // strings can be marshalled
	b.WriteString(strings.ReplaceAll(quoted, "\x7f", `\u007f`))
	return b.String()
}
