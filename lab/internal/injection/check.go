package injection

import (
	"cmp"
	"context"
	"io"
	"slices"

	"github.com/memcore/memcore/internal/text/injection"
)

// A Count counts the texts of a kind and source, and the flagged ones: as the user's, and as those
// of strangers.
type Count struct {
	Kind, Source string
	Flagged      [injection.Origins]int
	Of           int
}

// Check measures the shipped model on texts it was not fitted to.
func Check(ctx context.Context, texts []*Text, out io.Writer) ([]Count, error) {
	d := injection.New(nil)
	var all []scored
	for _, t := range texts {
		s := scored{Text: t}
		for from := range injection.Origins {
			v := d.Judge(t.Text, from)
			touches := func(s [2]int) bool { return v.Touches(s[0], s[1]) }
			// flagging the document around an attack does not count
			s.flagged[from] = v.Flagged && (t.Kind != Buried || slices.ContainsFunc(t.Spans, touches))
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	table(out, all)
	return counts(all), nil
}

func counts(all []scored) (list []Count) {
	slices.SortStableFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Source, b.Source))
	})
	for _, s := range all {
		if n := len(list); n == 0 || list[n-1].Kind != s.Kind || list[n-1].Source != s.Source {
			list = append(list, Count{Kind: s.Kind, Source: s.Source})
		}
		c := &list[len(list)-1]
		c.Of++
		for from, is := range s.flagged {
			if is {
				c.Flagged[from]++
			}
		}
	}
	return list
}
