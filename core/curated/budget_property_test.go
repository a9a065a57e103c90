package curated

import (
	"fmt"
	"math/rand/v2"
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

// The text is within the limits, no unit left out would fit, and none replaces one of higher
// priority, unless other tiers keep a floor beside that.
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
		b.chooseUnits()
		total := b.total(0)
		if !fits(total, limits) {
			check(formatted(m) == "", "not even a note fits")
			continue
		}
		got.tokens, total.tokens = 0, 0 // which are estimated, or not counted
		check(got == total, "the sum is not what is given")
		for i, p := range b.portions {
			if p.given == len(p.order) {
				continue
			}
			cut++
			given += p.given
			for at, unit := range p.order {
				if !p.available(unit) {
					continue
				}
				p.set(unit, true)
				check(!fits(b.total(0), limits), "this fits, too:", p.textOf(unit))
				lower := b.without(i, at+1)
				check(b.besideFloors(i) != limits || !fits(b.total(0), limits), "something lower has the place of", p.textOf(unit))
				lower()
				p.set(unit, false)
			}
		}
	}
	require.Greater(t, cut, 150)
	require.Greater(t, given, 150)
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

// without takes back the units that rank below one of a portion. The returned function gives them
// again.
func (b *budget) without(i, at int) (again func()) {
	var taken []func()
	take := func(p *portion, order []int) {
		for j := len(order) - 1; j >= 0; j-- {
			if unit := order[j]; p.units[unit].given {
				p.set(unit, false)
				taken = append(taken, func() { p.set(unit, true) })
			}
		}
	}
	for _, p := range b.portions[:i] {
		take(p, p.order)
	}
	take(b.portions[i], b.portions[i].order[at:])
	return func() {
		for j := len(taken) - 1; j >= 0; j-- {
			taken[j]()
		}
	}
}
