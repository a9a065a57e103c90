package minilm_test

import (
	"context"
	"fmt"
	"log"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/minilm"
)

// The cosine of two unit vectors is their product.
func ExampleModel_Embed() {
	m := minilm.New()
	vecs, err := m.Embed(context.Background(), embed.Document, []string{
		"The cat sits outside",
		"A feline is outdoors",
		"A man is playing guitar",
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range vecs[1:] {
		cosine := float32(0)
		for i := range v {
			cosine += vecs[0][i] * v[i]
		}
		fmt.Printf("%.1f\n", cosine)
	}
	// Output:
	// 0.6
	// 0.0
}

func ExampleModel_CountTokens() {
	fmt.Println(minilm.New().CountTokens("Tokens live in the system keychain."))
	// Output: 10
}
