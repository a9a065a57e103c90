package tenants

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service"
)

// What was saved over MCP is seen by a client of another node.
func TestMCPVersion(t *testing.T) {
	w := newWorld(t)
	w.createTenant("acme")
	p := &person{tenant: "acme", user: "ann"}
	p.read = w.createKey("acme", service.Key{User: "ann", Right: service.Write})
	tool := func(node int, session, name, arguments, meta string) (text string, version int64) {
		c := mcpCall(p, node, session, "tools/call", fmt.Sprintf(`{"name": %q, "arguments": %s, "_meta": %s}`, name, arguments, meta))
		a := w.must(c)
		_, data, _ := strings.Cut(a.text, "data: ")
		data, _, _ = strings.Cut(data, "\n")
		var reply struct {
			Result struct {
				Meta map[string]any `json:"_meta"`
				Data struct {
					Version int64 `json:"version"`
				} `json:"structuredContent"`
			} `json:"result"`
		}
		require.NoError(t, json.Unmarshal([]byte(data), &reply), a.text)
		if reply.Result.Data.Version > 0 {
			require.EqualValues(t, reply.Result.Data.Version, reply.Result.Meta["memcore/version"], a.text)
		}
		return data, reply.Result.Data.Version
	}
	for i, text := range []string{"The bakery opens at seven.", "Deploy with make release.", "The printer is in room four.", "Tea is in the kitchen."} {
		w.must(call{method: "PUT", tenant: "acme", path: fmt.Sprintf("/documents/notes/%d.md", i), key: bearer(p.read), body: text + "\n"})
	}
	first, second := w.initialize(p, 0), w.initialize(p, 1)
	const ask = `{"query": "locker number of the warehouse"}`
	for i, seen := range []string{"7341", "9152"} {
		before, _ := tool(1, second, "search_memory", ask, `{}`)
		require.NotContains(t, before, seen, "the nodes are as they should be")
		saved, version := tool(0, first, "save_memory", fmt.Sprintf(`{"content": "The locker number of the warehouse in year %d is %s"}`, i, seen), `{}`)
		require.Positive(t, version, saved)
		fresh, _ := tool(1, second, "search_memory", ask, fmt.Sprintf(`{"memcore/at-least": %d}`, version))
		require.Contains(t, fresh, seen)
	}
	for _, odd := range []string{`{"memcore/at-least": "x"}`, `{"memcore/at-least": -1}`} {
		text, _ := tool(1, second, "search_memory", ask, odd)
		require.Contains(t, text, "9152")
	}
}

// An agent that nobody uses ends, such as that of a tenant that was deleted.
func TestUnusedAgentsEnd(t *testing.T) {
	var a agents
	ended := ""
	for i, tenant := range []string{"deleted", "kept"} {
		p := service.Principal{Tenant: tenant}
		p.Of.Tenant.ID = int64(i)
		a.keep(p, &agent{tenant: int64(i), memory: &agentMemory{}, end: func() { ended += tenant }})
	}
	a.known[agentOf(service.Principal{Tenant: "deleted"})].used = time.Now().Add(-idleAfter - time.Second)
	a.forget()
	require.Equal(t, "deleted", ended)
	require.Len(t, a.known, 1)
}

// Of requests that make the same agent at once, none ends what another has.
func TestAgentsAtOnce(t *testing.T) {
	p := service.Principal{Tenant: "acme", User: "ann"}
	p.Of.Tenant.ID = 1
	for range 20000 {
		var a agents
		var ended sync.Map
		kept := make([]*agent, 8)
		var all sync.WaitGroup
		for i := range kept {
			made := &agent{tenant: 1, memory: &agentMemory{}}
			made.end = func() { ended.Store(made, true) }
			all.Go(func() { kept[i] = a.keep(p, made) })
		}
		all.Wait()
		for _, one := range kept {
			_, gone := ended.Load(one)
			require.False(t, gone, "it has ended")
		}
	}
}

// A stream ends with its tenant, whoever has it open.
func TestStreamsEndWithTheirTenant(t *testing.T) {
	w := newWorld(t)
	w.fill([]string{"acme"}, []string{"ann"})
	operator := *w.people[0]
	operator.read = service.Key{Secret: operatorKey}
	ended := make(chan int, 2)
	for _, p := range []*person{w.people[0], &operator} {
		session := w.initialize(p, 0)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.nodes[0].URL+"/v1/tenants/acme/mcp", nil)
		require.NoError(t, err)
		for name, value := range map[string]string{"Authorization": bearer(p.read), "Mcp-Session-Id": session, "Accept": "text/event-stream"} {
			r.Header.Set(name, value)
		}
		answer, err := w.client.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		require.Equal(t, http.StatusOK, answer.StatusCode)
		go func() {
			_, _ = io.Copy(io.Discard, answer.Body) // it ends either way
			ended <- 1
		}()
	}
	w.operate(call{method: "DELETE", path: "acme"})
	for range 2 {
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatal("a stream of a deleted tenant goes on")
		}
	}
}
