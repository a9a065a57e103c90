package static

import (
	"regexp"
	"slices"
	"strings"

	"github.com/memcore/memcore/chunker"
)

// A statement is a paragraph or an item of a list.
type statement struct {
	start, end int    // lines, end exclusive
	words      string // what it says
}

// sayOnce removes from each piece the items and paragraphs that a later one says, too: what is more specific keeps them. Headings
// that have nothing under them for it go, too. Code is never touched. It returns how many were removed.
func sayOnce(pieces []piece) int {
	said := map[string]bool{}
	removed := 0
	for _, p := range slices.Backward(pieces) {
		statements := statementsOf(p.doc, 2)
		var repeated []statement
		for _, s := range statements {
			if said[s.words] {
				repeated = append(repeated, s)
			}
		}
		for _, s := range statements {
			said[s.words] = true
		}
		removed += len(repeated)
		p.remove(repeated)
	}
	return removed
}

// statementsOf are the paragraphs and the items of lists of a text that have some words at least.
func statementsOf(d *doc, least int) []statement {
	var all []statement
	add := func(start, end int) {
		words := normalised(d.lines[start:end])
		if len(words) >= least && !strings.HasSuffix(words[len(words)-1], ":") { // what announces something is no statement
			all = append(all, statement{start, end, strings.Join(words, " ")})
		}
	}
	for b := range chunker.Blocks(d.text()) {
		switch {
		case b.Prose:
			add(b.Start, b.End)
		case b.List:
			for start := b.Start; start < b.End; {
				end := start + 1
				for end < b.End && !itemLine.MatchString(d.lines[end].text) {
					end++
				}
				nested := end < b.End && indentOf(d.lines[end].text) > indentOf(d.lines[start].text)
				if itemLine.MatchString(d.lines[start].text) && !nested && !hasCode(d.lines[start:end]) {
					add(start, end)
				}
				start = end
			}
		}
	}
	return all
}

var itemLine = regexp.MustCompile(`^\s*(?:[-*+]|\d{1,9}[.)])\s`)

func indentOf(text string) int { return len(text) - len(strings.TrimLeft(text, " \t")) }

func hasCode(lines []line) bool {
	return slices.ContainsFunc(lines, func(l line) bool { return strings.Contains(l.text, "```") || strings.Contains(l.text, "~~~") })
}

// normalised are the words of a statement, without its mark, emphasis, case and full stop.
func normalised(lines []line) []string {
	var words []string
	for _, l := range lines {
		text := itemLine.ReplaceAllString(l.text, "")
		words = append(words, strings.Fields(strings.ToLower(strings.NewReplacer("**", "", "__", "").Replace(text)))...)
	}
	if last := len(words) - 1; last >= 0 {
		words[last] = strings.TrimRight(words[last], ".!。")
	}
	return words
}

// remove takes parts out, and headings that have nothing under them for it.
func (d *doc) remove(parts []statement) {
	if len(parts) == 0 {
		return
	}
	drop := make([]bool, len(d.lines))
	for _, p := range parts {
		for i := p.start; i < p.end; i++ {
			drop[i] = true
		}
	}
	blocks := slices.Collect(chunker.Blocks(d.text()))
	for i, b := range slices.Backward(blocks) {
		if b.Level == 0 {
			continue
		}
		had, has := false, false
		for _, under := range blocks[i+1:] {
			if under.Level > 0 && under.Level <= b.Level {
				break
			}
			had = had || under.Level == 0
			has = has || slices.Contains(drop[under.Start:under.End], false)
		}
		if had && !has {
			for at := b.Start; at < b.End; at++ {
				drop[at] = true
			}
		}
	}
	var kept []line
	for i, l := range d.lines {
		blank := strings.TrimSpace(l.text) == ""
		if drop[i] || blank && i > 0 && drop[i-1] && (len(kept) == 0 || strings.TrimSpace(kept[len(kept)-1].text) == "") {
			continue
		}
		kept = append(kept, l)
	}
	d.lines = trimmed(kept)
}
