package core_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/store"
)

func TestSecretsAreNotIndexed(t *testing.T) {
	mem := newMemory(t)
	key := "AKIA" + "YRWQG5EJLPZLBYNP"
	mem.write("aws.md", "# Keys\n\nThe deploy key is "+key+" for zebra.\n")
	mem.write("hidden.md", "# Other keys\n\nThe old key is "+key[:9]+"\u200b"+key[9:]+" for a quagga.\n")
	mem.write("chat.jsonl", `{"role":"user","content":"the zebra password is c0rrect-horse"}`+"\n"+`{"role":"assistant","content":"Thanks, I use it for the zebra."}`+"\n")
	m := mem.open()
	report := index(t, m)
	require.Equal(t, map[string]int{"aws-access-token": 2, "password": 1}, report.Redacted)
	said := func(m *core.Manager, query string) string {
		t.Helper()
		result, err := m.Search(t.Context(), query, core.SearchOptions{Limit: 50})
		require.NoError(t, err)
		all := ""
		for _, hit := range result.Hits {
			all += hit.Text + "\n"
		}
		return all
	}
	require.Contains(t, said(m, "zebra"), "The deploy key is [redacted: aws-access-token] for zebra.")
	require.Contains(t, said(m, "zebra"), "the zebra password is [redacted: password]")
	require.Contains(t, said(m, "quagga"), "The old key is [redacted: aws-access-token] for a quagga.", "or it would be whole where it is shown without what nobody sees")
	require.NotContains(t, said(m, key), key)
	require.NoError(t, m.Close())

	mem.options.KeepSecrets = true
	m = mem.open()
	report = index(t, m)
	require.NotEmpty(t, report.Rebuilt, "what the index says has changed")
	require.Empty(t, report.Redacted)
	require.Contains(t, said(m, "zebra"), key)
}

func TestSecretsOfToolsAreNotKeptBesideOtherTurns(t *testing.T) {
	mem := newMemory(t)
	mem.write("chat.jsonl", `{"role":"user","content":"Which zebra password do we use?"}`+"\n"+
		`{"role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"name":"bash","arguments":"{\"command\":\"cat zebra.env\"}"}}]}`+"\n"+
		`{"role":"tool","tool_call_id":"c1","content":"ZEBRA_PASSWORD=c0rrect-horse"}`+"\n"+
		`{"role":"assistant","content":"It is the one in the environment file."}`+"\n")
	var keywords store.KeywordIndex
	open := mem.options.Engine.Keywords
	mem.options.Engine.Keywords = func(ctx context.Context, dir string) (index store.KeywordIndex, err error) {
		keywords, err = open(ctx, dir)
		return keywords, err
	}
	m := mem.open()
	report := index(t, m)
	require.Equal(t, map[string]int{"password": 1}, report.Redacted, "counted where it was said")
	hits := search(t, m, "environment file").Hits
	require.NotEmpty(t, hits)
	path, _, _ := strings.Cut(hits[0].Source, "#")
	records, err := keywords.Document(t.Context(), path)
	require.NoError(t, err)
	var texts, around strings.Builder
	for _, r := range records {
		texts.WriteString(r.Text)
		around.WriteString(r.Before + "|" + r.After + "\n")
	}
	require.Contains(t, texts.String(), "[redacted: password]")
	require.Contains(t, around.String(), "[redacted: password]", "the tool's turn stands beside others")
	require.NotContains(t, texts.String()+around.String(), "c0rrect-horse")
}
