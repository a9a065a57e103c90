package static

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Head is what the frontmatter of a memory file says. Keys it does not know are ignored: they are other programs'.
type Head struct {
	Version  int
	Priority int // higher comes later in the prompt and is kept longer; 0 by default
	Enabled  bool
}

// Priorities that have names.
var priorities = map[string]int{"low": -100, "medium": 0, "high": 100}

// Frontmatter splits a memory file: what its frontmatter says, the text behind it, and how many lines it has. A
// block that cannot be used is an error, and then the head is the default one; the text is behind it all the same.
// Without a block all is text.
func Frontmatter(data []byte) (head Head, text string, skipped int, err error) {
	head = Head{Version: 1, Enabled: true}
	text = strings.TrimPrefix(strings.ToValidUTF8(string(data), "\uFFFD"), "\uFEFF")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	block, rest, ok := cut(text)
	if !ok {
		return head, text, 0, nil
	}
	skipped = strings.Count(block, "\n") + 2
	var keys map[string]any
	if err := yaml.Unmarshal([]byte(block), &keys); err != nil {
		return head, rest, skipped, fmt.Errorf("it is no YAML: %w", err)
	}
	said := head
	if v, ok := keys["version"]; ok {
		if said.Version, ok = v.(int); !ok || said.Version < 1 {
			return head, rest, skipped, fmt.Errorf("version is %v, want a whole number from 1", v)
		}
	}
	if v, ok := keys["enabled"]; ok {
		if said.Enabled, ok = v.(bool); !ok {
			return head, rest, skipped, fmt.Errorf("enabled is %v, want true or false", v)
		}
	}
	if v, ok := keys["priority"]; ok {
		if said.Priority, err = priority(v); err != nil {
			return head, rest, skipped, err
		}
	}
	return said, rest, skipped, nil
}

func priority(v any) (int, error) {
	switch v := v.(type) {
	case int:
		if v > -1_000_000 && v < 1_000_000 {
			return v, nil
		}
	case float64:
		if math.Abs(v) < 1_000_000 {
			return int(math.Round(v)), nil
		}
	case string:
		if n, ok := priorities[strings.ToLower(v)]; ok {
			return n, nil
		}
	}
	return 0, errors.New("priority is neither a number below a million nor low, medium or high")
}

// cut splits a text at its frontmatter: lines between two of "---", the first of which is the first of the text.
func cut(text string) (block, rest string, ok bool) {
	rest, ok = strings.CutPrefix(text, "---\n")
	if !ok {
		return "", "", false
	}
	if after, ok := strings.CutPrefix(rest, "---\n"); ok {
		return "", after, true
	}
	at := strings.Index(rest, "\n---\n")
	if at < 0 {
		if block, ok := strings.CutSuffix(rest, "\n---"); ok {
			return block + "\n", "", true
		}
		return "", "", false
	}
	return rest[:at+1], rest[at+5:], true
}
