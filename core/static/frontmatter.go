package static

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/memcore/memcore/chunker"
)

// Version is the version of the frontmatter that this package reads.
const Version = 1

// A Head is what the frontmatter of a memory file says.
type Head struct {
	Version  int      `json:"version"`
	Priority int      `json:"priority"` // higher comes later in the prompt and is kept longer; 0 by default
	Enabled  bool     `json:"enabled"`
	Name     string   `json:"name,omitempty"`
	Triggers []string `json:"triggers,omitempty"` // words in a request that make it apply
	Globs    []string `json:"globs,omitempty"`    // paths that make it apply
	// Other are the keys this package does not know. They are other programs' and mean nothing here.
	Other map[string]any `json:"other,omitempty"`
}

// Conditional tells whether the file applies to some requests or paths only.
func (h Head) Conditional() bool { return len(h.Triggers)+len(h.Globs) > 0 }

// Priorities that have names.
var priorities = map[string]int{"low": -100, "medium": 0, "high": 100}

const mostPriority = 1_000_000

// Frontmatter splits a memory file: what its frontmatter says, the text behind it, and how many lines stand before that. Of a block
// that cannot be read at all the error is a *chunker.FrontmatterError, and the head is the default one; of one with wrong values the
// error names them, and the others count. The text is behind it all the same; without a block all is text. migrate is as in
// Options; nil migrates nothing.
func Frontmatter(data []byte, migrate map[int]func(map[string]any) error) (head Head, text string, skipped int, err error) {
	head = Head{Version: Version, Enabled: true}
	meta, text, skipped, err := chunker.SplitFrontmatter(data)
	if err != nil {
		return head, text, skipped, err
	}
	var wrong []error
	if v, err := version(meta["version"]); err != nil {
		wrong = append(wrong, err)
	} else {
		head.Version = v
	}
	for change := migrate[head.Version]; change != nil; change = migrate[head.Version] {
		if err := change(meta); err != nil {
			wrong = append(wrong, fmt.Errorf("version %d cannot be migrated: %w", head.Version, err))
			break
		}
		head.Version++
	}
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if err := head.set(key, meta[key]); err != nil {
			wrong = append(wrong, err)
		}
	}
	return head, text, skipped, errors.Join(wrong...)
}

func version(value any) (int, error) {
	if value == nil {
		return Version, nil
	}
	n, ok := number(value)
	if !ok || n != math.Trunc(n) || n < 0 || n > mostPriority {
		return 0, fmt.Errorf("version is %v, want a whole number", value)
	}
	return int(n), nil
}

// set takes over the value of a key, or leaves the default.
func (h *Head) set(key string, value any) error {
	switch key {
	case "version":
	case "enabled":
		enabled, ok := value.(bool)
		if !ok {
			return fmt.Errorf("enabled is %v, want true or false", value)
		}
		h.Enabled = enabled
	case "name":
		name, ok := value.(string)
		if !ok {
			return fmt.Errorf("name is %v, want a text", value)
		}
		h.Name = name
	case "priority":
		n, err := priority(value)
		if err != nil {
			return err
		}
		h.Priority = n
	case "triggers", "globs":
		list, err := texts(key, value)
		if err != nil {
			return err
		}
		if key == "globs" {
			h.Globs = list
		} else {
			h.Triggers = list
		}
	default:
		if h.Other == nil {
			h.Other = map[string]any{}
		}
		h.Other[key] = value
	}
	return nil
}

func number(value any) (float64, bool) {
	switch v := value.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v)
	}
	return 0, false
}

func priority(value any) (int, error) {
	if n, ok := number(value); ok && math.Abs(n) < mostPriority {
		return int(math.Round(n)), nil
	}
	if s, ok := value.(string); ok {
		if n, ok := priorities[strings.ToLower(s)]; ok {
			return n, nil
		}
	}
	return 0, errors.New("priority is neither a number below a million nor low, medium or high")
}

// texts takes a list of texts, or one text with commas between its parts, as other programs write globs.
func texts(key string, value any) ([]string, error) {
	wrong := fmt.Errorf("%s is %v, want a list of texts", key, value)
	var list []string
	switch v := value.(type) {
	case nil:
	case string:
		list = splitOutsideBraces(v)
	case []any:
		for _, item := range v {
			if _, isText := item.(string); !isText {
				if _, isNumber := number(item); !isNumber {
					return nil, wrong
				}
			}
			list = append(list, fmt.Sprint(item))
		}
	default:
		return nil, wrong
	}
	var kept []string
	for _, item := range list {
		if item = strings.TrimSpace(item); item != "" {
			kept = append(kept, item)
		}
	}
	return kept, nil
}

// splitOutsideBraces splits at commas, but for those of a glob's "{ts,tsx}".
func splitOutsideBraces(text string) []string {
	var parts []string
	depth, start := 0, 0
	for i, c := range text {
		switch c {
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth <= 0 {
				parts = append(parts, text[start:i])
				start = i + 1
			}
		}
	}
	return append(parts, text[start:])
}
