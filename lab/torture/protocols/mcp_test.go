package protocols_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/lab/torture/harness"
)

const initialize = `{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// A line is an invalid message of MCP.
type line struct {
	name, text string
	id         string // of the answer, as JSON; "" if none need come
	code       int    // of its error; 0 for any error, 1 for any answer
}

func lines() []line {
	ask := func(id, method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
	}
	call := func(id, tool, arguments string) string {
		return ask(id, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
	}
	deep := strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000)
	huge := strings.Repeat("x", 1<<20)
	all := []line{
		{"no JSON", `nonsense`, "null", -32700},
		{"half of a message", `{"jsonrpc":"2.0","id":1,"method":"pi`, "null", -32700},
		{"two messages in a line", ask("70", "ping", "{}") + ask("71", "ping", "{}"), "null", -32700},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"u\",\"method\":\"\xff\xfe\"}", "", 0},
		{"NUL bytes", strings.Repeat("\x00", 100), "null", -32700},
		{"a byte order mark", "\ufeff" + ask("72", "ping", "{}"), "null", -32700},
		{"null", `null`, "null", -32600},
		{"a number", `17`, "null", -32600},
		{"a text", `"ping"`, "null", -32600},
		{"an object of nothing", `{}`, "null", -32600},
		{"another version", `{"jsonrpc":"1.0","id":73,"method":"ping"}`, "null", -32600},
		{"a version that is a number", `{"jsonrpc":2.0,"id":74,"method":"ping"}`, "", 0},
		{"an empty batch", `[]`, "null", -32600},
		{"a batch of numbers", `[1,2,3]`, "null", -32600},
		{"a batch of requests", `[` + ask("75", "ping", "{}") + `,` + ask("76", "ping", "{}") + `]`, "null", -32600},
		{"a batch of ten thousand", `[` + strings.Repeat(ask("77", "ping", "{}")+`,`, 10_000) + ask("77", "ping", "{}") + `]`, "null", -32600},
		{"deep nesting", ask("78", "ping", deep), "", 0},
		{"deep nesting of a batch", deep, "", 0},
		{"deep nesting of arguments", call("79", "search_memory", `{"query":`+deep+`}`), "null", -32700},
		{"a message of 17 MB", ask("80", "ping", `{"x":"`+strings.Repeat("y", 17<<20)+`"}`), "null", -32700},
		{"no method", `{"jsonrpc":"2.0","id":81}`, "", 0},
		{"a method that is null", `{"jsonrpc":"2.0","id":82,"method":null}`, "", 0},
		{"a method that is a number", `{"jsonrpc":"2.0","id":83,"method":5}`, "", 0},
		{"an unknown method", ask("84", "memory/steal", "{}"), "84", -32601},
		{"a method of a megabyte", ask("85", huge, "{}"), "85", -32601},
		{"a method with line ends and escapes", ask("86", "ping\n\x1b[2J", "{}"), "", 0},
		{"a method of the client", ask("87", "sampling/createMessage", "{}"), "87", -32601},
		{"params that are a list", ask("88", "tools/list", `[1]`), "88", 0},
		{"params that are a text", ask("89", "tools/call", `"x"`), "89", 0},
		{"params that are null", ask("90", "tools/call", `null`), "90", 0},
		{"an id that is an object", ask(`{"a":1}`, "ping", "{}"), "null", -32600},
		{"an id that is a list", ask(`[1]`, "ping", "{}"), "null", -32600},
		{"an id that is true", ask(`true`, "ping", "{}"), "null", -32600},
		{"an id with a fraction", ask(`1.5`, "ping", "{}"), "", 0},
		{"an id beyond 64 bits", ask(strings.Repeat("9", 400), "ping", "{}"), "", 0},
		{"an id beyond numbers", ask("1e999", "ping", "{}"), "", 0},
		{"an id of a megabyte", ask(`"`+huge+`"`, "ping", "{}"), `"` + huge + `"`, 1},
		{"a negative id", ask("-7", "ping", "{}"), "-7", 1},
		{"the same id twice", ask("91", "ping", "{}") + "\n" + ask("91", "ping", "{}"), "91", 1},
		{"members twice", `{"jsonrpc":"2.0","id":92,"id":93,"method":"ping","method":"tools/list"}`, "", 0},
		{"a notification with an id", ask("94", "notifications/initialized", "{}"), "", 0},
		{"a request without an id", `{"jsonrpc":"2.0","method":"tools/list"}`, "", 0},
		{"an unknown notification", `{"jsonrpc":"2.0","method":"notifications/evil","params":{}}`, "", 0},
		{"a cancellation of nothing", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}`, "", 0},
		{"a cancellation of another kind", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":[]}}}`, "", 0},
		{"an answer to nothing", `{"jsonrpc":"2.0","id":95,"result":{}}`, "", 0},
		{"an answer with result and error", `{"jsonrpc":"2.0","id":96,"result":{},"error":{"code":1,"message":"x"}}`, "", 0},
		{"initialize again", strings.Replace(initialize, `"first"`, "97", 1), "97", 1},
		{"initialize with a version that is a number", ask("98", "initialize", `{"protocolVersion":5}`), "98", 0},
		{"an unknown tool", call("100", "rm_rf", `{}`), "100", 0},
		{"a tool without a name", ask("101", "tools/call", `{}`), "101", 0},
		{"arguments that are a list", call("102", "search_memory", `[1]`), "102", 1},
		{"arguments that are a text", call("103", "search_memory", `"x"`), "103", 1},
		{"no arguments", ask("104", "tools/call", `{"name":"search_memory"}`), "104", 1},
		{"arguments of other kinds", call("105", "search_memory", `{"query":{"a":1},"limit":"many"}`), "105", 1},
		{"a limit beyond all", call("106", "search_memory", `{"query":"port","limit":9223372036854775807}`), "106", 1},
		{"a limit below all", call("107", "recall_memory", `{"query":"port","limit":-9223372036854775808}`), "107", 1},
		{"a query of eight megabytes", call("108", "search_memory", `{"query":"`+strings.Repeat("port ", 8<<20/5)+`"}`), "108", 1},
		{"a query of escapes", call("109", "search_memory", `{"query":"\u0000\u001b[2J\ud800 \u202e"}`), "109", 1},
		{"a progress token of another kind", ask("110", "tools/call", `{"name":"memory_list","arguments":{},"_meta":{"progressToken":{"a":1}}}`), "110", 1},
		{"an invalid cursor", ask("111", "tools/list", `{"cursor":"'; DROP TABLE"}`), "111", 1},
		{"an unknown prompt", ask("112", "prompts/get", `{"name":"../../etc/passwd"}`), "112", 0},
		{"a prompt with arguments of other kinds", ask("113", "prompts/get", `{"name":"memory_add","arguments":{"text":5}}`), "113", 0},
		{"a subscription to anything", ask("114", "resources/subscribe", `{"uri":"file:///etc/passwd"}`), "114", 0},
		{"a log level", ask("115", "logging/setLevel", `{"level":"\n"}`), "115", 1},
		{"a completion", ask("116", "completion/complete", `{"ref":{"type":"ref/resource","uri":"file:///"},"argument":{"name":"x","value":"y"}}`), "116", 0},
	}
	for i, uri := range []string{"file:///etc/passwd", "memcore:///../outside/plans.md", "memcore:///..%2f..%2foutside%2fplans.md", "memcore:////etc/passwd", "memcore:///%00", "memcore:///a\\u0000.md", "memcore://evil.example/BEANS.md", "memcore:", "", "%", "memcore:///" + strings.Repeat("a/", 50_000)} {
		all = append(all, line{fmt.Sprintf("resource %.60q", uri), ask(fmt.Sprint(200+i), "resources/read", `{"uri":"`+uri+`"}`), fmt.Sprint(200 + i), 0})
	}
	return all
}

