package source_test

import (
	"context"
	"fmt"
	"log"
	"path/filepath"

	"github.com/memcore/memcore/core/source"
)

// List the documents of a folder and read the conversations among them.
func ExampleNewFolder() {
	ctx := context.Background()
	folder := source.NewFolder(source.FolderOptions{Path: "testdata/pi.jsonl", Workspace: "."})
	found, err := folder.List(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, doc := range found.Documents {
		content, err := folder.Read(ctx, doc, source.Position{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(doc.Path, doc.Format)
		for _, turn := range content.Turns[:3] {
			fmt.Printf("%s#L%d %s: %s\n", doc.Path, turn.Line, turn.Role, turn.Text)
		}
	}
	// Output:
	// testdata/pi.jsonl pi
	// testdata/pi.jsonl#L3 user: Which queue do mails go through?
	// testdata/pi.jsonl#L4 assistant: Let me look.
	// testdata/pi.jsonl#L6 assistant: Through outbox.
}

// Secrets are recognised by their names and folders.
func ExampleDenyReason() {
	fmt.Println(source.DenyReason(filepath.Join("deploy", ".env.production")))
	fmt.Println(source.DenyReason("deploy/staging.md") == "")
	// Output:
	// its name is that of a secret (.env*)
	// true
}
