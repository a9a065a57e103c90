package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/plain"
)

func explainCommand(a *cli) *cobra.Command {
	var last bool
	var q queryFlags
	cmd := &cobra.Command{
		Use:   "explain QUERY|--last",
		Short: "Show why a prompt gets what it gets: each candidate, given or left out",
		Long: `Show, for each candidate of a query, its scores and why a turn would get it or not. Also show the
threshold, the token budget, what the sanitiser changes, and the age of the index.

With --last, do this for the last hook of an agent in this workspace, and show which hits the agent
used. With --verbose, a query also shows what each score is made of, and the time of each stage.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if last != (len(args) == 0) {
				return kind.Hint(kind.Usagef("explain: name either a query or --last"), "memcore explain 'which port does staging use'")
			}
			if last {
				if q != (queryFlags{}) {
					return kind.Usagef("explain: --last takes no filter: it says what a hook did")
				}
				return explainLast(a)
			}
			if err := q.check(cmd); err != nil {
				return err
			}
			text, err := a.queryText(args)
			if err != nil {
				return err
			}
			if !a.Settings.Enabled {
				a.note(app.TurnedOff)
			}
			request := retrieveRequest(a, q, text)
			request.Explain = true
			return explainQuery(cmd.Context(), a, request)
		},
	}
	cmd.Flags().BoolVar(&last, "last", false, "the last hook of an agent in this workspace")
	q.add(cmd)
	return cmd
}

func explainQuery(ctx context.Context, a *cli, request httpapi.RetrieveRequest) error {
	options, err := a.RetrieveOptionsFor(request)
	if err != nil {
		return err
	}
	answer, err := a.Memory().Retrieve(ctx, request)
	if err != nil {
		return withHint(err)
	}
	status, err := a.Memory().Status(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(explained{Result: answer.Result, Options: options, Updated: status.Updated, Findings: answer.Findings})
	}
	gets := len(answer.Said)+len(answer.Lines) > 0
	text := explanation(a.stdout, answer.Result, gets, a.Missing(answer.State), status.Updated, options.TokenBudget) + besideText(answer.Result)
	if a.verbose {
		text += termsText(answer.Result)
	}
	return a.print(text)
}

// besideText lists what a turn gets beside hits.
func besideText(result core.Result) string {
	var b strings.Builder
	for _, said := range result.Said {
		fmt.Fprintln(&b, plain.Line("the user said: %s (%s)", journal.Excerpt(said.Told()), said.Source))
	}
	for _, l := range result.Lines {
		fmt.Fprintln(&b, plain.Line("line %s: %s (%s)", l.Name, l.Request, l.Source))
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + b.String()
}

// explained is the JSON of explain.
type explained struct {
	core.Result
	Options  core.RetrieveOptions `json:"options"`
	Updated  time.Time            `json:"updated,omitzero"` // the index
	Findings []formatter.Finding  `json:"findings,omitempty"`
}

// signsOf returns why a hit is suspicious.
func signsOf(hit core.MemoryHit) string {
	v := hit.Injection
	if len(v.Findings) == 0 {
		return fmt.Sprintf("score %.2f", v.Score)
	}
	f := v.Findings[0]
	return fmt.Sprintf("%s (score %.2f)", whyOf(f.Rules, f.Signs), f.Score)
}

// whyOf returns matching rules, else what the classifier counts most.
func whyOf(rules, signs []string) string {
	switch {
	case len(rules) > 0:
		return strings.Join(rules, ", ")
	case len(signs) > 0:
		return "classifier: " + strings.Join(signs, ", ")
	}
	return "classifier"
}

func explainLast(a *cli) error {
	at, err := a.Folders()
	if err != nil {
		return err
	}
	entries, err := at.Journal().Entries()
	if err != nil {
		return err
	}
	last, ok := journal.Last(entries)
	if !ok {
		return kind.Hint(errors.New("no prompt of an agent has reached memory in this workspace yet"), hintOfHooks(a))
	}
	if err := at.Journal().Explain(&last.Entry); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(last)
	}
	missing := ""
	if last.Result != nil {
		missing = a.Missing(last.Result.State)
	}
	return a.print(turnText(a.stdout, last, missing))
}

// turnText describes what a prompt got, which of it the agent used, and later events of the turn:
// first the last one that could not be read, since it may be a newer prompt. missing says why there
// was no index.
func turnText(s *screen, t journal.Turn, missing string) string {
	var b strings.Builder
	unread := -1
	for i, later := range t.Later {
		if later.Kind == journal.OtherEvent {
			unread = i
		}
	}
	if unread >= 0 {
		b.WriteString(laterText(t.Later[unread], true) + "\n")
	}
	fmt.Fprintln(&b, plain.Line("%s, %s of %s (%s)%s", t.At.Local().Format(time.DateTime), t.Kind, t.Agent, t.Name, tookText(t.Entry)))
	if t.Prompt != "" {
		fmt.Fprintf(&b, "prompt: %s\n", plain.OneLine(plain.Shorten(t.Prompt, 200)))
	}
	if t.Cut != "" {
		fmt.Fprintf(&b, "cut: %s\n", plain.OneLine(t.Cut))
	}
	b.WriteString(outcomeText(t.Entry))
	b.WriteString(rulesText(t.Entry) + givenText(t.Entry) + problemsText(t.Entry))
	if t.Result != nil { // memory was asked
		b.WriteString("\n" + explanation(s, *t.Result, len(t.Shown()) > 0, missing, time.Time{}, 0))
	}
	for i, later := range t.Later {
		if i != unread {
			b.WriteString("\n" + laterText(later, later.Agent != t.Agent))
		}
	}
	return b.String()
}

// laterText describes a later event of a turn, with its agent if that is to be named.
func laterText(e journal.Entry, named bool) string {
	of := ""
	if named {
		of = " of " + cmp.Or(e.Agent, "no agent")
	}
	return plain.Line("%s, %s%s (%s)%s", e.At.Local().Format(time.TimeOnly), e.Kind, of, e.Name, tookText(e)) + "\n" +
		outcomeText(e) + rulesText(e) + curesText(e) + problemsText(e)
}

func tookText(e journal.Entry) string {
	if e.Took == "" {
		return ""
	}
	return ", took " + e.Took
}

// outcomeText says what was added, or why nothing was.
func outcomeText(e journal.Entry) string {
	switch why := cmp.Or(e.Undelivered, e.Reason); {
	case e.Added > 0 && e.Undelivered == "":
		return fmt.Sprintf("added: %s\n", plain.Count(e.Added, "character"))
	case why != "":
		return fmt.Sprintf("nothing was added: %s\n", plain.OneLine(why))
	}
	return "there was nothing to add\n"
}

// problemsText lists problems and notes for the user.
func problemsText(e journal.Entry) string {
	var b strings.Builder
	for _, p := range e.Problems {
		fmt.Fprintf(&b, "problem: %s\n", plain.OneLine(p))
	}
	for _, n := range e.Notes {
		fmt.Fprintf(&b, "note: %s\n", plain.OneLine(n))
	}
	return b.String()
}

// rulesText lists the rules that apply, and whether they were given.
func rulesText(e journal.Entry) string {
	var b strings.Builder
	switch {
	case len(e.Touched) > 0:
		fmt.Fprintf(&b, "tool: %s, of %s\n", plain.OneLine(e.Tool), plain.OneLine(plain.Shorten(strings.Join(e.Touched, ", "), 200)))
	case e.Tool != "":
		fmt.Fprintf(&b, "tool: %s\n", plain.OneLine(e.Tool))
	}
	for _, r := range e.Rules {
		verb := "rule given"
		if !r.Given {
			verb = "rule not given"
		}
		fmt.Fprintf(&b, "%s: %s: %s\n", verb, plain.OneLine(r.Path), plain.OneLine(r.Why))
	}
	return b.String()
}

// curesText says what worked in an earlier session after the failure that the event tells of.
func curesText(e journal.Entry) string {
	var b strings.Builder
	for _, g := range e.Given {
		if g.Kind == journal.Failure {
			fmt.Fprintln(&b, plain.Line("failed before, given what worked: %s (%s)", g.Title, g.Source))
		}
	}
	return b.String()
}

// explanation describes the result of each candidate. gets tells that the turn got something, if
// not passages. missing says why there is no index.
func explanation(s *screen, result core.Result, gets bool, missing string, updated time.Time, budget int) string {
	var b strings.Builder
	explainIndex(&b, result, missing, updated)
	if result.Silence != "" {
		what := "silent"
		if gets {
			what = "no passage"
		}
		fmt.Fprintf(&b, "%s: %s\n", what, plain.OneLine(result.Silence))
		if held := journal.HeldBack(result); held != "" {
			fmt.Fprintf(&b, "held back: %s\n", plain.OneLine(held))
		}
	}
	if result.Why != "" { // how well memory knows the question
		fmt.Fprintf(&b, "evidence: %s\n", plain.OneLine(result.Why))
	}
	fmt.Fprintf(&b, "threshold: %.3f\n", result.Threshold)
	if budget > 0 {
		fmt.Fprintf(&b, "budget: %d tokens\n", budget)
	}
	explainCandidates(&b, s, result)
	for _, hit := range slices.Concat(result.Hits, result.Withheld) {
		if hit.Injection == nil {
			continue
		}
		for _, f := range hit.Injection.Findings {
			fmt.Fprintln(&b, plain.Line("suspicious: %s, score %.2f: %s: %q", paths.Citation(hit.Path, min(hit.StartLine+f.Line-1, hit.EndLine), 0), f.Score, whyOf(f.Rules, f.Signs), f.Excerpt))
		}
	}
	_, findings := formatter.Block(result.Hits)
	for _, f := range findings {
		fmt.Fprintf(&b, "sanitiser: %s\n", plain.OneLine(f.Detail))
	}
	return b.String()
}

// termsText lists what the score of each hit is made of, and how long each stage took.
func termsText(result core.Result) string {
	var b strings.Builder
	for i, hit := range result.Hits {
		if hit.Explain != nil {
			fmt.Fprintf(&b, "hit %d: %s\n", i+1, relevance.Describe(hit.Explain.Terms))
			if hit.Explain.ByTime {
				fmt.Fprintf(&b, "hit %d: given for its time, since the query names nothing else\n", i+1)
			}
		}
	}
	for _, stage := range []string{"fold-in", "embed", "keywords", "vectors", "injection", "service", "total"} {
		if took, asked := result.Took[stage]; asked {
			fmt.Fprintf(&b, "%s: %.1f ms\n", stage, float64(took.Microseconds())/1000)
		}
	}
	return b.String()
}

// explainIndex describes the state of the index.
func explainIndex(b *strings.Builder, result core.Result, missing string, updated time.Time) {
	switch result.State {
	case core.StateReady:
	case core.StateMissing:
		fmt.Fprintf(b, "index: %s\n", plain.OneLine(missing))
	default:
		fmt.Fprintf(b, "index: %s\n", result.State)
	}
	if !updated.IsZero() {
		fmt.Fprintf(b, "index: last changed %s ago\n", max(time.Since(updated), 0).Round(time.Second))
	}
	if result.Stale != nil {
		fmt.Fprintln(b, plain.Line("index: %s on disk not in it: %s", plain.Count(result.Stale.Files, "change"), result.Stale.Reason))
	}
	for _, why := range result.Degraded {
		fmt.Fprintln(b, plain.Line("degraded: %s", why))
	}
}

// explainCandidates lists hits, the best rejected, and withheld ones, each with the beginning of
// its text.
func explainCandidates(b *strings.Builder, s *screen, result core.Result) {
	shown := min(len(result.Rejected), explainRejected)
	candidates := slices.Concat(result.Hits, result.Rejected[:shown], result.Withheld)
	if len(candidates) == 0 {
		if result.Silence == "" && result.State == core.StateReady {
			b.WriteString("\nno candidate: nothing shares a word or a meaning with the query\n")
		}
		return
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 8, 2, ' ', 0)
	fmt.Fprint(w, "score\tmeaning\twords\ttokens\tverdict\tsource\n")
	for i, hit := range candidates {
		score := fmt.Sprintf("%.3f", hit.Score)
		if i < len(result.Hits) && hit.Score < result.Threshold {
			score = "–" // something else decided
		}
		meaning, words, verdict := "–", "–", "not explained"
		if e := hit.Explain; e != nil {
			meaning, words, verdict = cosineText(e), fmt.Sprintf("%.2f", e.BM25), journal.Decision(hit, result.Threshold)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", score, meaning, words, hit.TokenEstimate, plain.OneLine(verdict), plain.OneLine(hit.Source))
	}
	w.Flush()
	head, rows, _ := strings.Cut(table.String(), "\n")
	b.WriteString("\n" + head + "\n")
	for i, row := range strings.Split(strings.TrimSuffix(rows, "\n"), "\n") {
		text := "       " + plain.OneLine(journal.Excerpt(candidates[i].Text))
		if i < len(result.Hits) {
			row = s.paint(color.FgGreen, row)
		} else {
			row, text = s.paint(color.Faint, row), s.paint(color.Faint, text)
		}
		b.WriteString(row + "\n" + text + "\n")
	}
	if more := len(result.Rejected) - shown; more > 0 {
		fmt.Fprintf(b, "and %s (--json has them all)\n", plain.Count(more, "weaker candidate"))
	}
}

// givenText lists what was given, and whether the agent opened it.
func givenText(e journal.Entry) string {
	var b strings.Builder
	for _, g := range e.Shown() {
		what := g.Source
		switch g.Kind {
		case journal.Passage:
		case journal.Line: // its name opens it
			what = fmt.Sprintf("line %s: %s, %s", g.Key, g.Title, g.Source)
		default:
			what = fmt.Sprintf("%s: %s", g.Kind, cmp.Or(g.Title, g.Source))
		}
		state := "given"
		if g.Opened {
			state = "opened"
		}
		fmt.Fprintf(&b, "%s: %s\n", state, plain.OneLine(what))
	}
	return b.String()
}
