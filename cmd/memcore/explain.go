package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/use"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/internal/jsonfile"
)

func explainCommand(a *app) *cobra.Command {
	var last bool
	cmd := &cobra.Command{
		Use:   "explain QUERY|--last",
		Short: "Say why each thing was or was not recalled",
		Long: `Ask as a turn would and say of each candidate why it would be given or not: its scores, the threshold, duplicates, the token budget, what the
sanitiser changes, and how old the index is. --last does so of the last hook that an agent has run in this workspace, and says which of what was given
the agent has used.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if last != (len(args) == 0) {
				return &hintError{usagef("explain: name a query, or --last, not both"), "memcore explain 'which port does staging use'"}
			}
			if last {
				return a.explainLast(cmd.Context())
			}
			text, err := a.queryText(args)
			if err != nil {
				return err
			}
			return a.withMemory(cmd.Context(), func(m *core.Manager) error {
				o := a.retrieveOptions(queryFlags{explain: true})
				result, err := m.RetrieveRelevant(cmd.Context(), text, o)
				if err != nil {
					return damaged(err)
				}
				status, err := m.Status(cmd.Context())
				if err != nil {
					return err
				}
				if a.flags.json {
					return a.printJSON(explained{Result: result, Options: o, Updated: status.Updated, Findings: findingsOf(result)})
				}
				return a.print(explanation(result, status.Updated, o.TokenBudget))
			})
		},
	}
	cmd.Flags().BoolVar(&last, "last", false, "the last hook of an agent in this workspace")
	return cmd
}

// explained is what explain prints as JSON.
type explained struct {
	core.Result
	Options  core.RetrieveOptions `json:"options"`
	Updated  time.Time            `json:"updated,omitzero"` // the index
	Findings []formatter.Finding  `json:"findings,omitempty"`
}

// suspects says why a hit is suspicious.
func suspects(hit core.MemoryHit) string {
	v := hit.Suspicion
	if len(v.Findings) == 0 {
		return fmt.Sprintf("score %.2f", v.Score)
	}
	f := v.Findings[0]
	return fmt.Sprintf("%s (score %.2f)", whyOf(f.Rules, f.Signs), f.Score)
}

// whyOf says what speaks for suspicion: the rules that hold, else what the classifier counts most.
func whyOf(rules, signs []string) string {
	switch {
	case len(rules) > 0:
		return strings.Join(rules, ", ")
	case len(signs) > 0:
		return "classifier: " + strings.Join(signs, ", ")
	}
	return "classifier"
}

func findingsOf(result core.Result) []formatter.Finding {
	_, findings := formatter.Block(result.Hits)
	return findings
}

// lastHook is what explain --last prints as JSON.
type lastHook struct {
	hook.Trace
	// Used says of each hit that was given whether it was used.
	Used []use.Hit `json:"used,omitempty"`
}

func (a *app) explainLast(ctx context.Context) error {
	at, err := a.place()
	if err != nil {
		return err
	}
	trace, err := jsonfile.Load[hook.Trace](at.last())
	if err != nil {
		return fmt.Errorf("the last hook: %w", err)
	}
	if trace.At.IsZero() {
		return &hintError{errors.New("no agent has run a hook in this workspace yet"), "'memcore init' puts hooks into the agents' configuration"}
	}
	became, _, err := a.useOf(ctx, trace.Turn)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(lastHook{Trace: trace, Used: became.Hits})
	}
	var b strings.Builder
	e := trace.Event
	fmt.Fprintf(&b, "%s, %s of %s (%s)", trace.At.Local().Format(time.DateTime), e.Kind, e.Agent, e.Name)
	if trace.Took != "" {
		fmt.Fprintf(&b, ", took %s", trace.Took)
	}
	b.WriteByte('\n')
	if e.Prompt != "" {
		fmt.Fprintf(&b, "prompt: %s\n", oneLine(shorten(e.Prompt, 200)))
	}
	switch {
	case trace.Added != "":
		fmt.Fprintf(&b, "added: %s\n", count(len([]rune(trace.Added)), "character"))
	case trace.Reason != "":
		fmt.Fprintf(&b, "nothing was added: %s\n", trace.Reason)
	default:
		b.WriteString("nothing was to be added\n")
	}
	if trace.Repeated > 0 {
		fmt.Fprintf(&b, "%s left out that the session has already\n", count(trace.Repeated, "hit"))
	}
	b.WriteString(used(became))
	for _, p := range trace.Problems {
		fmt.Fprintf(&b, "problem: %s\n", oneLine(p))
	}
	if e.Kind == hook.Prompt {
		b.WriteByte('\n')
		b.WriteString(explanation(trace.Result, time.Time{}, 0))
	}
	return a.print(b.String())
}

func shorten(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// explanation says what became of each candidate.
func explanation(result core.Result, updated time.Time, budget int) string {
	var b strings.Builder
	switch result.State {
	case core.StateReady:
	case core.StateMissing:
		b.WriteString("index: nothing is indexed here yet; run 'memcore index'\n")
	default:
		fmt.Fprintf(&b, "index: %s\n", result.State)
	}
	if !updated.IsZero() {
		fmt.Fprintf(&b, "index: changed last %s ago\n", max(time.Since(updated), 0).Round(time.Second))
	}
	if result.Stale != nil {
		fmt.Fprintf(&b, "index: %s on disk not in it: %s\n", count(result.Stale.Files, "change"), result.Stale.Reason)
	}
	for _, why := range result.Degraded {
		fmt.Fprintf(&b, "degraded: %s\n", why)
	}
	if result.Silence != "" {
		fmt.Fprintf(&b, "silent: %s\n", result.Silence)
	}
	fmt.Fprintf(&b, "threshold: %.3f\n", result.Threshold)
	if budget > 0 {
		fmt.Fprintf(&b, "budget: %d tokens\n", budget)
	}
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	rows := 0
	row := func(hit core.MemoryHit) {
		if e := hit.Explain; e != nil {
			cosine := "-"
			if e.Cosine != nil {
				cosine = fmt.Sprintf("%.3f", *e.Cosine)
			}
			if rows++; rows == 1 {
				fmt.Fprint(w, "\nscore\tmeaning\twords\ttokens\tverdict\tsource\n")
			}
			verdict := e.Verdict
			if e.Why != "" {
				verdict += ": " + oneLine(e.Why)
			}
			fmt.Fprintf(w, "%.3f\t%s\t%.2f\t%d\t%s\t%s\n", hit.Score, cosine, e.BM25, hit.TokenEstimate, verdict, oneLine(hit.Source))
		}
	}
	for _, hit := range result.Hits {
		row(hit)
	}
	shown := min(len(result.Rejected), explainRejected)
	for _, hit := range result.Rejected[:shown] {
		row(hit)
	}
	for _, hit := range result.Withheld {
		row(hit)
	}
	w.Flush()
	if rows == 0 && result.Silence == "" {
		b.WriteString("\nno candidate: nothing shares a word or a meaning with the query\n")
	}
	if more := len(result.Rejected) - shown; more > 0 {
		fmt.Fprintf(&b, "and %d weaker candidates (--json has them all)\n", more)
	}
	for _, hit := range append(slices.Clone(result.Hits), result.Withheld...) {
		if hit.Suspicion == nil {
			continue
		}
		for _, f := range hit.Suspicion.Findings {
			fmt.Fprintf(&b, "suspicious: %s, score %.2f: %s: %s\n", core.Citation(hit.Path, hit.StartLine+f.Line-1, 0), f.Score, whyOf(f.Rules, f.Signs), strconv.Quote(f.Excerpt))
		}
	}
	for _, f := range findingsOf(result) {
		fmt.Fprintf(&b, "sanitiser: %s\n", oneLine(f.Detail))
	}
	return b.String()
}
