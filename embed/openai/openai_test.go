package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/openai"
)

const secret = "sk-test-0123456789"

func open(t testing.TB, opts openai.Options) *openai.Embedder {
	t.Helper()
	e, err := openai.New("m", opts)
	require.NoError(t, err)
	return e
}

// answer is an endpoint's answer, with the vectors' indexes in order.
func answer(vecs [][]float32) string {
	var data []map[string]any
	for i, v := range vecs {
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": v})
	}
	text, err := json.Marshal(map[string]any{"object": "list", "data": data, "model": "m"})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// serve starts a server that answers with code and body, and stores the last request and its body.
func serve(t *testing.T, code int, body string) (url string, last *http.Request, sent *string) {
	t.Helper()
	last, sent = new(http.Request), new(string)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		*last, *sent = *r, string(data)
		w.WriteHeader(code)
		io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, last, sent
}

func TestRequest(t *testing.T) {
	url, last, sent := serve(t, 200, answer([][]float32{{1, 0}}))
	for _, tt := range []struct {
		name, path, auth, body string
		opts                   openai.Options
	}{
		{"without a key", "/v1/embeddings", "", `{"input":["text"],"model":"m"}`, openai.Options{BaseURL: url + "/v1"}},
		{"with everything", "/v1/embeddings", "Bearer " + secret, `{"input":["q: text"],"model":"m"}`,
			openai.Options{BaseURL: url + "/v1/", Key: openai.NewKey(" " + secret + "\n"), RemoteOptions: embed.RemoteOptions{QueryPrefix: "q: "}}},
		{"full address", "/api/embeddings", "", `{"input":["text"],"model":"m"}`, openai.Options{BaseURL: url + "/api/embeddings"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := open(t, tt.opts).Embed(t.Context(), embed.Query, []string{"text"})
			require.NoError(t, err)
			if got := last.URL.Path; got != tt.path {
				t.Errorf("path = %q, want %q", got, tt.path)
			}
			if got := last.Header.Get("Authorization"); got != tt.auth {
				t.Errorf("authorisation = %q, want %q", got, tt.auth)
			}
			if *sent != tt.body {
				t.Errorf("body = %s, want %s", *sent, tt.body)
			}
		})
	}
}

func TestOrder(t *testing.T) {
	item := func(index int, first float32) string {
		return fmt.Sprintf(`{"index": %d, "embedding": [%f, %f]}`, index, first, 1-first)
	}
	for _, tt := range []struct {
		name string
		data []string
		want string // the first numbers of the vectors, or the error
	}{
		{"in order", []string{item(0, 1), item(1, 0)}, "1 0"},
		{"out of order", []string{item(1, 0), item(0, 1)}, "1 0"},
		{"no index", []string{`{"embedding": [1, 0]}`, `{"embedding": [0, 1]}`}, "1 0"},
		{"one twice", []string{item(1, 0), item(1, 1)}, "text 1 of 2, which is twice or none"},
		{"one too far", []string{item(0, 0), item(2, 1)}, "text 2 of 2, which is twice or none"},
		{"a negative one", []string{item(0, 0), item(-1, 1)}, "text -1 of 2, which is twice or none"},
		{"one missing", []string{item(1, 0)}, "1 vectors for 2 texts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url, _, _ := serve(t, 200, `{"data": [`+strings.Join(tt.data, ",")+`]}`)
			vecs, err := open(t, openai.Options{BaseURL: url}).Embed(t.Context(), embed.Document, []string{"a", "b"})
			got := fmt.Sprint(err)
			if err == nil {
				got = fmt.Sprint(vecs[0][0], vecs[1][0])
			} else if !errors.Is(err, embed.ErrUnavailable) {
				t.Errorf("Embed = %v, want ErrUnavailable", err)
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("Embed = %s, want %s", got, tt.want)
			}
		})
	}
}

