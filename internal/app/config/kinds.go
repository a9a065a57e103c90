package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memcore/memcore/core/when"
)

// A parser reads a value of a file or variable, or one that it has read before. Its error says what
// it wants: "a whole number, 1 to 50".
type parser func(value any) (any, error)

// textThat reads texts that pass a test.
func textThat(want string, ok func(string) bool) parser {
	return func(value any) (any, error) {
		if s, is := value.(string); is && ok(s) {
			return s, nil
		}
		return nil, errors.New(want)
	}
}

// scalar reads values that pass a test, as a text or of their own type.
func scalar[T any](want string, read func(string) (T, error), ok func(T) bool) parser {
	return func(value any) (any, error) {
		v, err := read(fmt.Sprint(value))
		if err != nil || !ok(v) {
			return nil, errors.New(want)
		}
		return v, nil
	}
}

// Embedders says what the setting embedder may be.
const Embedders = "minilm, ollama, openai, none, or the name of a model that 'memcore model list' shows"

var (
	text         = textThat("text", func(string) bool { return true })
	embedderName = textThat(Embedders, IsEmbedder)
	folderName   = textThat("the name of a folder, such as .beans", isName)
	age          = textThat("an age such as 36h, 180d, 6mo or 1y", isAge)
	yesOrNo      = scalar("true or false", strconv.ParseBool, func(bool) bool { return true })
	span         = scalar("a duration such as 500ms or 720h, at least 0", time.ParseDuration, func(d time.Duration) bool { return d >= 0 })
)

func oneOf(words ...string) parser {
	return textThat(strings.Join(words, " or "), func(s string) bool { return slices.Contains(words, s) })
}

func whole(low, high int) parser {
	return scalar(fmt.Sprintf("a whole number, %d to %d", low, high), strconv.Atoi, func(n int) bool { return low <= n && n <= high })
}

func number(low, high float64) parser {
	read := func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }
	return scalar(fmt.Sprintf("a number, %g to %g", low, high), read, func(x float64) bool { return low <= x && x <= high })
}

// IsEmbedder reports whether an embedder can have a name.
func IsEmbedder(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789.-"
	return name != "" && strings.Trim(name, letters) == ""
}

// isName reports whether a text names a file or folder without the folders above.
func isName(s string) bool {
	return s != "" && s != "." && s != ".." && filepath.Base(s) == s && !strings.ContainsAny(s, `/\:`)
}

func isAge(s string) bool {
	_, ok := when.Ago(s, time.Now())
	return ok || s == ""
}

// list reads a list; in the environment, between commas, perhaps in brackets.
func list(value any) (any, error) {
	items := []string{}
	switch v := value.(type) {
	case []string:
		return v, nil
	case string:
		inner, _ := strings.CutPrefix(strings.TrimSpace(v), "[")
		inner, _ = strings.CutSuffix(inner, "]")
		for item := range strings.SplitSeq(inner, ",") {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, item)
			}
		}
		return items, nil
	case []any:
		for _, item := range v {
			if s, ok := item.(string); ok {
				items = append(items, s)
			}
		}
		if len(items) == len(v) {
			return items, nil
		}
	}
	return nil, errors.New("a list of texts")
}

// markdownNames reads names of Markdown files: a workspace must not name .env.
func markdownNames(value any) (any, error) {
	read, err := list(value)
	if err != nil {
		return nil, err
	}
	names := read.([]string)
	other := func(name string) bool { return !isName(name) || !strings.EqualFold(filepath.Ext(name), ".md") }
	if len(names) == 0 || slices.ContainsFunc(names, other) {
		return nil, errors.New("one or more names of Markdown files, without a folder")
	}
	return names, nil
}
