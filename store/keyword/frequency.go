package keyword

import "context"

func (s *snapshot) frequencies(ctx context.Context, words []string) ([]int, error) {
	x, err := newSearch(s)
	if err != nil {
		return nil, err
	}
	layout, err := s.layout()
	if err != nil {
		return nil, err
	}
	holders := make([]int, len(words))
	for i, word := range words {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if holders[i], err = x.rarestOf(parse(word, layout.spoken)); err != nil {
			return nil, err
		}
	}
	return holders, nil
}

// rarestOf returns how many records hold the rarest term. It skips a compound without records,
// whose parts may be common.
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
