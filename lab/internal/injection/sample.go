package injection

import "github.com/memcore/memcore/internal/text/injection"

// A sample has the features of texts.
type sample struct {
	texts   []*Text
	windows [][]window // by text
}

type window struct {
	injection.Window
	features []injection.Feature
}

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
