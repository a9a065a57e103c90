package setup

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Setting is a key below "memory" with its value, such as "hook.index" and "all". Values need no
// quotes in YAML.
type Setting struct{ Key, Value string }

// AddSettings proposes settings in the user's own configuration file, and leaves its other lines as
// they are. With takeBack, RemoveSettings will find them. If all are there, nothing is proposed.
func (p *Proposal) AddSettings(o Options, path string, settings []Setting, takeBack bool) error {
	if len(settings) == 0 {
		return nil
	}
	f, err := openFile(path, o.shown(path), []string{o.Home, filepath.Dir(path)}, "your home folder", 0o600)
	if err != nil {
		return err
	}
	for _, s := range settings {
		if f.text, err = withSetting(f.text, s.path(), s.Value); err != nil {
			return fmt.Errorf("%s: %w: enter memory.%s: %s yourself", f.Path, err, s.Key, s.Value)
		}
		f.did("+" + s.Key + ": " + s.Value)
	}
	c, ok, err := f.change()
	if !ok || err != nil {
		return err
	}
	if takeBack {
		c.record = newRecord(c, o.recordOf(f.File), nil, f.what)
	}
	p.add([]Change{c}, nil)
	return nil
}

func (s Setting) path() []string { return append([]string{"memory"}, strings.Split(s.Key, ".")...) }

// RemoveSettings proposes to take back what AddSettings did to a file. If that has changed since, a
// note says which settings stay.
func (p *Proposal) RemoveSettings(o Options, path string) error {
	f, err := openFile(path, o.shown(path), []string{o.Home, filepath.Dir(path)}, "your home folder", 0o600)
	if err != nil {
		return err
	}
	r := o.recordOf(f.File)
	if r == nil || f.Created {
		return nil
	}
	f.restore(r)
	c, ok, err := f.change()
	switch {
	case ok && err == nil:
		p.add([]Change{c}, nil)
	case err == nil && strings.Contains(f.text, "memory:"):
		p.add(nil, []Note{{Text: fmt.Sprintf("%s was changed since memcore wrote it, so it stays: delete there, below memory, %s", f.Path, strings.ReplaceAll(strings.Join(r.What, ", "), "+", ""))}})
	}
	return err
}

var errYAML = errors.New("memcore cannot change the file as it is written")

// withSetting returns YAML with a value set. It inserts lines, or replaces one value.
func withSetting(text string, key []string, value string) (string, error) {
	var document yaml.Node
	before := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return "", err
	}
	if err := yaml.Unmarshal([]byte(text), &before); err != nil {
		return "", err
	}
	changed := inserted(text, &document, key, value)
	after := map[string]any{}
	if err := yaml.Unmarshal([]byte(changed), &after); err != nil {
		return "", errYAML
	}
	var wanted any
	if err := yaml.Unmarshal([]byte(value), &wanted); err != nil {
		return "", errYAML
	}
	if !setIn(before, key, wanted) || !reflect.DeepEqual(before, after) {
		return "", errYAML
	}
	return changed, nil
}

// inserted enters a value without looking whether the result is right.
func inserted(text string, document *yaml.Node, key []string, value string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	lines := strings.SplitAfter(text, "\n")
	at, indent := len(lines)-1, 0 // where a missing key goes
	var node *yaml.Node
	if len(document.Content) > 0 {
		node = document.Content[0]
	}
	for len(key) > 0 && node != nil && node.Kind == yaml.MappingNode {
		name, found := entryOf(node, key[0])
		if found == nil {
			break
		}
		if len(key) == 1 {
			line := lines[found.Line-1]
			start := min(found.Column-1, len(line))
			end := min(start+len(found.Value), len(line))
			lines[found.Line-1] = line[:start] + value + line[end:]
			return strings.Join(lines, "")
		}
		key, node = key[1:], found
		at, indent = name.Line, name.Column+1
		if found.Kind == yaml.MappingNode && len(found.Content) > 0 {
			indent = found.Content[0].Column - 1
		}
	}
	added := ""
	for i, name := range key {
		added += strings.Repeat(" ", indent+2*i) + name + ":"
		if i == len(key)-1 {
			added += " " + value
		}
		added += "\n"
	}
	return strings.Join(lines[:at], "") + added + strings.Join(lines[at:], "")
}

// entryOf returns a key of a mapping and its value, or nil. Case does not count.
func entryOf(mapping *yaml.Node, key string) (name, value *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if strings.EqualFold(mapping.Content[i].Value, key) {
			return mapping.Content[i], mapping.Content[i+1]
		}
	}
	return nil, nil
}

// setIn sets a value in nested maps, and reports whether they are maps.
func setIn(tree map[string]any, key []string, value any) bool {
	name := key[0]
	for known := range tree {
		if strings.EqualFold(known, name) {
			name = known
		}
	}
	if len(key) == 1 {
		tree[name] = value
		return true
	}
	if tree[name] == nil {
		tree[name] = map[string]any{}
	}
	below, ok := tree[name].(map[string]any)
	return ok && setIn(below, key[1:], value)
}