// The key must not show in anything that is printed, logged or stored.
func TestKeyIsNotPrinted(t *testing.T) {
	echo := `{"error": {"message": "Incorrect API key provided: ` + secret + `. You sent Bearer ` + secret + `"}}`
	opts := openai.Options{Key: openai.NewKey(secret), RemoteOptions: embed.RemoteOptions{Tries: 1}}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	texts := map[string]string{"json": must(json.Marshal(map[string]any{"key": opts.Key, "keys": []*openai.Key{&opts.Key}}))}
	for _, code := range []int{400, 401, 403, 429, 500} {
		opts.BaseURL, _, _ = serve(t, code, echo)
		_, err := open(t, opts).Embed(t.Context(), embed.Document, []string{"a"})
		require.Error(t, err)
		texts[fmt.Sprint("error ", code)] = err.Error()
	}
	opts.BaseURL, _, _ = serve(t, 200, "<p>"+secret)
	_, err := open(t, opts).Embed(t.Context(), embed.Document, []string{"a"})
	require.Error(t, err)
	texts["page"] = err.Error()
	for _, code := range []int{401, 403} { // hosted endpoints show a part of a wrong key
		opts.BaseURL, _, _ = serve(t, code, `{"error": {"message": "Incorrect API key provided: `+secret[:12]+`******"}}`)
		_, err := open(t, opts).Embed(t.Context(), embed.Document, []string{"a"})
		require.Error(t, err)
		texts[fmt.Sprint("part in error ", code)] = err.Error()
	}
	e := open(t, opts)
	nested := struct {
		opts openai.Options
		e    *openai.Embedder
		deep *openai.Options
	}{opts, e, &opts}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, value := range []any{opts, &opts, opts.Key, &opts.Key, e, *e, nested, []any{opts}, map[string]any{"o": opts}} {
			texts[fmt.Sprintf("%s of %T", verb, value)] = fmt.Sprintf(verb, value)
		}
	}
	logger.Info("options", "opts", opts, "key", opts.Key, "embedder", e)
	texts["log"], texts["fingerprint"] = log.String(), e.Fingerprint()
	for where, text := range texts {
		hex := fmt.Sprintf("%x", secret)
		if strings.Contains(text, secret) || strings.Contains(text, secret[:12]) || strings.Contains(text, hex) {
			t.Errorf("%s shows the key: %s", where, text)
		}
	}
}

func must(data []byte, err error) string {
	if err != nil {
		panic(err)
	}
	return string(data)
}

func TestKey(t *testing.T) {
	for _, tt := range []struct {
		key  openai.Key
		want string
	}{
		{openai.Key{}, "none"},
		{openai.NewKey(" \n"), "none"},
		{openai.NewKey(secret), "***"},
	} {
		if got := tt.key.String(); got != tt.want {
			t.Errorf("String() = %q, want %q", got, tt.want)
		}
	}
}

func TestFingerprint(t *testing.T) {
	got := open(t, openai.Options{Key: openai.NewKey(secret), BaseURL: "http://host:1"}).Fingerprint()
	if want := "openai/m/max=8191.1/prefix=4d01ebbbc427"; got != want {
		t.Errorf("Fingerprint() = %q, want %q", got, want)
	}
	known, err := openai.New("nomic-ai/nomic-embed-text-v1.5", openai.Options{})
	require.NoError(t, err)
	if got, want := known.Fingerprint(), "openai/nomic-ai%2Fnomic-embed-text-v1.5/max=2048.1/prefix=031c03c67111"; got != want {
		t.Errorf("Fingerprint() of a known model = %q, want %q", got, want)
	}
}

func TestNew(t *testing.T) {
	for _, tt := range []struct {
		model string
		opts  openai.Options
	}{
		{"", openai.Options{}},
		{"m", openai.Options{BaseURL: "host/v1"}},
		{"m", openai.Options{BaseURL: "https://user:hunter2@ho st"}},
	} {
		e, err := openai.New(tt.model, tt.opts)
		if err == nil || e != nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("New(%q, %+v) = %v, want an error without the password", tt.model, tt.opts, err)
		}
	}
}
