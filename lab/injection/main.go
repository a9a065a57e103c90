// Command injection measures the detector of injections on labelled texts, and fits weights to them.
//
//	go -C lab run ./injection -data FILE
//	go -C lab run ./injection -data FILE -fit ../internal/text/injection/weights.json
//
// FILE has one text a line: {"text", "kind", "source", "spans"}. kind is attack, note or buried (an
// attack in a note, at spans of bytes). Measure with other texts than you fit to.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/memcore/memcore/internal/text/injection"
)

// Kinds of texts.
const (
	attack = "attack" // has to be flagged
	note   = "note"   // must not be flagged
	buried = "buried" // an attack inside a note
)

// A labelled text is a line of the data.
type labelled struct {
	Text   string   `json:"text"`
	Kind   string   `json:"kind"`
	Source string   `json:"source"`
	Spans  [][2]int `json:"spans"` // of the attacks in a buried text, in bytes
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("injection: ")
	data := flag.String("data", "", "`FILE` of the labelled texts")
	out := flag.String("fit", "", "fit weights and write them to `FILE`; measure nothing")
	flag.Parse()
	if err := run(*data, *out); err != nil {
		log.Fatal(err)
	}
}

func run(data, out string) error {
	if data == "" {
		return errors.New("-data is empty, want a file of labelled texts")
	}
	texts, err := load(data)
	if err != nil {
		return fmt.Errorf("reading labelled texts: %w", err)
	}
	if out == "" {
		return check(os.Stdout, texts)
	}
	text, err := json.MarshalIndent(fit(texts), "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(text, '\n'), 0o644)
}

func load(name string) (all []labelled, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		var t labelled
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if !slices.Contains([]string{attack, note, buried}, t.Kind) {
			return nil, fmt.Errorf("%s:%d: kind is %q, want %s, %s or %s", name, n, t.Kind, attack, note, buried)
		}
		all = append(all, t)
	}
	return all, lines.Err()
}

// check writes how many texts of each kind and source are flagged, as the user's and as those of
// others.
func check(out io.Writer, texts []labelled) error {
	filter, err := injection.NewFilter(injection.Frame)
	if err != nil {
		return err
	}
	type tally struct {
		of      int
		flagged [injection.Origins]int
	}
	tallies := map[string]*tally{}
	for _, t := range texts {
		for _, by := range []string{t.Kind, t.Kind + " " + t.Source} {
			if tallies[by] == nil {
				tallies[by] = &tally{}
			}
			tallies[by].of++
		}
		for from := range injection.Origins {
			if t.found(filter.Judge(t.Text, from)) {
				tallies[t.Kind].flagged[from]++
				tallies[t.Kind+" "+t.Source].flagged[from]++
			}
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "kind, source\ttexts\tif %s\tif %s\n", injection.Own, injection.Foreign)
	for _, by := range slices.Sorted(maps.Keys(tallies)) {
		t := tallies[by]
		fmt.Fprintf(w, "%s\t%d\t%.1f %%\t%.1f %%\n", by, t.of, percent(t.flagged[injection.Own], t.of), percent(t.flagged[injection.Foreign], t.of))
	}
	return w.Flush()
}

// found reports whether a verdict flags a text; of a buried one, the attack.
func (t labelled) found(v injection.Verdict) bool {
	if t.Kind != buried {
		return v.Flagged
	}
	return slices.ContainsFunc(v.Findings, func(f injection.Finding) bool {
		return slices.ContainsFunc(t.Spans, func(s [2]int) bool { return f.Start < s[1] && s[0] < f.End })
	})
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(of) }
