package memcore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/memcore/memcore"
)

// noteFolder makes a folder with one note.
func noteFolder() (folder string, remove func()) {
	dir, err := os.MkdirTemp("", "memcore")
	if err != nil {
		log.Fatal(err)
	}
	folder = filepath.Join(dir, "notes")
	if err := os.Mkdir(folder, 0o755); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "staging.md"), []byte("# Staging\n\nThe staging database listens on port 5433.\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	return folder, func() { os.RemoveAll(dir) }
}

func Example() {
	folder, remove := noteFolder()
	defer remove()
	memory, err := memcore.Open(folder, memcore.Options{Index: folder + "-index"})
	if err != nil {
		log.Fatal(err)
	}
	defer memory.Close()
	result, err := memory.Retrieve(context.Background(), "Which port does the staging database use?")
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range result.Hits {
		fmt.Println(hit.Source)
	}
	// Output: staging.md#L1-L3
}

// A chat loop sends requests with memory and keeps a history without it.
func ExampleMemory_Inject() {
	folder, remove := noteFolder()
	defer remove()
	memory, err := memcore.Open(folder, memcore.Options{Index: folder + "-index"})
	if err != nil {
		log.Fatal(err)
	}
	defer memory.Close()
	ctx := context.Background()
	if err := memory.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	var history []memcore.Message
	for _, text := range []string{"Which port does the staging database use?", "Thank you!"} {
		history = append(history, memcore.Message{Role: "user", Text: text})
		request, report := memory.Inject(ctx, history)
		fmt.Println("injected:", report.Injected, "messages:", len(request))
		// Here the client sends request, and appends the answer to history.
	}
	// Output:
	// injected: 1 messages: 2
	// injected: 0 messages: 2
}
