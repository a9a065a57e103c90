package ollama_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/ollama"
)

func open(t testing.TB, model string, opts ollama.Options) *ollama.Embedder {
	t.Helper()
	e, err := ollama.New(model, opts)
	require.NoError(t, err)
	return e
}

// record is a server with model m that stores the last request to /api/embed.
func record(t *testing.T, digest string) (url string, last *map[string]any) {
	t.Helper()
	last = new(map[string]any)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/embed", func(w http.ResponseWriter, r *http.Request) {
		*last = nil
		json.NewDecoder(r.Body).Decode(last)
		io.WriteString(w, `{"embeddings": [[1, 0]]}`)
	})
	mux.HandleFunc("GET /api/tags", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"models": [{"name": "other:latest", "digest": "no"}, {"name": "m:latest", "digest": %q}]}`, digest)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL, last
}

func TestRequest(t *testing.T) {
	url, last := record(t, "")
	for _, tt := range []struct {
		name, model string
		opts        ollama.Options
		want        string
	}{
		{"as it comes", "", ollama.Options{}, `{"input":["text"],"model":"m:latest","options":null,"truncate":true}`},
		{"everything", "", ollama.Options{RemoteOptions: embed.RemoteOptions{QueryPrefix: "q: "}},
			`{"input":["q: text"],"model":"m:latest","options":null,"truncate":true}`},
		{"a known model", "nomic-embed-text", ollama.Options{}, `{"input":["search_query: text"],"model":"nomic-embed-text:latest","options":null,"truncate":true}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.opts.Address = url
			_, err := open(t, cmp.Or(tt.model, "m"), tt.opts).Embed(t.Context(), embed.Query, []string{"text"})
			require.NoError(t, err)
			if got, _ := json.Marshal(*last); string(got) != tt.want {
				t.Errorf("request = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestFingerprint(t *testing.T) {
	for _, tt := range []struct {
		model string
		opts  ollama.Options
		want  string
	}{
		{"m", ollama.Options{}, "ollama/m%3Alatest/max=512.1/prefix=4d01ebbbc427"},
		{"m:latest", ollama.Options{Address: "elsewhere", RemoteOptions: embed.RemoteOptions{BatchSize: 3}}, "ollama/m%3Alatest/max=512.1/prefix=4d01ebbbc427"},
		{"all-minilm", ollama.Options{}, "ollama/all-minilm%3Alatest/max=512.1/prefix=4d01ebbbc427"}, // as before models were known
		{"nomic-embed-text", ollama.Options{}, "ollama/nomic-embed-text%3Alatest/max=2048.1/prefix=031c03c67111"},
		{"host:1/team/m", ollama.Options{RemoteOptions: embed.RemoteOptions{MaxTokens: 2048}}, "ollama/host%3A1%2Fteam%2Fm%3Alatest/max=2048.1/prefix=4d01ebbbc427"},
	} {
		if got := open(t, tt.model, tt.opts).Fingerprint(); got != tt.want {
			t.Errorf("Fingerprint of %s = %q, want %q", tt.model, got, tt.want)
		}
	}
}

func TestNew(t *testing.T) {
	for _, address := range []string{"", "localhost", "127.0.0.1:80", "[::1]:11434", "https://host/ollama/"} {
		if _, err := ollama.New("m", ollama.Options{Address: address}); err != nil {
			t.Errorf("New with address %q = %v, want success", address, err)
		}
	}
	for _, tt := range []struct {
		model string
		opts  ollama.Options
	}{
		{"", ollama.Options{}},
		{"m", ollama.Options{Address: "ftp://host"}},
		{"m", ollama.Options{Address: "http://"}},
		{"m", ollama.Options{Address: "http://user:hunter2@ho st"}},
	} {
		e, err := ollama.New(tt.model, tt.opts)
		if err == nil || e != nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("New(%q, %+v) = %v, want an error without the password", tt.model, tt.opts, err)
		}
	}
}

func TestPrints(t *testing.T) {
	e := open(t, "m", ollama.Options{Address: "http://user:hunter2@127.0.0.1:1", RemoteOptions: embed.RemoteOptions{Tries: 1}})
	_, err := e.Embed(t.Context(), embed.Document, []string{"a"})
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", e, e, e, e), fmt.Sprint(err)} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("%q holds the password", text)
		}
	}
}
