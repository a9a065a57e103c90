package openai_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/openai"
)

func Example() {
	e, err := openai.New("text-embedding-3-small", openai.Options{
		Key: openai.NewKey(os.Getenv("OPENAI_API_KEY")),
	})
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
