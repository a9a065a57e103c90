package keyword

import (
	"cmp"
	"slices"
)

// A numberedText is the sum of a record's text, with its row.
type numberedText struct {
	sum uint64
	row int32
}

func compareTexts(a, b numberedText) int {
	return cmp.Or(cmp.Compare(a.sum, b.sum), cmp.Compare(a.row, b.row))
}

// equalTexts returns the first of texts, which are in order, that are equal.
func equalTexts(texts []numberedText) []numberedText {
	n := 1
	for n < len(texts) && texts[n].sum == texts[0].sum {
		n++
	}
	return texts[:n]
}

// textsFrom returns those from a sum on, which is not far in most cases.
func textsFrom(texts []numberedText, sum uint64) []numberedText {
	step := 1
	for step < len(texts) && texts[step].sum < sum {
		step *= 2
	}
	near := texts[step/2 : min(step+1, len(texts))]
	n, _ := slices.BinarySearchFunc(near, sum, func(t numberedText, sum uint64) int { return cmp.Compare(t.sum, sum) })
	return texts[step/2+n:]
}

// blockTexts are those of a block in a layout.
type blockTexts struct {
	part  *Part
	block *living
	first int            // number of the block's first record in the layout
	rest  []numberedText // in order
}

// copied appends the live rows of some texts.
func (b *blockTexts) copied(all []copied, texts []numberedText) []copied {
	for _, t := range texts {
		if i := int(t.row); !b.block.dead.has(i) {
			r := &b.block.rows[i]
			all = append(all, copied{b.first + i, r.when(), b.part.paths[r.document], r.id, b.block.size(i)})
		}
	}
	return all
}

// uniteBetween finds the copies that are in different blocks. It passes over the texts between two
// that a small and a large block have in common.
func (l *layout) uniteBetween(all []blockTexts) {
	for {
		lowest, next := -1, -1 // the blocks with the two first texts
		for i := range all {
			switch rest := all[i].rest; {
			case len(rest) == 0:
			case lowest < 0 || rest[0].sum < all[lowest].rest[0].sum:
				lowest, next = i, lowest
			case next < 0 || rest[0].sum < all[next].rest[0].sum:
				next = i
			}
		}
		if next < 0 {
			return
		}
		sum := all[next].rest[0].sum
		if all[lowest].rest[0].sum < sum {
			all[lowest].rest = textsFrom(all[lowest].rest, sum)
			continue
		}
		var same []copied
		for i := range all {
			if b := &all[i]; len(b.rest) > 0 && b.rest[0].sum == sum {
				texts := equalTexts(b.rest)
				same = b.copied(same, texts)
				b.rest = b.rest[len(texts):]
			}
		}
		l.unite(same)
	}
}
