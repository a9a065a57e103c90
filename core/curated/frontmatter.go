package curated

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/memcore/memcore/chunker"
)

// Version is the version of frontmatter that this package reads.
const Version = 1

// A Head is what the frontmatter of a memory file says.
type Head struct {
	Version  int            `json:"version"`
	Priority int            `json:"priority"` // higher comes later in the prompt and is kept longer; 0 by default
	Enabled  bool           `json:"enabled"`
	Name     string         `json:"name,omitempty"`
	Triggers []string       `json:"triggers,omitempty"` // words in a request that make it apply
	Globs    []string       `json:"globs,omitempty"`    // paths that make it apply
	Other    map[string]any `json:"other,omitempty"`
}

// Conditional reports whether triggers or globs limit the file.
func (h Head) Conditional() bool { return len(h.Triggers)+len(h.Globs) > 0 }

var priorities = map[string]int{"low": -100, "medium": 0, "high": 100}

const maxPriority = 1_000_000

// migrations change frontmatter of a version to the next.
var migrations = map[int]func(meta map[string]any) error{}

// frontmatter reads the head and counts its lines. After a *chunker.FrontmatterError the head is
// the default; other errors name values.
func frontmatter(data []byte) (head Head, text string, skipped int, err error) {
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
	for migrate := migrations[head.Version]; migrate != nil; migrate = migrations[head.Version] {
		if err := migrate(meta); err != nil {
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
	if !ok || n != math.Trunc(n) || n < 0 || n > maxPriority {
		return 0, fmt.Errorf("version is %v, want a whole number", value)
	}
	return int(n), nil
}

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
	if n, ok := number(value); ok && math.Abs(n) < maxPriority {
		return int(math.Round(n)), nil
	}
	if s, ok := value.(string); ok {
		if n, ok := priorities[strings.ToLower(s)]; ok {
			return n, nil
		}
	}
	return 0, errors.New("priority is neither a number below a million nor low, medium or high")
}

// texts reads strings, or globs with commas as others write them.
func texts(key string, value any) ([]string, error) {
	wrong := fmt.Errorf("%s is %v, want a list of texts", key, value)
	var list []string
	switch v := value.(type) {
	case nil:
	case string:
		list = SplitGlobs(v)
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

// SplitGlobs splits at commas, but not within "{ts,tsx}".
func SplitGlobs(text string) []string {
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
