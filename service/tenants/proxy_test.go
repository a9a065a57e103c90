package tenants

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/inject/proxy"
	"github.com/memcore/memcore/service"
)

// A model is an upstream that says what it is asked.
type fakeModel struct {
	*httptest.Server
	key string // of the service, for it

	mu     sync.Mutex
	got    []http.Header
	paths  []string
	answer http.HandlerFunc // nil says the request's body
}

func newModel(t *testing.T) *fakeModel {
	m := &fakeModel{key: "upkey-" + word()}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		m.got, m.paths = append(m.got, r.Header.Clone()), append(m.paths, r.RequestURI)
		answer := m.answer
		m.mu.Unlock()
		if answer != nil {
			answer(w, r)
			return
		}
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *fakeModel) upstreams(t *testing.T, log *slog.Logger) []service.Upstream {
	forward, err := proxy.NewForwarder(m.URL+"/v1", proxy.ForwarderOptions{Discreet: true, Logger: log})
	require.NoError(t, err)
	t.Cleanup(forward.Close)
	return []service.Upstream{{Name: "model", Forward: forward, Key: m.key}}
}

// testKeys requires that no request had a key of the service, nor a token for it.
func (m *fakeModel) testKeys(t *testing.T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	require.NotEmpty(t, m.got)
	for i, header := range m.got {
		var text strings.Builder
		require.NoError(t, header.Write(&text))
		require.NotContains(t, text.String()+m.paths[i], "mck_")
		require.NotContains(t, text.String()+m.paths[i], "eyJ", "a token")
	}
}

// last returns the header and path of the last request.
func (m *fakeModel) last() (http.Header, string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.got) == 0 {
		return nil, ""
	}
	return m.got[len(m.got)-1], m.paths[len(m.paths)-1]
}

func (m *fakeModel) answering(answer http.HandlerFunc) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer, m.got, m.paths = answer, nil, nil
}

const asked = `{"model": "x", "messages": [{"role": "user", "content": "what is the staging database of the shop?"}]}`

// Chats get the memory of the key's owner on their way to a model, which gets the right key.
func TestProxy(t *testing.T) {
	w := newWorld(t)
	w.fill([]string{"acme"}, []string{"ann"})
	p := w.people[0]
	require.True(t, w.control(probes[15], p, 0), "the memory is known")
	chat := func(path, body, key string, header map[string]string) call {
		return call{method: "POST", tenant: "acme", path: "/proxy/" + path, key: key, body: body, header: header}
	}
	own := map[string]string{service.KeyHeader: p.read.Secret}
	for name, tt := range map[string]struct {
		call     call
		status   int
		path     string // at the model, "" for none
		bearer   string
		apiKey   string
		injected bool
		says     string
	}{
		"the service's key":          {chat("model/v1/chat/completions", asked, bearer(p.read), nil), 200, "/v1/chat/completions", "Bearer " + w.model.key, "", true, ""},
		"without v1":                 {chat("model/chat/completions?a=b", asked, bearer(p.read), nil), 200, "/v1/chat/completions?a=b", "Bearer " + w.model.key, "", true, ""},
		"Anthropic's header":         {chat("model/v1/messages", asked, "", map[string]string{"X-Api-Key": p.read.Secret}), 200, "/v1/messages", "", w.model.key, true, ""},
		"a key of the client's own":  {chat("model/v1/chat/completions", asked, "Bearer sk-own", own), 200, "/v1/chat/completions", "Bearer sk-own", "", true, ""},
		"no key of the client's own": {chat("model/v1/chat/completions", asked, "", own), 200, "/v1/chat/completions", "", "", true, ""},
		"the key twice": {chat("model/v1/chat/completions", asked, bearer(p.write), map[string]string{service.KeyHeader: p.read.Secret, "X-Api-Key": p.read.Secret, "Openai-Project": "x " + p.admin.Secret, "Cookie": "a=b"}),
			200, "/v1/chat/completions", "", "", true, ""},
		"no JSON":               {chat("model/v1/chat/completions", "x", bearer(p.read), nil), 200, "/v1/chat/completions", "Bearer " + w.model.key, "", false, "x"},
		"embeddings":            {chat("model/v1/embeddings", `{"input": "x"}`, bearer(p.read), nil), 200, "/v1/embeddings", "Bearer " + w.model.key, "", false, ""},
		"a list of models":      {call{method: "GET", tenant: "acme", path: "/proxy/model/v1/models/a%2Fb", key: bearer(p.read)}, 200, "/v1/models/a%2Fb", "Bearer " + w.model.key, "", false, ""},
		"files":                 {call{method: "GET", tenant: "acme", path: "/proxy/model/v1/files", key: bearer(p.read)}, 403, "", "", "", false, "only requests to models do"},
		"answers that are kept": {call{method: "GET", tenant: "acme", path: "/proxy/model/v1/responses/x", key: bearer(p.read)}, 403, "", "", "", false, "only requests to models do"},
		"a slash as two":        {chat("model/v1/..%2ffiles", asked, bearer(p.read), nil), 403, "", "", "", false, ""},
		"a model that climbs":   {call{method: "GET", tenant: "acme", path: "/proxy/model/v1/models/..%2f..%2ffiles", key: bearer(p.read)}, 400, "", "", "", false, "lead out"},
		"another protocol":      {chat("model/v1/chat/completions", asked, bearer(p.read), map[string]string{"Connection": "Upgrade", "Upgrade": "websocket"}), 403, "", "", "", false, ""},
		"a key in the URL":      {chat("model/v1/chat/completions?key=mck%5Fx", asked, bearer(p.read), nil), 400, "", "", "", false, "send it in a header"},
		"a key in the path":     {call{method: "GET", tenant: "acme", path: "/proxy/model/v1/models/mck%5Fx", key: bearer(p.read)}, 400, "", "", "", false, "send it in a header"},
		"another upstream":      {chat("other/v1/chat/completions", asked, bearer(p.read), nil), 404, "", "", "", false, "there is no upstream"},
		"a revoked key":         {chat("model/v1/chat/completions", asked, bearer(p.revoked), nil), 401, "", "", "", false, `"code":"memcore_proxy"`},
		"a model's key":         {chat("model/v1/messages", asked, "", map[string]string{"X-Api-Key": w.model.key}), 401, "", "", "", false, `"type":"authentication_error"`},
	} {
		t.Run(name, func(t *testing.T) {
			w.model.answering(nil)
			a := w.do(tt.call)
			require.Equal(t, tt.status, a.status, a.text)
			header, path := w.model.last()
			require.Equal(t, tt.path, path)
			require.Contains(t, a.text, tt.says)
			require.NotContains(t, a.text, w.model.key)
			if path == "" {
				return
			}
			w.model.testKeys(t)
			require.Equal(t, tt.bearer, header.Get("Authorization"))
			require.Equal(t, tt.apiKey, header.Get("X-Api-Key"))
			require.Empty(t, header.Get("Cookie"))
			require.Equal(t, tt.injected, a.header.Get("X-Memcore-Injected") > "0", a.text)
		})
	}
}

