package main

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A kind makes the value of a setting of what a file or the environment holds. Its error says what is
// wanted, such as "a whole number, 1 to 50".
type kind func(value any) (any, error)

func text() kind {
	return func(value any) (any, error) {
		if s, ok := value.(string); ok {
			return s, nil
		}
		return nil, errors.New("text")
	}
}

func oneOf(words ...string) kind {
	return func(value any) (any, error) {
		if s, ok := value.(string); ok && slices.Contains(words, s) {
			return s, nil
		}
		return nil, errors.New(strings.Join(words, " or "))
	}
}

func yesOrNo() kind {
	return func(value any) (any, error) {
		yes, err := strconv.ParseBool(fmt.Sprint(value))
		if err != nil {
			return nil, errors.New("true or false")
		}
		return yes, nil
	}
}

func whole(least, most int) kind {
	return func(value any) (any, error) {
		n, err := strconv.Atoi(fmt.Sprint(value))
		if err != nil || n < least || n > most {
			return nil, fmt.Errorf("a whole number, %d to %d", least, most)
		}
		return n, nil
	}
}

func number(least, most float64) kind {
	return func(value any) (any, error) {
		x, err := strconv.ParseFloat(fmt.Sprint(value), 64)
		if err != nil || math.IsNaN(x) || x < least || x > most {
			return nil, fmt.Errorf("a number, %g to %g", least, most)
		}
		return x, nil
	}
}

func duration() kind {
	return func(value any) (any, error) {
		d, err := time.ParseDuration(fmt.Sprint(value))
		if err != nil || d == 0 {
			return nil, errors.New("a duration such as 150ms, negative for not to look")
		}
		return d, nil
	}
}

// span takes a duration of at least 0.
func span() kind {
	return func(value any) (any, error) {
		d, err := time.ParseDuration(fmt.Sprint(value))
		if err != nil || d < 0 {
			return nil, errors.New("a duration such as 500ms or 720h, at least 0")
		}
		return d, nil
	}
}

// list takes a list, or as the environment has it, its items between commas, brackets around them or
// not.
func list() kind {
	return func(value any) (any, error) {
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

// markdownNames takes names of Markdown files only: what they name goes into prompts, and a project's
// own configuration must not put the person's .env there.
func markdownNames() kind {
	return func(value any) (any, error) {
		names, err := list()(value)
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
}

// folderName takes the name of one folder.
func folderName() kind {
	return func(value any) (any, error) {
		name, ok := value.(string)
		if !ok || name == "" || name == "." || name == ".." || filepath.Base(name) != name || strings.ContainsAny(name, `/\:`) {
			return nil, errors.New("the name of a folder, such as .beans")
		}
		return name, nil
	}
}
