package setup

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// A tables is a TOML file. Changes replace pieces of its text, with an added table's line break.
type tables struct {
	text   string
	made   bool // memcore makes the file
	values map[string]any
	all    []table // in order, without what stands before the first header
}

// A table has no empty lines and comments at its end.
type table struct {
	key        []string
	start, end int
	pairs      []pair
}

// A pair is a key and its string's place.
type pair struct {
	key        string
	text       string
	start, end int
}

// maxTables is in bytes: the parser is recursive.
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
		e := p.Expression()
		key, at := keyOf(e)
		switch {
		case e.Kind == unstable.Table || e.Kind == unstable.ArrayTable:
			start := strings.LastIndexByte(t.text[:at], '\n') + 1
			t.closeLast(start)
			t.all = append(t.all, table{key: key, start: start})
		case e.Kind == unstable.KeyValue && len(t.all) > 0 && len(key) == 1 && e.Value().Kind == unstable.String:
			last, v := &t.all[len(t.all)-1], e.Value()
			last.pairs = append(last.pairs, pair{key[0], string(v.Data), int(v.Raw.Offset), int(v.Raw.Offset + v.Raw.Length)})
		}
	}
	t.closeLast(len(t.text))
	return p.Error()
}

func keyOf(n *unstable.Node) (key []string, at int) {
	if n.Kind != unstable.Table && n.Kind != unstable.ArrayTable && n.Kind != unstable.KeyValue {
		return nil, 0
	}
	for it := n.Key(); it.Next(); {
		if len(key) == 0 {
			at = int(it.Node().Raw.Offset)
		}
		key = append(key, string(it.Node().Data))
	}
	return key, at
}

// closeLast ends the last table. Empty lines and comments belong to the next.
func (t *tables) closeLast(limit int) {
	if len(t.all) == 0 {
		return
	}
	last := &t.all[len(t.all)-1]
	last.end = last.start
	at := last.start
	for line := range strings.Lines(t.text[last.start:limit]) {
		at += len(line)
		if trimmed := strings.Trim(line, blanks); trimmed != "" && trimmed[0] != '#' {
			last.end = at
		}
	}
}

func (t *tables) splice(start, end int, with string) error {
	t.text = t.text[:start] + with + t.text[end:]
	return t.parse()
}

// add puts a table at the end.
func (t *tables) add(lines ...string) error {
	nl := lineBreakOf(t.text)
	if !t.made || t.text != "" {
		t.text += nl
	}
	t.text += strings.Join(lines, nl) + nl
	return t.parse()
}

// remove takes the line break, too, unless that joins lines.
func (t *tables) remove(one table) error {
	before, rest := t.text[:one.start], t.text[one.end:]
	for _, nl := range []string{"\r\n", "\n"} {
		if cut, ok := strings.CutSuffix(before, nl); ok {
			if cut == "" || strings.HasSuffix(cut, "\n") || rest == "" || strings.HasPrefix(rest, nl) || strings.HasPrefix(rest, "\n") {
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

// get returns a pair with a string.
func (one table) get(key string) (pair, bool) {
	i := slices.IndexFunc(one.pairs, func(p pair) bool { return p.key == key })
	if i < 0 {
		return pair{}, false
	}
	return one.pairs[i], true
}

// quotedTOML returns a TOML string, which escapes like JSON.
func quotedTOML(text string) string {
	return strings.ReplaceAll(marshal(text, "", ""), "\x7f", `\u007f`)
}
