package curated

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// formatted returns sections as an agent gets them.
func formatted(m Memory) string {
	var parts []string
	for _, s := range m.Sections() {
		parts = append(parts, s.Heading()+"\n\n"+s.Text)
	}
	return strings.Join(parts, "\n\n")
}

// randomMarkdown returns blocks without repeated statements.
func randomMarkdown(random *rand.Rand, name string) string {
	var b strings.Builder
	n := 0
	words := func(most int) string {
		n++
		return fmt.Sprintf("%s%d%s", name, n, strings.Repeat(" wörd", random.IntN(most)))
	}
	for range 1 + random.IntN(12) {
		if random.IntN(4) > 0 {
			b.WriteString("\n")
		}
		switch random.IntN(9) {
		case 0:
			fmt.Fprintf(&b, "%s %s\n", strings.Repeat("#", 1+random.IntN(3)), words(4))
		case 1, 2:
			for i := range 1 + random.IntN(20) {
				mark := "-"
				if random.IntN(8) == 0 {
					mark = "  -"
				} else if i%7 == 6 {
					mark = "1."
				}
				fmt.Fprintf(&b, "%s %s\n", mark, words(12))
			}
		case 3:
			fmt.Fprintf(&b, "| %s | b |\n|---|---|\n", words(2))
			for range random.IntN(10) {
				fmt.Fprintf(&b, "| %s | x |\n", words(6))
			}
		case 4:
			fmt.Fprintf(&b, "```sh\n%s\n```\n", strings.Repeat(words(3)+"\n\n", 1+random.IntN(15)))
		case 5:
			for range 1 + random.IntN(30) {
				fmt.Fprintf(&b, "%s.%s", words(20), []string{" ", "\n"}[random.IntN(2)])
			}
			b.WriteString("\n")
		case 6:
			fmt.Fprintf(&b, "%s as follows:\n", words(3))
		case 7:
			fmt.Fprintf(&b, "<!-- %s -->\n", words(5))
		default:
			fmt.Fprintf(&b, "%s\n%s\n", words(8), words(8))
		}
	}
	return b.String()
}

// randomPieces returns files with priorities, and limits that they may exceed.
func randomPieces(t *testing.T, random *rand.Rand) (*reader, []candidate, Limits) {
	count := estimate
	if random.IntN(2) == 0 {
		count = func(s string) int { return len(strings.Fields(s)) }
	}
	r := newReader(t.Context(), Options{Count: count, NoImports: true}.withDefaults())
	tiers := []Tier{Global, Plugin, Project, Directory}
	var found []candidate
	for i := range 1 + random.IntN(6) {
		name := fmt.Sprintf("f%d", i)
		c := parse(name, []byte(fmt.Sprintf("---\npriority: %d\n---\n", random.IntN(3))+randomMarkdown(random, name)))
		found = append(found, candidate{file: name, tier: tiers[min(i/2+random.IntN(2), 3)], parsed: c})
	}
	limits := NoLimits
	for range 1 + random.IntN(2) {
		switch random.IntN(3) {
		case 0:
			limits.Lines = random.IntN(120)
		case 1:
			limits.Tokens = 1 + random.IntN(600)
		default:
			limits.Runes = 1 + random.IntN(4000)
		}
	}
	return r, found, limits
}

// The text is within the limits, of each file it has the beginning, and more of it would not fit.
func TestBudgetProperties(t *testing.T) {
	cut, given := 0, 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 20))
		r, found, limits := randomPieces(t, random)
		m := r.assemble(found, limits, nil, func(candidate) string { return "" })
		check := func(ok bool, what ...string) {
			if !ok {
				t.Fatalf("seed %d: %s, limits %+v\n%s", seed, strings.Join(what, " "), limits, formatted(m))
			}
		}
		got := size{m.Usage.Lines, m.Usage.Tokens, utf8.RuneCountInString(formatted(m))}
		check(fits(got, limits), "too much:", over(got, limits))
		check(strings.Count(formatted(m), "```")%2 == 0, "an open fence")

		b := budgetOf(r, found, limits)
		b.divide()
		total := b.total(0)
		if !fits(total, limits) {
			check(formatted(m) == "", "not even a note fits")
			continue
		}
		if over(b.whole(), limits) == "" {
			continue
		}
		got.tokens, total.tokens = 0, 0 // which are estimated, or not counted
		check(got == total, "the sum is not what is given")
		for _, p := range b.portions {
			if p.given == len(p.lines) {
				continue
			}
			cut++
			given += p.given
			ends := append(p.ends(), len(p.lines))
			next := ends[slices.IndexFunc(ends, func(end int) bool { return end > p.given })]
			before := p.given
			p.give(next)
			check(!fits(b.total(0), limits), "this fits, too:", textOf(p.lines[before:next]))
			p.give(before)
		}
	}
	require.Greater(t, cut, 150)
	require.Greater(t, given, 150)
}

// whole returns the size of all bodies uncut.
func (b *budget) whole() size {
	var given []int
	for _, p := range b.portions {
		given = append(given, p.given)
		p.give(len(p.lines))
	}
	total := b.total(0)
	for i, p := range b.portions {
		p.give(given[i])
	}
	return total
}

// budgetOf returns the budget that assemble makes of files.
func budgetOf(r *reader, found []candidate, limits Limits) *budget {
	var all []candidate
	for _, c := range inOrder(found) {
		x := &expansion{reader: r, given: map[string]bool{}, imported: map[string]bool{}, unfollowed: map[string]bool{}}
		c.body = x.bodyOf(c)
		all = append(all, c)
	}
	return r.budget(all, limits)
}
