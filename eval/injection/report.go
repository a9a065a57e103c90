package injection

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/memcore/memcore/internal/suspicion"
)

// Options say how weights are fitted and what is reported.
type Options struct {
	Folds    int      // of cross-validation; 0 is 5
	Quick    bool     // leaves out that of sources
	Embed    Embedder // the built-in model; nil fits no Meaning
	Progress func(done, of int)
	// Alarms is the share of notes that may be flagged; the threshold is chosen for it. 0 is 0.02.
	Alarms float64
}

// A judgment is the score of a text by weights that were fitted without it.
type judgment struct {
	*Text
	score float64
}

// Run groups and measures the texts, cross-validates, writes a report, and returns a model that is fitted to all that is not held.
func Run(ctx context.Context, texts []*Text, out io.Writer, o Options) (*suspicion.Model, error) {
	if o.Folds == 0 {
		o.Folds = 5
	}
	if o.Alarms == 0 {
		o.Alarms = 0.02
	}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	Group(texts)
	s := measure(texts)
	train, dropped := s.trainable()
	fmt.Fprintf(out, "%d texts in %d groups; %d to fit to (%d more are near duplicates of what is held back)\n", len(texts), s.groups(), len(train), dropped)
	model := &suspicion.Model{Ask: [2]float64{0, 1}}
	wordsLimit := 0.0
	var words *fitted
	for _, kind := range []struct {
		name string
		o    settings
		to   *suspicion.Weights
	}{{"words and shape", wordsOnly(), &model.Words}, {"words, shape and meaning", withMeaning(), &model.Meaning}} {
		if kind.o.vectors {
			if o.Embed == nil {
				model.Meaning = model.Words
				continue
			}
			if err := s.embed(ctx, wordsLimit, o.Embed, o.Progress); err != nil {
				return nil, err
			}
			kind.o.sure = wordsLimit + doubtAbove
			model.Ask = [2]float64{logistic(wordsLimit - doubtBelow), logistic(wordsLimit + doubtAbove)}
			s.sayAsked(out)
		}
		all, err := s.crossValidate(ctx, train, o.Folds, kind.o)
		if err != nil {
			return nil, err
		}
		limit := threshold(all, o.Alarms)
		fmt.Fprintf(out, "\n## %s: %d-fold, threshold %.3f\n\n", kind.name, o.Folds, logistic(limit))
		table(out, all, limit)
		if !o.Quick && !kind.o.vectors { // what words say, which meaning corrects, comes from folds that had the source
			alone, err := s.leaveOneSourceOut(ctx, train, kind.o)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(out, "\n## %s: leave one source out\n\n", kind.name)
			table(out, alone, limit)
		}
		f := s.fit(train, kind.o)
		if !kind.o.vectors {
			wordsLimit = limit
			for i, t := range texts {
				for k := range s.windows[i] {
					if w := &s.windows[i][k]; t.Held {
						w.words = f.score(w)
					}
				}
			}
		}
		var held []judgment
		for i, t := range texts {
			if t.Held {
				score, _ := f.most(s.windows[i])
				held = append(held, judgment{t, score})
			}
		}
		if kind.o.vectors { // words' weights, and what meaning adds
			copy(f.dense, words.dense)
			f.bias += words.bias
		} else {
			words = f
		}
		if *kind.to, err = suspicion.NewWeights(f.dense, f.bias, logistic(limit)); err != nil {
			return nil, err
		}
		fmt.Fprintf(out, "\n## %s: the half that was held back\n\n", kind.name)
		table(out, held, limit)
	}
	model.Fitted = fmt.Sprintf("%d texts, by memcore eval injection, %s", len(train), time.Now().Format(time.DateOnly))
	model.Seal()
	return model, nil
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func (s *sample) groups() int {
	all := map[int]bool{}
	for _, t := range s.texts {
		all[t.group] = true
	}
	return len(all)
}

// trainable are the texts to fit to, and how many were left out for a twin among the held ones.
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

// crossValidate judges each text by weights that were fitted without its group; Buried ones by those without their attack.
func (s *sample) crossValidate(ctx context.Context, train []int, folds int, o settings) ([]judgment, error) {
	fold := func(group int) int { return int(uint32(group) * 2654435761 >> 16 % uint32(folds)) }
	var all []judgment
	for k := range folds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var some []int
		for _, i := range train {
			if fold(s.texts[i].group) != k {
				some = append(some, i)
			}
		}
		f := s.fit(some, o)
		for i, t := range s.texts {
			if !t.Held && fold(t.group) == k {
				score, _ := f.best(s, i)
				all = append(all, judgment{t, score})
				for n := range s.windows[i] {
					if w := &s.windows[i][n]; !o.vectors {
						w.words = f.score(w)
					}
				}
			}
		}
	}
	return all, nil
}

