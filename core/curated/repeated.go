package curated

import (
	"slices"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/markdown/statement"
)

// A statementIndex maps a statement's words to its body.
type statementIndex map[string]int

func (s statementIndex) add(text string, by int) {
	for _, one := range statement.Of(text, 2) {
		s[one.Words] = by
	}
}

// removeFrom removes recorded items and paragraphs, then empty headings, but no code. It returns
// how many.
func (s statementIndex) removeFrom(d *body) int {
	if len(s) == 0 {
		return 0
	}
	var repeated []statement.Statement
	for _, one := range statement.Of(d.text(), 2) {
		if _, known := s[one.Words]; known {
			repeated = append(repeated, one)
		}
	}
	d.remove(repeated)
	return len(repeated)
}

func (d *body) remove(parts []statement.Statement) {
	if len(parts) == 0 {
		return
	}
	drop := make([]bool, len(d.lines))
	for _, p := range parts {
		for i := p.Start; i < p.End; i++ {
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
		doubled := blank(l) && i > 0 && drop[i-1] && (len(kept) == 0 || blank(kept[len(kept)-1]))
		if !drop[i] && !doubled {
			kept = append(kept, l)
		}
	}
	d.lines = trimmed(kept)
}
