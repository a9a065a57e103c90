package static

import (
	"slices"
	"strings"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/statement"
)

// sayOnce removes from each piece the items and paragraphs that a later one says, too: what is more specific keeps them. Headings
// that have nothing under them for it go, too. Code is never touched. It returns how many were removed.
func sayOnce(pieces []piece) int {
	said := map[string]bool{}
	removed := 0
	for _, p := range slices.Backward(pieces) {
		statements := statement.Of(p.text(), 2)
		var repeated []statement.Statement
		for _, s := range statements {
			if said[s.Words] {
				repeated = append(repeated, s)
			}
		}
		for _, s := range statements {
			said[s.Words] = true
		}
		removed += len(repeated)
		p.remove(repeated)
	}
	return removed
}

// remove takes parts out, and headings that have nothing under them for it.
func (d *doc) remove(parts []statement.Statement) {
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
		blank := strings.TrimSpace(l.text) == ""
		if drop[i] || blank && i > 0 && drop[i-1] && (len(kept) == 0 || strings.TrimSpace(kept[len(kept)-1].text) == "") {
			continue
		}
		kept = append(kept, l)
	}
	d.lines = trimmed(kept)
}