type reply struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// fits reports whether a reply is as wanted.
func (l line) fits(r reply) bool {
	switch {
	case r.Method != "" || string(r.ID) != l.id:
		return false
	case l.code == 1:
		return true
	case l.code == 0:
		return r.Error != nil || strings.Contains(string(r.Result), `"isError":true`)
	}
	return r.Error != nil && r.Error.Code == l.code
}

// Over standard input and output every output line is a message, invalid lines are answered as the
// protocol demands, and the server answers the next ping.
func TestMCPLines(t *testing.T) {
	w := harness.NewHome(t)
	command := w.Command(t.Context(), "mcp")
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	defer stderr.Close()
	command.Stderr = stderr
	log := func() string {
		said, err := os.ReadFile(stderr.Name())
		require.NoError(t, err)
		return string(said)
	}
	require.NoError(t, command.Start())
	replies := make(chan string, 1000)
	go func() {
		defer close(replies)
		for r := bufio.NewReader(out); ; {
			text, err := r.ReadString('\n')
			if text != "" {
				replies <- text
			}
			if err != nil {
				return
			}
		}
	}()
	say := func(text string) {
		_, err := io.WriteString(in, text+"\n")
		require.NoError(t, err, "the server has ended")
	}
	// until reads replies up to that to an id.
	until := func(id string) (all []reply) {
		timeout := time.After(2 * time.Minute)
		for {
			select {
			case text, ok := <-replies:
				if !ok {
					t.Fatalf("the server has ended:\n%s", log())
				}
				var r reply
				require.NoError(t, json.Unmarshal([]byte(text), &r), text)
				require.True(t, utf8.ValidString(text), text)
				require.Equal(t, "2.0", r.JSONRPC)
				require.NotContains(t, text, harness.Canary)
				if all = append(all, r); string(r.ID) == id && r.Method == "" {
					return all
				}
			case <-timeout:
				t.Fatalf("no answer to %s; so far %d others:\n%s", id, len(all), log())
			}
		}
	}
	// Before initialisation.
	say(`{"jsonrpc":"2.0","id":"early","method":"tools/list","params":{}}`)
	until(`"early"`)
	say(initialize)
	until(`"first"`)
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	all := lines()
	for i, l := range all {
		t.Run(l.name, func(t *testing.T) {
			say(l.text)
			alive := fmt.Sprintf(`"alive-%d"`, i)
			say(`{"jsonrpc":"2.0","id":` + alive + `,"method":"ping"}`)
			got := until(alive)
			if last := got[len(got)-1]; last.Error != nil {
				t.Errorf("ping: %+v", *last.Error)
			}
			for deadline := time.Now().Add(2 * time.Minute); l.id != "" && !slices.ContainsFunc(got, l.fits); { // answers come in any order
				require.True(t, time.Now().Before(deadline), "want id %.40s, code %d; got %.2000s", l.id, l.code, fmt.Sprint(got))
				again := fmt.Sprintf(`"again-%d-%d"`, i, time.Now().UnixNano())
				time.Sleep(20 * time.Millisecond)
				say(`{"jsonrpc":"2.0","id":` + again + `,"method":"ping"}`)
				got = append(got, until(again)...)
			}
		})
	}
	// The input ends within a message.
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"meth`)
	require.NoError(t, err)
	require.NoError(t, in.Close())
	for range replies { // until it closes its output
	}
	require.NoError(t, command.Wait(), log())
	require.NotContains(t, log(), "panic")
	t.Logf("standard input and output: %d messages: answered as the protocol says, the session goes on", len(all)+2)
}

