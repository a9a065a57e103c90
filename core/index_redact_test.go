package core_test

import (
	"encoding/json"
	"io/fs"
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

// What stands beside a text is redacted, too: names of speakers, tools, sessions, branches and
// files.
func TestSecretsBesideTextAreNotIndexed(t *testing.T) {
	token := func(letter string) string { return "ghp_" + strings.Repeat("v89DN43fElK"+letter, 3) }
	mem := newMemory(t)
	mem.write("chat.jsonl", `{"role":"user","name":"`+token("s")+`","session_id":"`+token("i")+`","content":"The zebra eats at noon."}`+"\n"+
		`{"role":"assistant","name":"user","session_id":"`+token("i")+`","content":"The zebra drinks at one."}`+"\n")
	mem.write("agent.jsonl", `{"type":"user","sessionId":"s1","cwd":"/x","gitBranch":"`+token("b")+`","uuid":"1","timestamp":"2026-05-01T09:00:00Z","message":{"role":"user","content":"Why does the zebra limp? Always look at its left hoof first."}}`+"\n"+
		`{"type":"assistant","sessionId":"s1","cwd":"/x","gitBranch":"`+token("b")+`","uuid":"2","parentUuid":"1","timestamp":"2026-05-01T09:01:00Z","message":{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Edit","input":{"file_path":"hoof-`+token("f")+`.md","new_string":"x"}},{"type":"tool_use","id":"t2","name":"`+token("t")+`","input":{}}]}}`+"\n"+
		`{"type":"assistant","sessionId":"s1","cwd":"/x","gitBranch":"`+token("b")+`","uuid":"3","parentUuid":"2","timestamp":"2026-05-01T09:02:00Z","message":{"role":"assistant","content":"The zebra limps because a stone sits in its left hoof, under the edge of the iron, where the keeper did not look in spring."}}`+"\n")
	m := mem.open()
	index(t, m)
	require.NotEmpty(t, search(t, m, "stone in the left hoof").Hits)
	speakers := map[string]string{}
	for _, r := range recordsIn(t, filepath.Join(mem.options.Folder, "1", "keywords"), "notes/chat.jsonl") {
		speakers[r.Text[:12]] = r.Speaker
	}
	require.Equal(t, map[string]string{"The zebra ea": "user", "The zebra dr": "assistant"}, speakers, "no name, and that of another role")
	all := ""
	for _, path := range []string{"notes/chat.jsonl", "notes/agent.jsonl"} {
		text, err := json.Marshal(recordsIn(t, filepath.Join(mem.options.Folder, "1", "keywords"), path))
		require.NoError(t, err)
		all += string(text)
	}
	require.NoError(t, filepath.WalkDir(mem.options.Folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all += string(text)
		return err
	}))
	require.Contains(t, all, "left hoof")
	for _, letter := range []string{"s", "i", "t", "b", "f"} {
		require.NotContains(t, all, token(letter), letter)
	}
	report := index(t, m)
	require.Zero(t, report.Changed+report.Added, "a branch without its secret is no change")
}
