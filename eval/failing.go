package eval

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Failing lists up to most badly answered questions.
func (r Report) Failing(most int) string {
	var failing []Asked
	for _, a := range r.Queries {
		if a.Fails() {
			failing = append(failing, a)
		}
	}
	if len(failing) == 0 || most <= 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "failing: %d of %d questions\n", len(failing), len(r.Queries))
	for _, a := range failing[:min(most, len(failing))] {
		fmt.Fprintf(&b, "  %s %s: %s\n    want   %s\n    given  %s\n    first  %s\n", a.Collection, a.ID, quote(a.Text), a.Wanted(), someOf(a.Injected, "nothing"), a.first())
	}
	if more := len(failing) - most; more > 0 {
		fmt.Fprintf(&b, "  and %d more; --json has all\n", more)
	}
	return b.String()
}

// Fails reports a missing answer, or a needless hit.
func (a Asked) Fails() bool {
	if !a.Answerable {
		return len(a.Injected) > 0
	}
	if slices.ContainsFunc(a.Injected, func(unit string) bool { return slices.Contains(a.Unwanted, unit) }) {
		return true
	}
	return !slices.ContainsFunc(a.Injected, func(unit string) bool { return a.Relevant[unit] > 0 })
}

// Wanted describes what should be given, and what should not.
func (a Asked) Wanted() string {
	var wanted []string
	if a.Answerable {
		wanted = slices.Sorted(maps.Keys(a.Relevant))
	}
	return someOf(append(wanted, a.Unwanted...), "nothing")
}

// first describes the first hit and the first relevant one.
func (a Asked) first() string {
	if len(a.Top) == 0 {
		return "no hit"
	}
	text := fmt.Sprintf("%s, score %.3f: %s", a.Top[0].Name, a.Top[0].Score, a.Top[0].Text)
	if !a.Answerable {
		return text
	}
	place := slices.IndexFunc(a.Found, func(unit string) bool { return a.Relevant[unit] > 0 })
	if place < 0 {
		return fmt.Sprintf("%s (the answer is not among %d found)", text, len(a.Found))
	}
	return fmt.Sprintf("%s (the answer is at place %d)", text, place+1)
}

// someNames is how many names are listed; the rest is counted.
const someNames = 3

func someOf(names []string, none string) string {
	switch {
	case len(names) == 0:
		return none
	case len(names) > someNames:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:someNames], "; "), len(names)-someNames)
	}
	return strings.Join(names, "; ")
}
