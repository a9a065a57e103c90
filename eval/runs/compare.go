package runs

import (
	"errors"

	"github.com/memcore/memcore/eval"
)

// compared are the scores that are kept of each question.
var compared = []string{"recall@turn", "recall@candidates", "recall@10", "mrr", "ndcg@10"}

// A Comparison says what changed from one run to another.
type Comparison struct {
	Before Run `json:"before"`
	After  Run `json:"after"`
	eval.Comparison
	// Broken are questions that were answered well before and are not now; Fixed are the reverse.
	Broken []eval.Asked `json:"broken"`
	Fixed  []eval.Asked `json:"fixed"`
}

// Compare compares two kept runs. Runs without a common question have no changes.
func (f Folder) Compare(before, after string) (c Comparison, err error) {
	c.Broken, c.Fixed = []eval.Asked{}, []eval.Asked{}
	var earlier, later eval.Report
	if c.Before, earlier, err = f.Get(before); err != nil {
		return c, err
	}
	if c.After, later, err = f.Get(after); err != nil {
		return c, err
	}
	for _, p := range eval.Same(earlier, later) {
		switch b, a := p[0].Fails(), p[1].Fails(); {
		case a && !b:
			c.Broken = append(c.Broken, p[1])
		case b && !a:
			c.Fixed = append(c.Fixed, p[1])
		}
	}
	if c.Comparison, err = eval.Compare(earlier, later); errors.Is(err, eval.ErrNothingInCommon) {
		err = nil
	}
	if c.Changes == nil {
		c.Changes = []eval.Change{}
	}
	return c, err
}
