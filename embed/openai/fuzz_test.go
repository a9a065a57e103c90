package openai_test

import (
	"testing"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/internal/remote/remotetest"
	"github.com/memcore/memcore/embed/openai"
)

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"object":"list","data":[{"object":"embedding","index":0,"embedding":[1,2]},{"object":"embedding","index":1,"embedding":[0,1]}],"model":"m"}`,
		`{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]}`, `{"data":[{"index":0,"embedding":[1]},{"index":9,"embedding":[1,2]}]}`,
		`{"data":[{"index":0,"embedding":"AACAPw=="},{"index":1,"embedding":[]}]}`, `{"data":[{"embedding":[1e39]},{"index":1,"embedding":[0]}]}`, `{"error":{"message":"key ` + secret + ` is unknown"}}`, `{"error":{"message":"key ` + secret[:9] + "\x7f" + secret[9:] + ` is unknown"}}`, `[]`, `null`, ``, "\xff",
	} {
		f.Add(200, seed)
		f.Add(500, seed)
	}
	f.Fuzz(func(t *testing.T, status int, text string) {
		remotetest.CheckAnswer(t, status, text, secret, func(server remotetest.Answering) embed.Embedder {
			e, err := openai.New("m", openai.Options{BaseURL: "http://model.test/v1", Key: openai.NewKey(secret), RemoteOptions: embed.RemoteOptions{Tries: 1, Transport: server}})
			if err != nil {
				t.Fatal(err)
			}
			return e
		})
	})
}
