package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

func TestSecretsAreNotIndexed(t *testing.T) {
	mem := newMemory(t)
	key := "AKIA" + "YRWQG5EJLPZLBYNP"
	mem.write("aws.md", "# Keys\n\nThe deploy key is "+key+" for zebra.\n")
	mem.write("chat.jsonl", `{"role":"user","content":"the zebra password is c0rrect-horse"}`+"\n"+`{"role":"assistant","content":"Thanks, I use it for the zebra."}`+"\n")
	m := mem.open()
	report := index(t, m)
	require.Equal(t, map[string]int{"aws-access-token": 1, "password": 1}, report.Redacted)
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
	require.NotContains(t, said(m, key), key)
	require.NoError(t, m.Close())

	mem.options.KeepSecrets = true
	m = mem.open()
	report = index(t, m)
	require.NotEmpty(t, report.Rebuilt, "what the index says has changed")
	require.Empty(t, report.Redacted)
	require.Contains(t, said(m, "zebra"), key)
}
