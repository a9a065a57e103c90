package core

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/store"
)

// Of an agent's log the beginnings of request and passage are embedded, without marks of Markdown.
// Other texts are embedded as they are.
func TestEmbeddingTextOfLogs(t *testing.T) {
	long := strings.Repeat("harbour ferry staging ", 40)
	at := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name   string
		record store.Record
		want   string
	}{
		{"marks", store.Record{Kind: source.KindConversation, Headings: []string{"why is it slow?"}, Text: "## Cause\n\n- **The index** of `issued_at` | is not used.\n> - [x] Done\n---"},
			"why is it slow?\nCause The index of issued_at is not used. [x] Done"},
		{"other scripts", store.Record{Kind: source.KindConversation, Headings: []string{"慢"}, Text: "**原因**：索引。"}, "慢\n原因：索引。"},
		{"a passage of marks alone", store.Record{Kind: source.KindConversation, Headings: []string{"draw"}, Text: "| --- |"}, "draw\n"},
		{"a chat", store.Record{Kind: source.KindConversation, Speaker: "Ada", Time: at, Text: "**" + long}, `On 27 November 2026, Ada said: "**` + long + `"`},
		{"a note", store.Record{Kind: source.KindMarkdown, Headings: []string{long}, Time: at, Text: "**" + long}, long + "\n**" + long},
		{"a statement", store.Record{Kind: KindStatement, Speaker: "user", Time: at, Text: "`" + long}, "`" + long},
	} {
		require.Equal(t, tt.want, EmbeddingText(tt.record), tt.name)
	}

	cut := EmbeddingText(store.Record{Kind: source.KindConversation, Headings: []string{long}, Text: long})
	request, passage, _ := strings.Cut(cut, "\n")
	require.LessOrEqual(t, len(request), embeddedRequest)
	require.LessOrEqual(t, len(passage), embeddedPassage)
	require.True(t, strings.HasSuffix(request, "…") && strings.HasSuffix(passage, "…"), cut)
}

// What is not embedded of a log's passage changes its ID, but not its Hash: the vector is the same.
func TestHashOfLogs(t *testing.T) {
	cut := func(end string) store.Record {
		text := strings.Repeat("The ferry leaves the harbour. ", 20) + end
		records, _, _ := recordsOf(source.Document{Path: "a.jsonl", Kind: source.KindConversation}, source.Content{Agent: true, Turns: []chunker.Turn{
			{Line: 1, EndLine: 1, Role: "user", Text: "When does the ferry leave?"}, {Line: 2, EndLine: 2, Role: "assistant", Text: text}}}, "", noteDate{}, chunker.Options{})
		require.Len(t, records, 1)
		return records[0]
	}
	a, b := cut("At nine."), cut("At noon.")
	require.NotEqual(t, a.ID, b.ID)
	require.Equal(t, a.Hash, b.Hash)
	require.Equal(t, fullHash(EmbeddingText(a)), a.Hash)
}
