// Package search offers the tool search_memory to a model that a Go program calls.
//
// Package core/notes has save_memory and the tools for files of facts and episodes.
package search

import (
	"context"
	"fmt"
	"strings"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/formatter"
)

// A Memory is searched, such as a core.Manager.
type Memory interface {
	RetrieveRelevant(ctx context.Context, request string, options core.RetrieveOptions) (core.Result, error)
	// Threshold is the score that a turn's hits need; a model that asks gets those with half of it.
	Threshold() float64
}

type params struct {
	Query string `json:"query" jsonschema:"what to search for"`
	Scope string `json:"scope,omitempty" jsonschema:"only project, or only global: the user's own in all projects; default both"`
	Limit int    `json:"limit,omitempty" jsonschema:"most results"`
}

// defaultLimit is how many results there are if the model names no number.
const defaultLimit = 8

// Tool returns search_memory over a memory. What a call names goes before the options.
func Tool(m Memory, o core.RetrieveOptions) tools.Tool {
	return tools.New("search_memory", "Search memory for patterns, conventions and past solutions that matter for the task, with sources.",
		func(ctx context.Context, p params) (tools.Answer, error) {
			if strings.TrimSpace(p.Query) == "" {
				return tools.Answer{}, fmt.Errorf("%w: query is empty", tools.ErrArguments)
			}
			o := o
			if p.Scope != "" {
				o.Scope = p.Scope
			}
			o.Limit, o.TokenBudget = defaultLimit, -1
			if p.Limit > 0 {
				o.Limit = p.Limit
			}
			if o.MinSimilarity == 0 {
				o.MinSimilarity = m.Threshold() / 2
			}
			result, err := m.RetrieveRelevant(ctx, p.Query, o)
			return tools.Answer{Text: formatter.SearchAnswer(result), Data: result.Hits}, err
		}, tools.ReadOnly, tools.Choices("scope", core.ScopeProject, core.ScopeGlobal), tools.Default("limit", defaultLimit))
}
