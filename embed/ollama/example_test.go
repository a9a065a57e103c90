package ollama_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/ollama"
)

func Example() {
	// Prefixes and MaxTokens of this model are known; of another one, they are options.
	e, err := ollama.New("nomic-embed-text", ollama.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	vecs, err := e.Embed(context.Background(), embed.Query, []string{"which port does staging use"})
	if errors.Is(err, embed.ErrUnavailable) {
		fmt.Println("searching by keywords only:", err)
		return
	}
	fmt.Println(len(vecs), e.Dimension())
}
