// Command stated fits the model by which package stated finds what users state, and measures it.
//
//	go -C lab run ./stated                                             measures each file with a model of the others
//	go -C lab run ./stated -test FILE,…                                measures other files with a model of all
//	go -C lab run ./stated -out ../internal/text/stated/model.json     fits to all
//
// -logs names a folder of real logs that lab/turns/rebuild.py made; their labelled messages are fitted
// to, or measured, beside the files. The shipped model is fitted to both.
//
// -data names the files to fit to, by default those of lab/stated/data. A file has blocks, one for a
// message, with an empty line between. A block begins with "@ LANGUAGE PLACE", where PLACE is new
// (the message opens a task), follow, or answer (it answers a question of the agent). Each other line
// is "LABEL| sentence". LABEL is N for what states nothing, R for a rule, P a preference, D a
// decision, F a fact, C a correction, with "*" if it holds for all later work.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/text/stated"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("stated: ")
	data := flag.String("data", "stated/data", "`FOLDER` of the files to fit to")
	logs := flag.String("logs", "", "`FOLDER` of real logs, by lab/turns/rebuild.py")
	test := flag.String("test", "", "measure these `FILES`, with commas between, instead")
	out := flag.String("out", "", "write a model of all to `FILE`; measure nothing")
	flag.Parse()
	if err := run(*data, *logs, *test, *out); err != nil {
		log.Fatal(err)
	}
}

func run(data, logs, test, out string) error {
	names, err := filepath.Glob(filepath.Join(data, "*.txt"))
	if err != nil || len(names) == 0 {
		return fmt.Errorf("no files in %s: %v", data, err)
	}
	all, err := readAll(names)
	if err != nil {
		return err
	}
	if logs != "" {
		some, changed, err := readLogs(logs)
		if err != nil {
			return err
		}
		if changed > 0 {
			log.Printf("%d messages of %s read otherwise than when they were labelled: left out", changed, logs)
		}
		all = append(all, some...)
	}
	switch {
	case out != "":
		model := fit(all).model(fmt.Sprintf("%d sentences, by lab/stated, %s", len(all), time.Now().Format(time.DateOnly)))
		text, err := json.Marshal(model)
		if err != nil {
			return err
		}
		return os.WriteFile(out, append(text, '\n'), 0o644)
	case test != "":
		others, err := readAll(strings.Split(test, ","))
		if err != nil {
			return err
		}
		report("test", fit(all).measure(others))
		return nil
	}
	var held, real []scored
	var files []string
	for _, s := range all {
		if !slices.Contains(files, s.file) {
			files = append(files, s.file)
		}
	}
	for _, name := range files {
		isIn := func(s sentence) bool { return s.file == name }
		rest := slices.DeleteFunc(slices.Clone(all), isIn)
		some := fit(rest).measure(slices.DeleteFunc(slices.Clone(all), func(s sentence) bool { return !isIn(s) }))
		report(filepath.Base(name), some)
		if strings.HasPrefix(name, logPrefix) {
			real = append(real, some...)
		} else {
			held = append(held, some...)
		}
	}
	report("all files", held)
	if len(real) > 0 {
		report("all logs", real)
	}
	return nil
}

// A sentence is a line of the data.
type sentence struct {
	text, label, file string
	features          []stated.Feature
}

func (s sentence) states() bool { return s.label != "N" }
func (s sentence) stands() bool { return strings.HasSuffix(s.label, "*") }
func (s sentence) kind() int    { return strings.IndexByte(kinds, s.label[0]) }

// kinds are the letters of labels, in the order of stated.Rule to stated.Correction.
const kinds = "RPDFC"

func readAll(names []string) (all []sentence, err error) {
	for _, name := range names {
		some, err := read(name)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func read(name string) (all []sentence, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var message []sentence
	place := ""
	end := func() {
		for i := range message {
			at := stated.Place{Opens: place == "new", Answers: place == "answer", First: i == 0, Last: i == len(message)-1}
			message[i].features = stated.Features(message[i].text, at)
		}
		all, message = append(all, message...), nil
	}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "@ ") {
			end()
			if words := strings.Fields(line); len(words) == 3 {
				place = words[2]
			} else if line != "" {
				return nil, fmt.Errorf("%s:%d: %q, want a language and a place", name, n, line)
			}
			continue
		}
		label, text, ok := strings.Cut(line, "|")
		kind, standing := strings.CutSuffix(label, "*")
		if !ok || kind != "N" && (len(kind) != 1 || !strings.Contains(kinds, kind)) || kind == "N" && standing {
			return nil, fmt.Errorf("%s:%d: %q, want a label and a sentence", name, n, line)
		}
		message = append(message, sentence{text: strings.TrimSpace(text), label: label, file: name})
	}
	end()
	return all, lines.Err()
}

// A scored sentence has the model's probabilities that it states something and, if so, that it
// stands.
type scored struct {
	sentence
	states, stands float64
}

// report prints the precision (P) and recall (R) of what states something, and of what stands, at
// several thresholds. What stands has to state something at the shipped threshold.
func report(name string, all []scored) {
	fmt.Printf("%s: %d sentences\n", name, len(all))
	for _, output := range []struct {
		name        string
		is          func(scored) bool
		probability func(scored) float64
	}{
		{"states", func(s scored) bool { return s.sentence.states() }, func(s scored) float64 { return s.states }},
		{"stands", func(s scored) bool { return s.sentence.stands() }, func(s scored) float64 {
			if s.states < minStates {
				return 0
			}
			return s.stands
		}},
	} {
		fmt.Printf("  %s:", output.name)
		for _, threshold := range []float64{.3, .4, .5, .6, .7} {
			found, right, wanted := 0.0, 0.0, 0.0
			for _, s := range all {
				is, given := output.is(s), output.probability(s) >= threshold
				found, wanted, right = found+one(given), wanted+one(is), right+one(is && given)
			}
			fmt.Printf("  %.1f P %.2f R %.2f", threshold, right/math.Max(1, found), right/math.Max(1, wanted))
		}
		fmt.Println()
	}
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
