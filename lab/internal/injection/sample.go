package injection

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/memcore/memcore/internal/text/injection"
)

// A sample has the features of texts.
type sample struct {
	texts   []*Text
	windows [][]window // by text
}

type window struct {
	injection.Window
	features []injection.Feature
	vector   []float32 // nil if words alone decide
	words    float64   // score by words, from weights fitted without the text
}

// Windows farther than this from both thresholds, by words, need no vector.
const (
	doubtBelow = 1.0
	doubtAbove = 1.5
)

// An Embedder is the built-in model.
type Embedder func(ctx context.Context, texts []string) ([][]float32, error)

func measure(texts []*Text) *sample {
	s := &sample{texts: texts, windows: make([][]window, len(texts))}
	for i, t := range texts {
		windows, features := injection.Measure(t.Text)
		for k, w := range windows {
			s.windows[i] = append(s.windows[i], window{Window: w, features: features[k]})
		}
	}
	return s
}

// embedDoubtful embeds the windows of texts near the threshold.
func embedDoubtful(ctx context.Context, windows [][]window, l limits, o Options) error {
	var waiting []*window
	flush := func() error {
		if len(waiting) == 0 {
			return nil
		}
		var batch []string
		for _, w := range waiting {
			batch = append(batch, w.Text)
		}
		vectors, err := o.Embed(ctx, batch)
		if err != nil {
			return fmt.Errorf("embed windows: %w", err)
		}
		for i, w := range waiting {
			w.vector = vectors[i]
		}
		waiting = waiting[:0]
		return nil
	}
	for i := range windows {
		for k := range windows[i] {
			w := &windows[i][k]
			if w.words < l[injection.Foreign]-doubtBelow || w.words > l[injection.Own]+doubtAbove {
				w.vector = nil
				continue
			}
			if w.vector != nil {
				continue
			}
			if waiting = append(waiting, w); len(waiting) == 256 {
				if err := flush(); err != nil {
					return err
				}
				o.Progress(i, len(windows))
			}
		}
	}
	return flush()
}

// reportVectors writes how many windows of notes need a vector.
func (s *sample) reportVectors(out io.Writer) {
	vectors, windows, notes := 0, 0, 0
	for i, t := range s.texts {
		if t.Kind != Note {
			continue
		}
		notes++
		for _, w := range s.windows[i] {
			if windows++; w.vector != nil {
				vectors++
			}
		}
	}
	fmt.Fprintf(out, "\n%d of %d windows of notes are asked for their meaning, %.2f a note\n",
		vectors, windows, float64(vectors)/math.Max(float64(notes), 1))
}

// groups counts the groups of near duplicates.
func (s *sample) groups() int {
	all := map[int]bool{}
	for _, t := range s.texts {
		all[t.group] = true
	}
	return len(all)
}

// trainable returns the texts to fit to, without near duplicates of held ones.
func (s *sample) trainable() (train []int, dropped int) {
	held := map[int]bool{}
	for _, t := range s.texts {
		if t.Held {
			held[t.group] = true
		}
	}
	for i, t := range s.texts {
		switch {
		case t.Held || t.Kind == Buried:
		case held[t.group]:
			dropped++
		default:
			train = append(train, i)
		}
	}
	return train, dropped
}