// sayAsked says how much of what is benign is asked for its meaning: what that costs.
func (s *sample) sayAsked(out io.Writer) {
	asked, all, notes := 0, 0, 0
	for i, t := range s.texts {
		if t.Kind != Note {
			continue
		}
		notes++
		for k := range s.windows[i] {
			if all++; s.windows[i][k].asked() {
				asked++
			}
		}
	}
	fmt.Fprintf(out, "\n%d of %d windows of notes are asked for their meaning, %.2f a note\n", asked, all, float64(asked)/float64(max(notes, 1)))
}

// best is the score of a text; of a Buried one that of a window that touches the attack: flagging its host is no merit.
func (f *fitted) best(s *sample, i int) (float64, int) {
	t := s.texts[i]
	if t.Kind != Buried {
		return f.most(s.windows[i])
	}
	var touching []window
	for _, w := range s.windows[i] {
		for _, span := range t.Spans {
			if w.start < span[1] && span[0] < w.end {
				touching = append(touching, w)
				break
			}
		}
	}
	return f.most(touching)
}

// leaveOneSourceOut judges each source by weights that were fitted without it.
func (s *sample) leaveOneSourceOut(ctx context.Context, train []int, o settings) ([]judgment, error) {
	sources := map[string]bool{}
	for _, i := range train {
		sources[s.texts[i].Source] = true
	}
	var all []judgment
	for _, source := range slices.Sorted(maps.Keys(sources)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		groups := map[int]bool{}
		for _, i := range train {
			if s.texts[i].Source == source {
				groups[s.texts[i].group] = true
			}
		}
		var some []int
		for _, i := range train {
			if !groups[s.texts[i].group] {
				some = append(some, i)
			}
		}
		f := s.fit(some, o)
		for i, t := range s.texts {
			if !t.Held && t.Source == source {
				score, _ := f.best(s, i)
				all = append(all, judgment{t, score})
			}
		}
	}
	return all, nil
}

// threshold is the least score at which no more than a share of notes is flagged, every source counting the same.
func threshold(all []judgment, alarms float64) float64 {
	counts := map[string]float64{}
	var notes []judgment
	for _, j := range all {
		if j.Kind == Note {
			counts[j.Source]++
			notes = append(notes, j)
		}
	}
	slices.SortFunc(notes, func(a, b judgment) int { return cmp.Compare(b.score, a.score) })
	flagged, last := 0.0, 0.0
	total := 0.0
	for source, n := range counts {
		total += math.Sqrt(n) * emphasis(source)
	}
	for _, j := range notes {
		flagged += emphasis(j.Source) / math.Sqrt(counts[j.Source]) / total
		if flagged > alarms {
			return j.score + 1e-6
		}
		last = j.score
	}
	return last
}

// A tally counts flagged texts.
type tally struct{ flagged, of int }

func (t tally) String() string {
	if t.of == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d\t%.1f %%", t.flagged, t.of, 100*float64(t.flagged)/float64(t.of))
}

// table writes what was flagged: by kind, by source, by language.
func table(out io.Writer, all []judgment, limit float64) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	for _, by := range []struct {
		title string
		key   func(*Text) string
	}{
		{"all", func(t *Text) string { return t.Kind }},
		{"by source", func(t *Text) string { return t.Kind + " " + t.Source }},
		{"by language", func(t *Text) string { return t.Kind + " " + t.Lang }},
	} {
		tallies := map[string]tally{}
		for _, j := range all {
			t := tallies[by.key(j.Text)]
			t.of++
			if j.score >= limit {
				t.flagged++
			}
			tallies[by.key(j.Text)] = t
		}
		fmt.Fprintf(w, "%s\tflagged\t\n", by.title)
		for _, k := range slices.Sorted(maps.Keys(tallies)) {
			fmt.Fprintf(w, "%s\t%s\n", k, tallies[k])
		}
		fmt.Fprintln(w, "\t\t")
	}
}
