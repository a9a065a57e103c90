package keyword

import "context"

// Frequencies returns how many records hold each word in their text or their title, and how many
// records there are. Of a word that is several terms, such as a name of several parts, the rarest
// term counts.
func (ix *Index) Frequencies(ctx context.Context, words []string) (holders []int, records int, err error) {
	err = ix.read(ctx, "frequencies", func(s *snapshot) error {
		x, err := newSearch(s, ix.options)
		if err != nil {
			return err
		}
		layout, err := s.layout()
		if err != nil {
			return err
		}
		holders, records = make([]int, len(words)), s.live
		for i, word := range words {
			if err := ctx.Err(); err != nil {
				return err
			}
			if holders[i], err = x.rarestOf(parse(word, layout.spoken)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return holders, records, nil
}

// rarestOf is how many records hold the rarest of terms. That nothing holds a compound as a whole
// says nothing of its parts.
func (x *search) rarestOf(terms []term) (int, error) {
	least := 0
	for i, t := range terms {
		n, err := x.records(t)
		if err != nil {
			return 0, err
		}
		if n == 0 && t.whole {
			continue
		}
		if i == 0 || least == 0 || int(n) < least {
			least = int(n)
		}
		if n == 0 {
			return 0, nil
		}
	}
	return least, nil
}
