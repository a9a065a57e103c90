package app

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/minilm"
)

var showRanks = flag.Bool("ranks", false, "log the asks whose right tool is not first")

// toolsBefore are the ten tools that models were told of before there was a choice.
func toolsBefore(t *testing.T) []tools.Tool {
	t.Helper()
	data, err := os.ReadFile("testdata/tools_before.json")
	require.NoError(t, err)
	var known []struct {
		Name, Description string
		Parameters        *jsonschema.Schema
	}
	require.NoError(t, json.Unmarshal(data, &known))
	all := make([]tools.Tool, len(known))
	for i, k := range known {
		all[i] = tools.Tool{Name: k.Name, Description: k.Description, Schema: k.Parameters}
	}
	return all
}

// tokensOf returns what the definitions take in a prompt.
func tokensOf(t *testing.T, m *minilm.Model, all []tools.Tool) int {
	t.Helper()
	var definitions []any
	for _, tool := range all {
		definitions = append(definitions, tool.Definition())
	}
	data, err := json.Marshal(definitions)
	require.NoError(t, err)
	return m.CountTokens(string(data))
}

// rightFirst counts the asks to which the right tool's description is nearest. column says which
// tool of the file is right.
func rightFirst(t *testing.T, m *minilm.Model, all []tools.Tool, column int) (right, asked int) {
	t.Helper()
	data, err := os.ReadFile("testdata/tool_asks.tsv")
	require.NoError(t, err)
	said := make([]string, len(all))
	for i, tool := range all {
		said[i] = strings.ReplaceAll(tool.Name, "_", " ") + ": " + tool.Description
	}
	vectors, err := m.Embed(t.Context(), embed.Document, said)
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		require.Len(t, fields, 3, line)
		wanted := slices.IndexFunc(all, func(tool tools.Tool) bool { return tool.Name == fields[column] })
		require.GreaterOrEqual(t, wanted, 0, line)
		vector, err := m.Embed(t.Context(), embed.Query, fields[2:])
		require.NoError(t, err)
		best := 0
		for i := range vectors {
			if dot(vectors[i], vector[0]) > dot(vectors[best], vector[0]) {
				best = i
			}
		}
		if asked++; best == wanted {
			right++
		} else if *showRanks {
			t.Logf("%s, not %s: %s", all[best].Name, all[wanted].Name, fields[2])
		}
	}
	return right, asked
}

func dot(a, b []float32) (sum float32) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// Models are told of at most five tools, which take less of a prompt than the ten did, and whose
// descriptions are nearer to what people ask for.
func TestFewToolsAreEasierToChoose(t *testing.T) {
	s, m := newTestService(t), minilm.New()
	before, now := toolsBefore(t), tools.Listed(s.Tools())
	require.LessOrEqual(t, len(now), 5)
	wasTokens, tokens := tokensOf(t, m, before), tokensOf(t, m, now)
	wasRight, asked := rightFirst(t, m, before, 0)
	right, _ := rightFirst(t, m, now, 1)
	t.Logf("%d tools, %d tokens, right tool first for %d of %d asks; before: %d tools, %d tokens, %d", len(now), tokens, right, asked, len(before), wasTokens, wasRight)
	require.Less(t, tokens, wasTokens*3/4)
	require.Greater(t, right, wasRight)
}
