package readers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/memcore/memcore/eval"
)

// A Score is how one reader chose under one instruction.
type Score struct {
	Reader      string
	Instruction string
	Answered    int // items of the keys, answered
	Items       int
	// Wanted is the share of turns with something wanted that were given some of it, or whose reader
	// opened it. Quiet is the share of the others that were given nothing and opened nothing. A turn
	// whose item was not answered counts in neither.
	Wanted, Quiet float64
	// Right is the share of lists with something wanted whose reader opened it.
	Right float64
	// Opened counts lines; Precision and Related are the shares of them that are wanted, or at least
	// related.
	Opened             int
	Precision, Related float64
}

// ScoreAll scores each reader's answers under each instruction. Unknown items are answers about
// other lists and do not count.
func ScoreAll(keys []Key, answers []Answer) []Score {
	type group struct{ reader, instruction string }
	by := map[group]map[string][]string{}
	for _, a := range answers {
		g := group{a.Reader, a.Instruction}
		if by[g] == nil {
			by[g] = map[string][]string{}
		}
		by[g][a.ID] = a.Open
	}
	var all []Score
	for g, open := range by {
		s := score(keys, open)
		s.Reader, s.Instruction = g.reader, g.instruction
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Score) int {
		return cmp.Or(strings.Compare(a.Instruction, b.Instruction), strings.Compare(a.Reader, b.Reader))
	})
	return all
}

func score(keys []Key, answers map[string][]string) Score {
	var s Score
	var gold, none, right, lists int
	counted := map[string]bool{}
	for _, key := range keys {
		open, answered := answers[key.ID]
		if key.ID != "" && !counted[key.ID] {
			counted[key.ID] = true
			s.Items++
			s.Answered += count(answered)
		}
		if key.ID != "" && !answered {
			continue
		}
		found, offered := false, false
		for _, grade := range key.Grades {
			offered = offered || grade == eval.GradeWanted
		}
		for _, name := range open {
			grade, known := key.Grades[name]
			if !known {
				continue // a name that the reader made up opens nothing
			}
			s.Opened++
			s.Precision += float64(count(grade == eval.GradeWanted))
			s.Related += float64(count(grade >= eval.GradeRelated))
			found = found || grade == eval.GradeWanted
		}
		if offered {
			lists++
			right += count(found)
		}
		if key.Nothing {
			none++
			s.Quiet += float64(count(!key.Given && len(open) == 0))
		} else {
			gold++
			s.Wanted += float64(count(key.Hit || found))
		}
	}
	s.Wanted /= float64(max(gold, 1))
	s.Quiet /= float64(max(none, 1))
	s.Right = float64(right) / float64(max(lists, 1))
	s.Precision /= float64(max(s.Opened, 1))
	s.Related /= float64(max(s.Opened, 1))
	return s
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// An Agreement says how far two readers opened the same lines.
type Agreement struct {
	Instruction   string
	First, Second string
	Lines         int // of items that both answered
	Same          float64
	Kappa         float64 // Cohen's κ: 1 is the same, 0 is as by chance
}

// Agreements compares each two readers under each instruction.
func Agreements(items []Item, answers []Answer) []Agreement {
	open := map[string]map[string]map[string][]string{} // instruction, reader, item
	for _, a := range answers {
		if open[a.Instruction] == nil {
			open[a.Instruction] = map[string]map[string][]string{}
		}
		if open[a.Instruction][a.Reader] == nil {
			open[a.Instruction][a.Reader] = map[string][]string{}
		}
		open[a.Instruction][a.Reader][a.ID] = a.Open
	}
	var all []Agreement
	for _, instruction := range sorted(open) {
		readers := sorted(open[instruction])
		for i, first := range readers {
			for _, second := range readers[i+1:] {
				a := agree(items, open[instruction][first], open[instruction][second])
				a.Instruction, a.First, a.Second = instruction, first, second
				all = append(all, a)
			}
		}
	}
	return all
}

func sorted[V any](m map[string]V) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func agree(items []Item, first, second map[string][]string) Agreement {
	var a Agreement
	var same, firstOpen, secondOpen float64
	for _, item := range items {
		one, ok1 := first[item.ID]
		two, ok2 := second[item.ID]
		if !ok1 || !ok2 {
			continue
		}
		for _, line := range item.Lines {
			x, y := slices.Contains(one, line.Name), slices.Contains(two, line.Name)
			a.Lines++
			same += float64(count(x == y))
			firstOpen += float64(count(x))
			secondOpen += float64(count(y))
		}
	}
	n := float64(max(a.Lines, 1))
	a.Same, firstOpen, secondOpen = same/n, firstOpen/n, secondOpen/n
	chance := firstOpen*secondOpen + (1-firstOpen)*(1-secondOpen)
	if chance < 1 {
		a.Kappa = (a.Same - chance) / (1 - chance)
	} else {
		a.Kappa = a.Same // both opened all lines, or none
	}
	return a
}

// Table shows scores and agreements.
func Table(scores []Score, agreements []Agreement) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "instruction\treader\tanswered\tgiven or opened, wanted\tnothing, where nothing\topened right\topened\twanted\trelated")
	for _, s := range scores {
		fmt.Fprintf(w, "%s\t%s\t%d of %d\t%.2f\t%.2f\t%.2f\t%d\t%.2f\t%.2f\n", s.Instruction, s.Reader, s.Answered, s.Items, s.Wanted, s.Quiet, s.Right, s.Opened, s.Precision, s.Related)
	}
	for _, a := range agreements {
		fmt.Fprintf(w, "%s\t%s and %s\t%d lines\tthe same on %.2f, κ %.2f\n", a.Instruction, a.First, a.Second, a.Lines, a.Same, a.Kappa)
	}
	w.Flush()
	return b.String()
}
