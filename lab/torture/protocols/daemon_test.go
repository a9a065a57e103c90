package protocols_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/lab/torture/harness"
)

// The daemon refuses malformed requests and every spelling of a path without the token. No byte of
// an attacker makes a header, a line of the log or a metric, and the next client is served.
func TestDaemon(t *testing.T) {
	w := harness.NewHome(t)
	daemon := w.Serve(t, "serve", "--http", "127.0.0.1:0", "--token-env", "MEMCORE_TEST_TOKEN", "--verbose")
	token := "Authorization: Bearer " + harness.Token
	body := fmt.Sprintf(`{"workspace":%q,"query":"which port does the staging database listen on?"}`, w.Workspace)
	smuggled := request("GET", "/v1/health", "", token)
	no := func(status ...int) []int { return status }
	type attack struct {
		name, raw string
		status    []int
	}
	all := []attack{
		{"two lengths that differ", head("/v1/retrieve", token, "Content-Length: 3", "Content-Length: 30") + body, refused},
		{"a negative length", head("/v1/retrieve", token, "Content-Length: -1") + body, refused},
		{"a list of lengths", head("/v1/retrieve", token, "Content-Length: 5,5") + body, refused},
		{"chunked twice", head("/v1/retrieve", token, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + "0\r\n\r\n", refused},
		{"an unknown coding", head("/v1/retrieve", token, "Transfer-Encoding: gzip, chunked") + "0\r\n\r\n", refused},
		{"a blank before the colon", head("/v1/retrieve", token, "Transfer-Encoding : chunked") + "0\r\n\r\n", refused},
		{"an endless chunk", chunked("/v1/retrieve", "fffffffffffffffff\r\n", token), refused},
		{"a chunk that is longer than it says", chunked("/v1/retrieve", "3\r\n"+body+"\r\n0\r\n\r\n", token), refused},
		{"what follows a length needs the token, too", head("/v1/retrieve", token, "Content-Length: 2") + "{}" + request("POST", "/v1/shutdown", ""), no(400)},
		{"the token in a trailer", chunked("/v1/retrieve", chunk(body)+"0\r\n"+token+"\r\n\r\n", "Trailer: Authorization"), no(401)},
		{"the token twice", request("POST", "/v1/retrieve", body, "Authorization: Bearer x", token), no(401)},
		{"the token with a NUL", request("POST", "/v1/retrieve", body, token+"\x00"), refused},
		{"the token in another case", request("POST", "/v1/retrieve", body, strings.ToUpper(token)), no(401)},
		{"no scheme", request("POST", "/v1/retrieve", body, "Authorization: "+harness.Token+"x"), no(401)},
		{"the token in the query", request("GET", "/v1/health?token="+harness.Token, ""), no(401)},
		{"CONNECT", "CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n" + token + "\r\n\r\n", no(400, 404, 405)},
		{"the whole URL, of another server", request("GET", "http://evil.example/v1/health", "", token), no(403)},
		{"another Host", strings.Replace(smuggled, "Host: 127.0.0.1", "Host: evil.example", 1), no(403)},
		{"another site", request("GET", "/v1/health", "", token, "Origin: http://evil.example"), no(403)},
		{"HTTP/0.9", "GET /v1/health\r\n", refused},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", refused},
		{"headers of 3 MB", request("GET", "/v1/health", "", token, "X-A: "+strings.Repeat("a", 3<<20)), no(431)},
		{"a body of 17 MB", request("POST", "/v1/retrieve", strings.Repeat(" ", 17<<20), token), no(413)},
		{"a body of 17 MB in chunks", chunked("/v1/retrieve", strings.Repeat(chunk(strings.Repeat(" ", 1<<20)), 17)+"0\r\n\r\n", token), no(413)},
		{"JSON that is nested deeply", request("POST", "/v1/retrieve", `{"workspace":`+strings.Repeat("[", 1<<20)+strings.Repeat("]", 1<<20)+`}`, token), no(400)},
		{"a body that breaks off", head("/v1/retrieve", token, "Content-Length: 500") + body, no(400)},
		{"compressed", request("POST", "/v1/retrieve", body, token, "Content-Encoding: gzip"), no(200, 400, 415)},
		{"an upgrade", request("GET", "/v1/health", "", token, "Upgrade: h2c"), no(200)},
		{"an unknown expectation", request("POST", "/v1/retrieve", body, token, "Expect: the-unexpected"), no(417)},
		{"a tool with line ends", request("POST", "/v1/tools/a%0d%0aX-Evil:%201", `{"workspace":"`+w.Workspace+`"}`, token), no(404)},
		{"a tool that is a path", request("POST", "/v1/tools/..%2fshutdown", `{"workspace":"`+w.Workspace+`"}`, token), no(404)},
		{"a path with line ends", request("GET", "/v1//%0d%0aX-Evil:%201%0a", "", token), no(301, 307, 308, 404)},
		{"a path with escapes", request("GET", "/%1b%5b2J%0amemcore:%20evil", "", token), no(404)},
		{"a method of its own", request("EVIL\"\\x", "/v1/health", "", token), no(400, 405)},
		{"a path that ends with a quote", request("GET", `/v1/"}%0aevil%201`, "", token), no(404)},
	}
	for _, path := range []string{"/v1/shutdown", "//v1/shutdown", "/v1/./shutdown", "/v1/../v1/shutdown", "/v1/%73hutdown", "/V1/shutdown", "/v1/shutdown/", "/v1/shutdown;x", `/v1\shutdown`, "/v1/retrieve", "/v1/health", "/v1/openapi.json"} {
		for _, method := range []string{"GET", "POST"} {
			all = append(all, attack{method + " " + path + " without a token", request(method, path, ""), no(401)})
		}
	}
	for _, a := range all {
		t.Run(a.name, func(t *testing.T) {
			answer, statuses := exchange(t, daemon.Address, a.raw, strings.Contains(a.name, "breaks off"))
			require.NotEmpty(t, statuses)
			require.Contains(t, a.status, statuses[0], answer)
			if len(statuses) > 1 { // what follows is a request of its own, and has no token
				require.Equal(t, 401, statuses[1])
			}
			header, _, _ := strings.Cut(answer, "\r\n\r\n")
			require.NotContains(t, header, "\nX-Evil")
			if _, statuses := exchange(t, daemon.Address, smuggled, false); !slices.Equal(statuses, []int{200}) {
				t.Fatalf("afterwards a good request is answered with %d", statuses)
			}
		})
	}
	answer, statuses := exchange(t, daemon.Address, request("POST", "/v1/retrieve", body, token), false)
	require.Equal(t, []int{200}, statuses, answer)
	require.Contains(t, answer, "5433")

	for text := range strings.Lines(daemon.Log()) {
		var record map[string]any
		if !strings.HasPrefix(text, "memcore: listening") && json.Unmarshal([]byte(text), &record) != nil && !strings.HasPrefix(text, "{") {
			t.Errorf("a line of the log is not the daemon's: %q", text)
		}
		require.NotContains(t, text, harness.Token)
	}
	t.Logf("memcore serve: %d attacks: refused; none past the token", len(all))
}