// Over HTTP: the same messages, invalid requests and sessions. The server never fails, and sessions
// belong to their owners.
func TestMCPOverHTTP(t *testing.T) {
	w := harness.NewHome(t)
	server := w.Serve(t, "mcp", "--http", "127.0.0.1:0", "--token-env", "MEMCORE_TEST_TOKEN")
	url := "http://" + server.Address + "/mcp"
	count := 0
	send := func(t *testing.T, method, body string, header map[string]string) (int, http.Header, string) {
		t.Helper()
		count++
		r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+harness.Token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for name, value := range header {
			if r.Header.Del(name); value != "" {
				r.Header[http.CanonicalHeaderKey(name)] = []string{value}
			}
		}
		response, err := http.DefaultClient.Do(r)
		if len(body) > 8<<20 && (errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)) {
			return 413, nil, "the connection ended before the client had sent all of it"
		}
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(io.LimitReader(response.Body, 4<<20))
		require.NoError(t, err)
		require.NotContains(t, string(text), harness.Canary)
		return response.StatusCode, response.Header, string(text)
	}
	open := func(t *testing.T) string {
		t.Helper()
		status, header, text := send(t, "POST", initialize, nil)
		require.Equal(t, 200, status, text)
		id := header.Get("Mcp-Session-Id")
		require.GreaterOrEqual(t, len(id), 20, "the session's ID can be guessed")
		status, _, text = send(t, "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, map[string]string{"Mcp-Session-Id": id})
		require.Equal(t, 202, status, text)
		return id
	}
	ping := func() string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":"ping-%d","method":"ping"}`, count) } // an ID is in use until its answer has been sent
	mine := open(t)
	for _, l := range lines() {
		t.Run(l.name, func(t *testing.T) {
			for _, header := range []map[string]string{{"Mcp-Session-Id": mine}, {"Mcp-Protocol-Version": "2026-07-28"}} {
				status, _, text := send(t, "POST", l.text, header)
				require.Less(t, status, 500, text)
			}
			status, _, text := send(t, "POST", ping(), map[string]string{"Mcp-Session-Id": mine})
			require.Equal(t, 200, status, text)
		})
	}
	for _, tt := range []struct {
		name, method, body string
		header             map[string]string
		want               []int
	}{
		{"no token", "POST", ping(), map[string]string{"Authorization": ""}, []int{401}},
		{"the wrong token", "POST", ping(), map[string]string{"Authorization": "Bearer " + harness.Token + "x"}, []int{401}},
		{"the token as a password", "POST", ping(), map[string]string{"Authorization": "Basic " + harness.Token}, []int{401}},
		{"another site", "POST", ping(), map[string]string{"Origin": "http://evil.example"}, []int{403}},
		{"a site that is null", "GET", "", map[string]string{"Origin": "null"}, []int{403}},
		{"the fetch of another site", "POST", ping(), map[string]string{"Sec-Fetch-Site": "cross-site"}, []int{403}},
		{"an unknown session", "POST", ping(), map[string]string{"Mcp-Session-Id": "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}, []int{404}},
		{"a session that is a path", "POST", ping(), map[string]string{"Mcp-Session-Id": "../../../etc/passwd"}, []int{400, 404}},
		{"a session of a hundred kilobytes", "POST", ping(), map[string]string{"Mcp-Session-Id": strings.Repeat("A", 100_000)}, []int{400, 404, 431}},
		{"part of a session's ID", "POST", ping(), map[string]string{"Mcp-Session-Id": mine[:len(mine)-1]}, []int{404}},
		{"a session's ID in another case", "POST", ping(), map[string]string{"Mcp-Session-Id": strings.ToLower(mine)}, []int{404}},
		{"a stream of no session", "GET", "", nil, []int{400, 404, 405}},
		{"the end of no session", "DELETE", "", nil, []int{400, 404, 405}},
		{"the end of an unknown session", "DELETE", "", map[string]string{"Mcp-Session-Id": "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}, []int{204, 404}},
		{"another method", "PUT", ping(), map[string]string{"Mcp-Session-Id": mine}, []int{405}},
		{"another method that cannot be", "TRACE", "", map[string]string{"Mcp-Session-Id": mine}, []int{405}},
		{"an invalid content type", "POST", ping(), map[string]string{"Mcp-Session-Id": mine, "Content-Type": "text/plain"}, []int{400, 415}},
		{"no kind", "POST", ping(), map[string]string{"Mcp-Session-Id": mine, "Content-Type": ""}, []int{400, 415}},
		{"nothing is accepted", "POST", ping(), map[string]string{"Mcp-Session-Id": mine, "Accept": "image/png"}, []int{400, 406}},
		{"an unknown version", "POST", ping(), map[string]string{"Mcp-Session-Id": mine, "Mcp-Protocol-Version": "1999-01-01"}, []int{400}},
		{"a version far away", "POST", ping(), map[string]string{"Mcp-Protocol-Version": "9999-99-99"}, []int{400}},
		{"an unknown event", "GET", "", map[string]string{"Mcp-Session-Id": mine, "Last-Event-Id": "../../x"}, []int{400, 404, 405}},
		{"an empty body", "POST", "", map[string]string{"Mcp-Session-Id": mine}, []int{400}},
		{"9 MB", "POST", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("y", 9<<20) + `"}}`, map[string]string{"Mcp-Session-Id": mine}, []int{400, 413}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, _, text := send(t, tt.method, tt.body, tt.header)
			require.Contains(t, tt.want, status, text)
		})
	}
	t.Run("an ended session is unknown", func(t *testing.T) {
		id := open(t)
		status, _, _ := send(t, "DELETE", "", map[string]string{"Mcp-Session-Id": id})
		require.Equal(t, 204, status)
		status, _, _ = send(t, "POST", ping(), map[string]string{"Mcp-Session-Id": id})
		require.Equal(t, 404, status)
	})
	t.Run("bytes", func(t *testing.T) {
		authorized := []string{"Authorization: Bearer " + harness.Token, "Content-Type: application/json", "Accept: application/json, text/event-stream"}
		for _, raw := range []string{
			head("/mcp", append(authorized, "Content-Length: 5", "Content-Length: 50")...) + ping(),
			head("/mcp", append(authorized, "Transfer-Encoding: gzip, chunked")...) + "0\r\n\r\n",
			chunked("/mcp", "fffffffffffffffff\r\n", authorized...),
			strings.Replace(request("POST", "/mcp", ping(), authorized...), "Host: 127.0.0.1", "Host: evil.example", 1),
			request("POST", "http://evil.example/mcp", ping(), authorized...),
			request("CONNECT", "evil.example:80", "", authorized...),
			request("POST", "/mcp", ping(), append(authorized, "X-A: b\x00")...),
			"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		} {
			count++
			answer, statuses := exchange(t, server.Address, raw, false)
			require.NotEmpty(t, statuses, raw)
			require.True(t, statuses[0] >= 400 && statuses[0] < 500 || statuses[0] == 501 || statuses[0] == 505, "%q: %q", raw, answer)
		}
	})
	t.Run("it goes on", func(t *testing.T) {
		status, _, text := send(t, "POST", `{"jsonrpc":"2.0","id":"last","method":"tools/call","params":{"name":"search_memory","arguments":{"query":"port of the staging database"}}}`, map[string]string{"Mcp-Session-Id": mine})
		require.Equal(t, 200, status)
		require.Contains(t, text, "5433")
	})
	data, err := os.ReadFile(w.Outside + "/plans.md")
	require.NoError(t, err)
	require.Contains(t, string(data), harness.Canary)
	t.Logf("streamable HTTP: %d requests: refused with 4xx or answered as the protocol says", count)
}
