package core_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

func TestSecretsAreNotIndexed(t *testing.T) {
	mem := newMemory(t)
	key := "AKIA" + "YRWQG5EJLPZLBYNP"
	mem.write("aws.md", "# Keys\n\nThe deploy key is "+key+" for zebra.\n")
	mem.write("hidden.md", "# Other keys\n\nThe old key is "+key[:9]+"\u200b"+key[9:]+" for a quagga.\n")
	mem.write("chat.jsonl", `{"role":"user","content":"the zebra password is c0rrect-horse"}`+"\n"+`{"role":"assistant","content":"Thanks, I use it for the zebra."}`+"\n")
	m := mem.open()
	report := index(t, m)
	require.ElementsMatch(t, []string{"notes/aws.md#L3", "notes/hidden.md#L3"}, report.Redacted["aws-access-token"])
	require.Equal(t, []string{"notes/chat.jsonl#L1"}, report.Redacted["password"])
	require.Len(t, report.Redacted, 2)
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

// No tool's output is kept, and no heading has a secret.
func TestSecretsOfToolsAreNotKeptBesideOtherTurns(t *testing.T) {
	mem := newMemory(t)
	lines := []string{
		`{"role":"user","content":"Which zebra password do we use? The old zebra password was st4ple-battery."}`,
		`{"role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"name":"bash","arguments":"{\"command\":\"cat zebra.env\"}"}}]}`,
		`{"role":"tool","tool_call_id":"c1","content":"ZEBRA_PASSWORD=c0rrect-horse"}`,
		`{"role":"assistant","content":"It is the one in the environment file, because the vault of the zebras has not been opened since spring."}`,
		`{"role":"tool","tool_call_id":"c2","content":"ZEBRA_PASSWORD=c0rrect-horse"}`,
		`{"role":"assistant","content":"The environment file is read by the keeper at start, so a new zebra password needs a restart of the keeper."}`,
	}
	m := mem.open()
	redacted := 0
	for i := range lines {
		mem.write("chat.jsonl", strings.Join(lines[:i+1], "\n")+"\n")
		redacted += len(index(t, m).Redacted["password"])
	}
	require.Positive(t, redacted, "counted where it was said")
	require.NotEmpty(t, search(t, m, "environment file").Hits)
	all := ""
	for _, r := range recordsIn(t, filepath.Join(mem.options.Folder, "1", "keywords"), "notes/chat.jsonl") {
		all += strings.Join(append(r.Headings, r.Text, r.Before, r.After), "\n") + "\n"
	}
	require.Contains(t, all, "Which zebra password do we use? The old zebra password was [redacted: password]")
	manifest, err := os.ReadFile(filepath.Join(mem.options.Folder, "1", "manifest.json"))
	require.NoError(t, err)
	for _, secret := range []string{"c0rrect-horse", "st4ple-battery"} {
		require.NotContains(t, all, secret)
		require.NotContains(t, string(manifest), secret)
	}
}
