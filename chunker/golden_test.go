package chunker_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/chunker"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// small makes several chunks of a page.
var small = chunker.Options{Target: 70, Max: 110, Overlap: 16, Count: words}

func TestMarkdownGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			require.NoError(t, err)
			doc := checkMarkdown(t, src, small)
			compare(t, file+".golden", fmt.Sprintf("title %q, meta %v\n%s", doc.Title, doc.Meta, listing(doc.Chunks)))
		})
	}
}

func TestConversationGolden(t *testing.T) {
	chunks := chunker.Conversation("chat.jsonl", conversation(), small)
	checkChunks(t, chunks, 20, small)
	compare(t, "testdata/conversation.golden", listing(chunks))
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	if got != string(want) {
		t.Errorf("chunks differ from %s (-update rewrites it); got\n%s", file, got)
	}
}

func listing(chunks []chunker.Chunk) string {
	var b strings.Builder
	for _, c := range chunks {
		fmt.Fprintf(&b, "\n--- lines %d-%d, %d tokens: %s%s\n", c.StartLine, c.EndLine, c.Tokens, c.Context, c.Speaker)
		if c.Before+c.After != "" {
			fmt.Fprintf(&b, "before: %s\nafter:  %s\n", c.Before, c.After)
		}
		for line := range strings.SplitSeq(c.Text, "\n") {
			fmt.Fprintln(&b, strings.TrimRight("| "+line, " "))
		}
	}
	return b.String()
}

// conversation is a piece of work in an agent's log.
func conversation() []chunker.Turn {
	at := time.Date(2024, 3, 14, 9, 26, 53, 0, time.UTC)
	return []chunker.Turn{
		{Line: 1, EndLine: 1, Role: "user", Session: "s1", Time: at, Text: "The nightly import fails since Tuesday.\r\nCan you find out why?"},
		{Line: 2, EndLine: 5, Role: "assistant", Speaker: "Ada", Session: "s1", Time: at.Add(time.Minute), Text: "Let me look at its log first.", Tools: []chunker.ToolUse{
			{Name: "Bash", Input: `{"command":"tail -n 40 /var/log/import.log","timeout":5000}`, Output: "2024-03-12 02:00:01 start\n2024-03-12 02:00:09 read 18213 rows\n2024-03-12 02:04:40 ERROR: duplicate key value violates unique constraint \"orders_pkey\"\n2024-03-12 02:04:40 rolled back\n"},
			{Name: "Read", Input: `{"file_path":"/srv/import/load.go"}`, Output: strings.Repeat("package load\n", 300)},
			{Name: "shell", Input: `{"command":["bash","-lc","go test ./load"]}`, Output: `{"output":"--- FAIL: TestLoad\nFAIL\n","metadata":{"exit_code":1}}`, Failed: true},
			{Name: "fetch", Input: `{"url":"https://example.org/api/orders"}`, Output: `{"rows":[` + strings.Repeat(`{"id":1,"hash":"9f86d081884c7d659a2feaa0c55ad015"},`, 99) + `{}]}`},
			{Name: "Write", Input: `{"file_path":"/srv/import/load.go","content":"` + strings.Repeat("package load ", 20) + "\n[…]\n" + `more"}`},
			{Name: "screenshot", Output: strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA", 50)},
		}},
		{Line: 6, EndLine: 6, Role: "user", Session: "s2", Text: "ok"},
		{Line: 7, EndLine: 9, Role: "assistant", Speaker: "Ada", Session: "s1", Time: at.Add(2 * time.Minute), Text: "## Cause\n\nThe importer writes orders in batches, and a batch that was interrupted is written again from its start. " +
			"Until Tuesday that did no harm, since the table had no primary key. The migration of Monday added one. " +
			"Now the second attempt meets the rows of the first, and the whole batch is rolled back.\n\nThe fix is to write like this:\n\n```sql\nINSERT INTO orders (id, total)\nVALUES ($1, $2)\nON CONFLICT (id) DO UPDATE SET total = excluded.total;\n```\n\nShall I change it?"},
		{Line: 10, EndLine: 10, Role: "user", Session: "s1", Time: at.Add(3 * time.Minute), Text: " "},
		{Line: 11, EndLine: 11, Role: "user", Session: "s1", Time: at.Add(3 * time.Minute), Text: "ok"},
		{Line: 12, EndLine: 12, Role: "tool", Session: "s1", Text: "applied\n\x1b[32mdone\x1b[0m"},
	}
}
