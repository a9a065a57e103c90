package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
	"github.com/memcore/memcore/service/tenants"
)

func setTenantCommand(a *cli, o *serviceOptions) *cobra.Command {
	var to tenants.Settings
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Give a tenant limits and an embedder of its own", Args: arguments(cobra.ExactArgs(1), "the name of a tenant"),
		Long: `Change what differs for a tenant from the other ones. Nodes heed it within --freshness. A limit of 0
and an empty embedder are those of the nodes; a limit of -1 is none. After a change of the embedder,
nodes make the tenant's indexes again, and meanwhile answer from the former ones if the former
embedder is built in or installed, else by keywords.`,
	}
	f := cmd.Flags()
	f.Float64Var(&to.PerSecond, "rate", 0, "requests a second to a node")
	f.IntVar(&to.MostDocuments, "most-documents", 0, "documents")
	f.Int64Var(&to.MostBytes, "most-bytes", 0, "bytes")
	f.Int64Var(&to.MostEmbedded, "most-embedded", 0, "tokens of documents that a node embeds in a day")
	f.StringVar(&to.Embedder, "embedder", "", "`NAME` of what makes vectors, as the setting embedder")
	f.StringVar(&to.Model, "embedding-model", "", "`NAME` of its model, if it is ollama or openai")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !slices.ContainsFunc(settable, f.Changed) {
			return kind.Hint(kind.Usagef("nothing is to be changed"), "memcore-service tenant set "+args[0]+" --rate 20")
		}
		r, err := o.registry()
		if err != nil {
			return err
		}
		t, err := r.Set(cmd.Context(), operator, args[0], func(s *tenants.Settings) {
			given := f.Changed
			set(given("rate"), &s.PerSecond, to.PerSecond)
			set(given("most-documents"), &s.MostDocuments, to.MostDocuments)
			set(given("most-bytes"), &s.MostBytes, to.MostBytes)
			set(given("most-embedded"), &s.MostEmbedded, to.MostEmbedded)
			set(given("embedder") || given("embedding-model"), &s.Model, to.Model)
			set(given("embedder"), &s.Embedder, to.Embedder)
		})
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(t)
		}
		return a.print(plain.Line("%s%s\n", t.Name, ownOf(t)))
	}
	return cmd
}

// settable are the flags of what can be changed.
var settable = []string{"rate", "most-documents", "most-bytes", "most-embedded", "embedder", "embedding-model"}

func set[T any](when bool, to *T, value T) {
	if when {
		*to = value
	}
}

// ownOf says what a tenant has of its own.
func ownOf(t tenants.Tenant) string {
	var b strings.Builder
	add := func(name string, most float64) {
		switch {
		case most > 0:
			fmt.Fprintf(&b, "  %s %s", name, strconv.FormatFloat(most, 'f', -1, 64))
		case most < 0:
			fmt.Fprintf(&b, "  %s without limit", name)
		}
	}
	add("rate", t.PerSecond)
	add("documents", float64(t.MostDocuments))
	add("bytes", float64(t.MostBytes))
	add("embedded", float64(t.MostEmbedded))
	if t.Embedder != "" {
		b.WriteString("  embedder " + strings.TrimSpace(t.Embedder+" "+t.Model))
	}
	return b.String()
}