// What an upstream says about the service's key, or where it is, is not for clients.
func TestProxyKeepsQuiet(t *testing.T) {
	w := newWorld(t)
	w.fill([]string{"acme"}, []string{"ann"})
	c := call{method: "POST", tenant: "acme", path: "/proxy/model/v1/chat/completions", key: bearer(w.people[0].read), body: asked}
	w.model.answering(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("X-Key", r.Header.Get("Authorization"))
		http.Error(rw, "wrong key "+r.Header.Get("Authorization"), http.StatusUnauthorized)
	})
	a := w.do(c)
	require.Equal(t, http.StatusBadGateway, a.status)
	require.Contains(t, a.text, "tell whoever runs the service")
	require.NotContains(t, a.text, w.model.key)
	c.header = map[string]string{service.KeyHeader: w.people[0].read.Secret}
	c.key = "Bearer sk-own"
	a = w.do(c)
	require.Equal(t, http.StatusUnauthorized, a.status, "the client's own key")
	require.Contains(t, a.text, "wrong key Bearer sk-own")

	w.model.Close()
	a = w.do(c)
	require.Equal(t, http.StatusBadGateway, a.status)
	require.Contains(t, a.text, "the upstream does not answer")
	require.NotContains(t, a.text, "127.0.0.1")
}

// Answers come as the model says them, until the key is revoked.
func TestProxyStreams(t *testing.T) {
	w := newWorld(t)
	w.fill([]string{"acme"}, []string{"ann"})
	p := w.people[0]
	w.model.answering(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(rw, "data: one\n\n")
		_ = http.NewResponseController(rw).Flush()
		<-r.Context().Done()
	})
	r, err := http.NewRequestWithContext(t.Context(), "POST", w.nodes[0].URL+"/v1/tenants/acme/proxy/model/v1/chat/completions", strings.NewReader(asked))
	require.NoError(t, err)
	r.Header.Set("Authorization", bearer(p.write))
	response, err := w.client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	first := make([]byte, 11)
	_, err = io.ReadFull(response.Body, first)
	require.NoError(t, err)
	require.Equal(t, "data: one\n\n", string(first))
	w.must(call{method: "DELETE", tenant: "acme", path: "/keys/" + p.write.ID, key: bearer(p.admin)})
	begun := time.Now()
	_, err = io.ReadAll(response.Body)
	require.Error(t, err, "the answer is not whole")
	require.Less(t, time.Since(begun), 20*time.Second)
}
