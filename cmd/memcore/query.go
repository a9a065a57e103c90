package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/store"
)

// queryFlags are those of search and retrieve.
type queryFlags struct {
	scope         string
	limit         int
	minSimilarity float64
	explain       bool
	narrow        narrowFlags
}

func (q *queryFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&q.scope, "scope", "", "`SCOPE` to look in, project or global (default: both)")
	f.IntVar(&q.limit, "limit", 0, "`N` hits at most (default: as configured)")
	f.Float64Var(&q.minSimilarity, "min-similarity", 0, "least score `X`, 0 to 1 (default: as configured)")
	f.BoolVar(&q.explain, "explain", false, "show every part of every score, and what was left out and why")
	q.narrow.add(f)
}

// check names the flag, its value and its range.
func (q *queryFlags) check(cmd *cobra.Command) error {
	switch {
	case cmd.Flags().Changed("limit") && q.limit < 1:
		return usagef("--limit is %d, want at least 1", q.limit)
	case q.minSimilarity < 0 || q.minSimilarity > 1:
		return usagef("--min-similarity is %g, want 0 to 1", q.minSimilarity)
	case q.scope != "" && q.scope != core.ScopeProject && q.scope != core.ScopeGlobal:
		return usagef("--scope is %q, want project or global", q.scope)
	}
	return q.narrow.check()
}

// maxQuery is how much of standard input is taken as a query; what matters of more is not found
// by its words anyway.
const maxQuery = 1 << 20

// queryText is the arguments joined, or standard input for "-".
func (a *app) queryText(args []string) (string, error) {
	text := strings.Join(args, " ")
	if text == "-" {
		data, err := io.ReadAll(io.LimitReader(a.stdin, maxQuery))
		if err != nil {
			return "", fmt.Errorf("read the query from standard input: %w", err)
		}
		text = string(data)
	}
	return text, nil
}

// wholeText is the arguments joined, or standard input for "-", of which nothing is left out.
func (a *app) wholeText(args []string) (string, error) {
	text := strings.Join(args, " ")
	if text != "-" {
		return text, nil
	}
	data, err := io.ReadAll(io.LimitReader(a.stdin, maxRequest+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read standard input: %w", err)
	case len(data) > maxRequest:
		return "", usagef("standard input has more than %d MB", maxRequest>>20)
	}
	return string(data), nil
}

func searchCommand(a *app) *cobra.Command {
	var q queryFlags
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Find what is known, also weak matches",
		Args:  arguments(cobra.MinimumNArgs(1), "a query"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.check(cmd); err != nil {
				return err
			}
			text, err := a.queryText(args)
			if err != nil {
				return err
			}
			var known core.Result
			if a.askDaemon(cmd.Context(), "/v1/search", a.searchRequest(q, text), &known) {
				return a.printSearch(known, q.explain)
			}
			return a.withMemory(cmd.Context(), func(m *core.Manager) error {
				o, err := searchOptions(a.searchRequest(q, text))
				if err != nil {
					return err
				}
				result, err := m.Search(cmd.Context(), text, o)
				if err != nil {
					return damaged(err)
				}
				return a.printSearch(result, q.explain)
			})
		},
	}
	q.add(cmd)
	return cmd
}

func retrieveCommand(a *app) *cobra.Command {
	var q queryFlags
	cmd := &cobra.Command{
		Use:   "retrieve QUERY|-",
		Short: "Print the memory block for a turn, or nothing",
		Long: `Print the block that would be injected for a turn: what is worth knowing, above the threshold and
within the token budget, made safe. If nothing is, print nothing and exit with 0. Notes about an index
that is missing, behind or degraded go to standard error.`,
		Args: arguments(cobra.MinimumNArgs(1), "a query"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.check(cmd); err != nil {
				return err
			}
			text, err := a.queryText(args)
			if err != nil {
				return err
			}
			if !a.settings.Enabled {
				a.note(turnedOff)
				return a.printBlock(core.Result{State: core.StateReady, Hits: []core.MemoryHit{}}, false)
			}
			var known httpapi.Retrieved
			if a.askDaemon(cmd.Context(), "/v1/retrieve", a.retrieveRequest(q, text), &known) {
				return a.printBlock(known.Result, q.explain)
			}
			return a.withMemory(cmd.Context(), func(m *core.Manager) error {
				o, err := a.retrieveOptionsFor(a.retrieveRequest(q, text))
				if err != nil {
					return err
				}
				result, err := m.RetrieveRelevant(cmd.Context(), text, o)
				if err != nil {
					return damaged(err)
				}
				return a.printBlock(result, q.explain)
			})
		},
	}
	q.add(cmd)
	return cmd
}

