package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/fatih/color"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/formatter"
)

// explainRejected is how many of the candidates that were left out are shown.
const explainRejected = 10

// snippetLines is how much of a hit search shows on a terminal or in a pipe.
const snippetLines = 4

func (a *app) printSearch(result core.Result, explain bool) error {
	a.notes(result)
	if a.flags.json {
		return a.printJSON(result)
	}
	if explain {
		a.explain(result)
	}
	paint := a.painter()
	var out strings.Builder
	for _, hit := range result.Hits {
		fmt.Fprintf(&out, "%s  %s\n", paint(color.FgYellow, fmt.Sprintf("%.2f", hit.Score)), paint(color.FgCyan, oneLine(hit.Source)))
		text := formatter.Text(hit)
		lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
		for i, line := range lines[:min(len(lines), snippetLines)] {
			if i == snippetLines-1 && len(lines) > snippetLines {
				line += " …"
			}
			fmt.Fprintf(&out, "      %s\n", line)
		}
		if len(hit.Also) > 0 {
			fmt.Fprintf(&out, "      also: %s\n", oneLine(strings.Join(hit.Also, ", ")))
		}
	}
	if len(result.Hits) == 0 && result.State == core.StateReady {
		a.note("nothing found")
	}
	return a.print(out.String())
}

// painter colours text on a terminal; NO_COLOR is honoured by the library.
func (a *app) painter() func(color.Attribute, string) string {
	return func(attribute color.Attribute, text string) string {
		if !isTerminal(a.stdout) {
			return text
		}
		return color.New(attribute).Sprint(text)
	}
}

// explain shows on standard error how each score came about.
func (a *app) explain(result core.Result) {
	if result.Why != "" {
		a.note("%s", result.Why)
	}
	w := tabwriter.NewWriter(a.stderr, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "score\tcosine\tBM25\tof best\tof query\tranked\tkeyword rank\tvector rank\tverdict\tsource\n")
	for _, hit := range append(slices.Clone(result.Hits), result.Withheld...) {
		explainHit(w, hit)
	}
	shown := min(len(result.Rejected), explainRejected)
	for _, hit := range result.Rejected[:shown] {
		explainHit(w, hit)
	}
	w.Flush()
	for i, hit := range result.Hits {
		if hit.Explain != nil {
			fmt.Fprintf(a.stderr, "hit %d: %s\n", i+1, relevance.Describe(hit.Explain.Terms))
			if hit.Explain.ByTime {
				fmt.Fprintf(a.stderr, "hit %d: given for its time, since the query names nothing else\n", i+1)
			}
		}
	}
	if more := len(result.Rejected) - shown; more > 0 {
		fmt.Fprintf(a.stderr, "and %d weaker candidates (--json has them all)\n", more)
	}
	fmt.Fprintf(a.stderr, "threshold %.2f", result.Threshold)
	for _, stage := range []string{"fold-in", "embed", "keywords", "vectors", "rerank", "screen", "total"} {
		fmt.Fprintf(a.stderr, ", %s %.1f ms", stage, float64(result.Took[stage].Microseconds())/1000)
	}
	fmt.Fprintln(a.stderr)
}

func explainHit(w io.Writer, hit core.MemoryHit) {
	e := hit.Explain
	if e == nil {
		return
	}
	cosine := "-"
	if e.Cosine != nil {
		cosine = fmt.Sprintf("%.3f", *e.Cosine)
	}
	fmt.Fprintf(w, "%.3f\t%s\t%.2f\t%.2f\t%.2f\t%d\t%d\t%d\t%s\t%s\n", hit.Score, cosine, e.BM25, e.BM25Normalised,
		e.Coverage, e.Rank, e.KeywordRank, e.VectorRank, e.Verdict, oneLine(hit.Source))
}

// shownAddress is an address as it can be printed: without the user and the password that may stand in it, also if it is no good address.
func shownAddress(address string) string {
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return address
	}
	scheme, _, ok := strings.Cut(address[:at], "://")
	if !ok {
		return address[at+1:]
	}
	return scheme + "://" + address[at+1:]
}
