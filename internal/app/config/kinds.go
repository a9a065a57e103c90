package config

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memcore/memcore/core/when"
)

// A parser reads a value. Its error says what it wants: "a whole number, 1 to 50".
type parser func(value any) (any, error)

func text(value any) (any, error) {
	if s, ok := value.(string); ok {
		return s, nil
	}
	return nil, errors.New("text")
}

func oneOf(words ...string) parser {
	return func(value any) (any, error) {
		if s, ok := value.(string); ok && slices.Contains(words, s) {
			return s, nil
		}
		return nil, errors.New(strings.Join(words, " or "))
	}
}

// embedderName reads a word with the letters of a model's name.
func embedderName(value any) (any, error) {
	if s, ok := value.(string); ok && IsEmbedder(s) {
		return s, nil
	}
	return nil, errors.New(Embedders)
}

// Embedders says what the setting embedder may be.
const Embedders = "minilm, ollama, openai, none, or the name of a model that 'memcore model list' shows"

// IsEmbedder reports whether an embedder can have a name.
func IsEmbedder(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789.-"
	return name != "" && strings.Trim(name, letters) == ""
}

func yesOrNo(value any) (any, error) {
	yes, err := strconv.ParseBool(fmt.Sprint(value))
	if err != nil {
		return nil, errors.New("true or false")
	}
	return yes, nil
}

func whole(least, most int) parser {
	return func(value any) (any, error) {
		n, err := strconv.Atoi(fmt.Sprint(value))
		if err != nil || n < least || n > most {
			return nil, fmt.Errorf("a whole number, %d to %d", least, most)
		}
		return n, nil
	}
}

func number(least, most float64) parser {
	return func(value any) (any, error) {
		x, err := strconv.ParseFloat(fmt.Sprint(value), 64)
		if err != nil || math.IsNaN(x) || x < least || x > most {
			return nil, fmt.Errorf("a number, %g to %g", least, most)
		}
		return x, nil
	}
}

func duration(value any) (any, error) {
	d, err := time.ParseDuration(fmt.Sprint(value))
	if err != nil || d == 0 {
		return nil, errors.New("a duration such as 150ms; negative: never")
	}
	return d, nil
}

// span reads a duration of at least 0.
func span(value any) (any, error) {
	d, err := time.ParseDuration(fmt.Sprint(value))
	if err != nil || d < 0 {
		return nil, errors.New("a duration such as 500ms or 720h, at least 0")
	}
	return d, nil
}

// age reads how long ago something was, such as 180d.
func age(value any) (any, error) {
	text := strings.TrimSpace(fmt.Sprint(value))
	if _, ok := when.Ago(text, time.Now()); text != "" && !ok {
		return nil, errors.New("an age such as 36h, 180d, 6mo or 1y")
	}
	return text, nil
}

// list reads a list; in the environment, between commas, perhaps in brackets.
func list(value any) (any, error) {
	switch v := value.(type) {
	case string:
		return split(v), nil
	case []any:
		items := make([]string, 0, len(v))
		for _, item := range v {
			s, ok := item.(string)
			if !ok {
				return nil, errors.New("a list of texts")
			}
			items = append(items, s)
		}
		return items, nil
	}
	return nil, errors.New("a list of texts")
}

func split(text string) []string {
	inner, _ := strings.CutPrefix(strings.TrimSpace(text), "[")
	inner, _ = strings.CutSuffix(inner, "]")
	items := []string{}
	for item := range strings.SplitSeq(inner, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// markdownNames reads names of Markdown files: a workspace must not name .env.
func markdownNames(value any) (any, error) {
	names, err := list(value)
	if err != nil {
		return nil, err
	}
	wanted := errors.New("one or more names of Markdown files, without a folder")
	if len(names.([]string)) == 0 {
		return nil, wanted
	}
	for _, name := range names.([]string) {
		if filepath.Base(name) != name || strings.ContainsAny(name, `/\:`) || !strings.EqualFold(filepath.Ext(name), ".md") {
			return nil, wanted
		}
	}
	return names, nil
}

// folderName reads the name of one folder.
func folderName(value any) (any, error) {
	name, ok := value.(string)
	if !ok || name == "" || name == "." || name == ".." || filepath.Base(name) != name || strings.ContainsAny(name, `/\:`) {
		return nil, errors.New("the name of a folder, such as .beans")
	}
	return name, nil
}