func (a *app) searchRequest(q queryFlags, text string) httpapi.SearchRequest {
	return httpapi.SearchRequest{Target: a.target(), Query: text, Scope: q.scope, Path: a.document(q.narrow.path), Kind: q.narrow.kind, Times: q.narrow.Times,
		Limit: q.limit, MinSimilarity: q.minSimilarity, Explain: q.explain}
}

func searchOptions(r httpapi.SearchRequest) (core.SearchOptions, error) {
	b, err := boundsOf(r.Times)
	return b.search(core.SearchOptions{Scope: r.Scope, Path: r.Path, Kind: r.Kind, Limit: r.Limit, MinSimilarity: r.MinSimilarity, Explain: r.Explain}), err
}

func (a *app) retrieveRequest(q queryFlags, text string) httpapi.RetrieveRequest {
	return httpapi.RetrieveRequest{Target: a.target(), Query: text, Scope: q.scope, Path: a.document(q.narrow.path), Kind: q.narrow.kind, Times: q.narrow.Times,
		Limit: q.limit, MinSimilarity: q.minSimilarity, Explain: q.explain}
}

// retrieveOptionsFor are the settings, overridden by a request.
func (a *app) retrieveOptionsFor(r httpapi.RetrieveRequest) (core.RetrieveOptions, error) {
	o := a.retrieveOptions(queryFlags{scope: r.Scope, limit: r.Limit, minSimilarity: r.MinSimilarity, explain: r.Explain})
	o.Path, o.Kind = r.Path, r.Kind
	if r.TokenBudget != 0 {
		o.TokenBudget = r.TokenBudget
	}
	b, err := boundsOf(r.Times)
	return b.retrieve(o), err
}

// retrieveOptions are the settings, overridden by flags.
func (a *app) retrieveOptions(q queryFlags) core.RetrieveOptions {
	o := core.RetrieveOptions{HalfLife: a.settings.HalfLife, Diversity: a.settings.Diversity, Scope: q.scope, Limit: a.settings.Limit, MinSimilarity: a.settings.MinSimilarity,
		TopK: a.settings.TopK, TokenBudget: a.settings.TokenBudget, Explain: q.explain}
	if q.limit > 0 {
		o.Limit = q.limit
	}
	if q.minSimilarity > 0 {
		o.MinSimilarity = q.minSimilarity
	}
	return o
}

func damaged(err error) error {
	if errors.Is(err, store.ErrNewer) {
		return &hintError{err, "see docs/upgrading.md"}
	}
	return &hintError{err, "run 'memcore index', which mends or remakes the index"}
}

func (a *app) printBlock(result core.Result, explain bool) error {
	a.notes(result)
	if a.flags.json {
		block, findings := formatter.BlockBeside(result.Hits, result.Withheld)
		return a.printJSON(retrieved{Result: result, Block: block, Findings: findings})
	}
	block, _ := formatter.BlockBeside(result.Hits, result.Withheld)
	if block != "" {
		block += "\n"
	}
	if explain {
		a.explain(result)
	}
	return a.print(block)
}

// retrieved is what retrieve prints as JSON.
type retrieved struct {
	core.Result
	// Block is what would be injected; "" for nothing.
	Block string `json:"block"`
	// Findings are what the sanitiser changed.
	Findings []formatter.Finding `json:"findings,omitempty"`
}

// notes says on standard error how far an answer can be trusted.
func (a *app) notes(result core.Result) {
	switch result.State {
	case core.StateMissing:
		a.note("nothing is indexed here yet; run 'memcore index'")
	case core.StateBuilding:
		a.note("the index is not complete yet; run 'memcore index' to finish it")
	}
	for _, why := range result.Degraded {
		a.note("degraded: %s", why)
	}
	for _, hit := range result.Hits {
		if formatter.IsSuspicious(hit) {
			a.note("suspicious: %s: %s", hit.Source, suspects(hit))
		}
	}
	for _, hit := range result.Withheld {
		a.note("withheld as suspicious: %s: %s", hit.Source, suspects(hit))
	}
	if result.Stale != nil {
		a.note("stale: %s changed on disk and not in this answer: %s", count(result.Stale.Files, "file"), result.Stale.Reason)
	}
}
