package keyword

import (
	"cmp"
	"context"

	segment "github.com/blevesearch/scorch_segment_api/v2"

	"github.com/memcore/memcore/store/internal/disk"
)

// postings implements source.
func (s *snapshot) postings() (postings, error) {
	x := &segmentPostings{parts: s.parts}
	for i, name := range fieldNames {
		for _, p := range s.parts {
			dictionary, err := p.Dictionary(name)
			if err != nil {
				return nil, disk.Damaged(err)
			}
			x.dictionaries[i] = append(x.dictionaries[i], dictionary)
		}
	}
	return x, nil
}

type segmentPostings struct {
	parts        []*part
	dictionaries [fieldCount][]segment.TermDictionary // by field and part
	list         segment.PostingsList                 // reused
	hits         segment.PostingsIterator             // reused
}

func (x *segmentPostings) count(field int, spelling []byte) (n uint64, err error) {
	for at := range x.parts {
		if err := x.open(field, at, spelling); err != nil {
			return 0, err
		}
		n += x.list.Count()
	}
	return n, nil
}

// open sets x.list.
func (x *segmentPostings) open(field, at int, spelling []byte) (err error) {
	x.list, err = x.dictionaries[field][at].PostingsList(spelling, x.parts[at].deleted, x.list)
	return disk.Damaged(err)
}

func (x *segmentPostings) collect(ctx context.Context, field int, spelling []byte, to weighted) error {
	for at, p := range x.parts {
		if err := cmp.Or(ctx.Err(), x.open(field, at, spelling)); err != nil {
			return err
		}
		x.hits = x.list.Iterator(true, true, false, x.hits)
		for {
			hit, err := x.hits.Next()
			if err != nil {
				return disk.Damaged(err)
			}
			if hit == nil {
				break
			}
			to.add(p.first+int(hit.Number()), hit.Frequency(), hit.(interface{ NormUint64() uint64 }).NormUint64())
		}
	}
	return nil
}
