package core_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/embed/minilm"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/turn"
	"github.com/memcore/memcore/inject/turn/goopenai"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

// openMemory opens a memory of the Markdown files in a folder.
func openMemory(ctx context.Context, notes, index string) (*core.Manager, error) {
	return core.Open(ctx, core.Options{
		Folder:  index,
		Sources: []source.Source{source.NewFolder(source.FolderOptions{Path: notes, Workspace: notes})},
		Engine: store.Engine{
			Name: "flat",
			Vectors: func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
				return flat.Open(ctx, dir, dimension)
			},
			Keywords: func(ctx context.Context, dir string) (store.KeywordIndex, error) { return keyword.Open(ctx, dir) },
		},
		Embedder: minilm.New(), // built in: no server, no download
	})
}

// exampleFolder has one note, and room for an index.
func exampleFolder() (notes, index string, remove func()) {
	dir, err := os.MkdirTemp("", "memcore")
	if err != nil {
		log.Fatal(err)
	}
	notes = filepath.Join(dir, "notes")
	if err := os.Mkdir(notes, 0o755); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(notes, "staging.md"), []byte("# Staging\n\nThe staging database listens on port 5433.\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	return notes, filepath.Join(dir, "index"), func() { os.RemoveAll(dir) }
}

// Requests of a chat loop get memory for one turn; the history stays.
func Example_chatLoop() {
	ctx := context.Background()
	notes, index, remove := exampleFolder()
	defer remove()
	memory, err := openMemory(ctx, notes, index)
	if err != nil {
		log.Fatal(err)
	}
	defer memory.Close()
	if _, err := memory.Index(ctx, core.IndexOptions{}); err != nil {
		log.Fatal(err)
	}

	// ask stands for client.CreateChatCompletion.
	ask := func(messages []openai.ChatCompletionMessage) openai.ChatCompletionMessage {
		for _, m := range messages {
			if formatter.IsBlock(m.Content) {
				fmt.Println("the model is shown:", m.Content[strings.Index(m.Content, "<memory>"):])
			}
		}
		return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: "5433."}
	}

	var history []openai.ChatCompletionMessage
	for _, said := range []string{"Which port does the staging database use?", "Thank you!"} {
		history = append(history, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: said})
		request, report := goopenai.Messages(ctx, memory, history, turn.Options{}) // a copy; it never fails a turn
		fmt.Println("injected:", report.Injected)
		history = append(history, ask(request))
	}
	fmt.Println("messages in the history:", len(history))
	// Output:
	// injected: 1
	// the model is shown: <memory>
	// • (source: staging.md#L1-L3)
	// > # Staging
	// >
	// > The staging database listens on port 5433.
	// </memory>
	// injected: 0
	// messages in the history: 4
}

// A tool search_memory, for a model that decides itself when to search.
func Example_searchTool() {
	ctx := context.Background()
	folder, index, remove := exampleFolder()
	defer remove()
	memory, err := openMemory(ctx, folder, index)
	if err != nil {
		log.Fatal(err)
	}
	defer memory.Close()
	if _, err := memory.Index(ctx, core.IndexOptions{}); err != nil {
		log.Fatal(err)
	}

	type params struct {
		Query string `json:"query" jsonschema:"what to look for"`
	}
	search := tools.New("search_memory", "Search long-term memory.", func(ctx context.Context, p params) (tools.Answer, error) {
		result, err := memory.Search(ctx, p.Query, core.SearchOptions{Limit: 8})
		return tools.Answer{Text: formatter.SearchAnswer(result), Data: result}, err
	}, tools.ReadOnly)

	definition, err := json.Marshal(search.Definition()) // goes into the request's "tools"
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(definition[:58]))
	answer, err := search.Call(ctx, []byte(`{"query": "staging database"}`)) // the model's arguments
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)
	// Output:
	// {"function":{"description":"Search long-term memory.","nam
	// Found 1 relevant memory:
	//
	// • (source: staging.md#L1-L3)
	// > # Staging
	// >
	// > The staging database listens on port 5433.
}
