package ollama_test

import (
	"testing"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/internal/remote/remotetest"
	"github.com/memcore/memcore/embed/ollama"
)

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m","embeddings":[[1,2],[0,1]]}`, `{"embeddings":[[1],[1,2]]}`, `{"embeddings":[[],[]]}`, `{"embeddings":[[1e39],[0]]}`, `{"embeddings":[[0,0],[0,0]]}`,
		`{"embeddings":null}`, `{"error":"model not found"}`, `[]`, `null`, ``, "\xff",
	} {
		f.Add(200, seed)
		f.Add(500, seed)
	}
	f.Fuzz(func(t *testing.T, status int, text string) {
		remotetest.CheckAnswer(t, status, text, "", func(server remotetest.Answering) embed.Embedder {
			e, err := ollama.New("m", ollama.Options{Address: "http://model.test", RemoteOptions: embed.RemoteOptions{Tries: 1, Transport: server}})
			if err != nil {
				t.Fatal(err)
			}
			return e
		})
	})
}
