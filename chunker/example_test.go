package chunker_test

import (
	"fmt"

	"github.com/memcore/memcore/chunker"
)

func ExampleMarkdown() {
	src := []byte("---\ntitle: Staging\n---\n# Database\n\nPostgres listens on port 5433.\n\n## Access\n\nThrough the bastion only.\n")
	doc := chunker.Markdown("notes/staging.md", src, chunker.Options{})
	for _, c := range doc.Chunks {
		fmt.Printf("%s#L%d-L%d %s\n", "notes/staging.md", c.StartLine, c.EndLine, c.Context)
	}
	// Output:
	// notes/staging.md#L4-L6 Staging > Database
	// notes/staging.md#L8-L10 Staging > Database > Access
}

func ExampleConversation() {
	turns := []chunker.Turn{
		{Line: 1, EndLine: 1, Role: "user", Text: "Why does the build fail?"},
		{Line: 2, EndLine: 3, Role: "assistant", Tools: []chunker.ToolUse{
			{Name: "Bash", Input: `{"command":"make"}`, Output: "cc a.c\na.c:3: error: expected ';'\n", Failed: true},
		}},
	}
	for _, c := range chunker.Conversation("chat.jsonl", turns, chunker.Options{}) {
		fmt.Println(chunker.EmbeddingText(c.Headings, c.Speaker, c.Time, c.Text))
	}
	// Output:
	// user said: "Why does the build fail?"
	// assistant said: "Bash: make
	// → failed … a.c:3: error: expected ';' … cc a.c"
}
