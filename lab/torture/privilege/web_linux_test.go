package privilege

import (
	"bufio"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// routesOf returns the patterns that a package's source registers.
func routesOf(t *testing.T, pkg string) (patterns []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", filepath.FromSlash(pkg), "*.go"))
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "HandleFunc" && f.Sel.Name != "Handle" {
				return true
			}
			literal, ok := call.Args[0].(*ast.BasicLit)
			require.True(t, ok, "%s registers a pattern that is no literal", name)
			pattern, err := strconv.Unquote(literal.Value)
			require.NoError(t, err)
			patterns = append(patterns, pattern)
			return true
		})
	}
	return patterns
}

// routesOfAPI returns the patterns of the HTTP API's description. Its router has the same.
func routesOfAPI(t *testing.T, at string) (patterns []string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/v1/openapi.json", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+serveToken)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	var description struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&description))
	for path, methods := range description.Paths {
		for method := range methods {
			patterns = append(patterns, strings.ToUpper(method)+" "+path)
		}
	}
	return patterns
}

type wire struct {
	method, target, version, host string
	header                        []string
	body                          string
}

// send sends a request and returns status and headers.
func send(t *testing.T, at string, q wire) (int, http.Header) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", at, 5*time.Second)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	head := q.method + " " + q.target + " " + q.version + "\r\n"
	if q.host != "" {
		head += "Host: " + q.host + "\r\n"
	}
	for _, line := range q.header {
		head += line + "\r\n"
	}
	if q.body != "" {
		head += fmt.Sprintf("Content-Length: %d\r\n", len(q.body))
	}
	_, err = conn.Write([]byte(head + "Connection: close\r\n\r\n" + q.body))
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: q.method})
	require.NoError(t, err, head)
	// Closing the body would read a stream of events without end.
	return answer.StatusCode, answer.Header
}

// personal are routes that who has the token may not use either.
var personal = map[string]bool{"/v1/view": true}

// No page in a browser can use a server of memcore, by any request, even with the token.
func TestPagesAreRefused(t *testing.T) {
	var reached atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { reached.Add(1) }))
	t.Cleanup(upstream.Close)
	w := newWorld(t)
	w.env = []string{"TOKEN=" + serveToken}
	serve, _ := w.start(`listening at http://(\S+)`, "serve", "--http", "127.0.0.1:0", "--token-env", "TOKEN")
	serveAt := regexp.MustCompile(`http://(\S+)`).FindStringSubmatch(serve.said())[1]
	_, mcpAt := w.start(`serving MCP at http://(\S+)/mcp`, "mcp", "--http", "127.0.0.1:0", "--token-env", "TOKEN")
	_, proxyAt := w.start(`listening on http://([^\s,]+)`, "proxy", "--upstream", upstream.URL, "--listen", "127.0.0.1:0", "--token-env", "TOKEN")
	_, openAt := w.start(`listening on http://([^\s,]+)`, "proxy", "--upstream", upstream.URL, "--listen", "127.0.0.1:0")

	type route struct{ at, method, path, token string }
	var routes []route
	add := func(at, token string, patterns ...string) {
		for _, pattern := range patterns {
			method, path, ok := strings.Cut(pattern, " ")
			if !ok {
				method, path = "", pattern
			}
			for _, m := range []string{"GET", "POST", "DELETE"} {
				if method == "" || method == m {
					routes = append(routes, route{at, m, strings.ReplaceAll(path, "{name}", "save_memory"), token})
				}
			}
		}
	}
	api := routesOfAPI(t, serveAt)
	require.Greater(t, len(api), 10)
	require.Contains(t, api, "POST /v1/shutdown")
	add(serveAt, "Authorization: Bearer "+serveToken, append(api, "/no/such/route")...)
	mcp := routesOf(t, "inject/mcp")
	require.NotEmpty(t, mcp)
	add(mcpAt, "Authorization: Bearer "+serveToken, append(mcp, "/")...)
	proxied := []string{"/", "/v1/chat/completions", "/v1/models", "/api/chat", "/v1/messages", "/anything"} // it has no routes: all goes to the upstream
	add(proxyAt, "X-Memcore-Token: "+serveToken, proxied...)
	add(openAt, "", proxied...)

	asked := 0
	ask := func(r route, q wire) (int, http.Header) {
		asked++
		if q.method == "" {
			q.method = r.method
		}
		if q.target == "" {
			q.target = r.path
		}
		if q.version == "" {
			q.version = "HTTP/1.1"
		}
		if q.method == "POST" && q.body == "" {
			q.body = `{"workspace":"` + w.project + `","query":"x"}`
		}
		if r.token != "" && !slices.Contains(q.header, "No-Token: 1") {
			q.header = append(q.header, r.token)
		}
		return send(t, r.at, q)
	}
	for _, r := range routes {
		begun := time.Now()
		_, port, _ := net.SplitHostPort(r.at)
		hostile := map[string]wire{
			"rebound name":             {host: "evil.example:" + port},
			"rebound name, no port":    {host: "evil.example"},
			"name like this machine's": {host: "localhost.evil.example:" + port},
			"trailing dot":             {host: "localhost.:" + port},
			"address as a number":      {host: "2130706433:" + port},
			"any address":              {host: "0.0.0.0:" + port},
			"any address, IPv6":        {host: "[::]:" + port},
			"this machine's other":     {host: "192.168.1.2:" + port},
			"no host":                  {version: "HTTP/1.0"},
			"no host, null origin":     {version: "HTTP/1.0", header: []string{"Origin: null"}},
			"absolute target":          {target: "http://evil.example" + r.path, host: r.at},
			"two hosts":                {host: r.at, header: []string{"Host: evil.example"}},
			"other page":               {host: r.at, header: []string{"Origin: https://evil.example"}},
			"page of another port":     {host: r.at, header: []string{"Origin: http://127.0.0.1:1"}},
			"page without a port":      {host: r.at, header: []string{"Origin: http://127.0.0.1"}},
			"null origin":              {host: r.at, header: []string{"Origin: null"}},
			"extension":                {host: r.at, header: []string{"Origin: chrome-extension://abcdef"}},
			"rebound page":             {host: "evil.example:" + port, header: []string{"Origin: http://evil.example:" + port, "Sec-Fetch-Site: same-origin"}},
			"image of a page":          {host: r.at, header: []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"}},
			"page beside it":           {host: r.at, header: []string{"Sec-Fetch-Site: same-site"}},
			"form":                     {host: r.at, method: "POST", header: []string{"Origin: https://evil.example", "Content-Type: application/x-www-form-urlencoded"}},
			"simple request":           {host: r.at, method: "POST", header: []string{"Origin: https://evil.example", "Content-Type: text/plain"}},
			"simple, null origin":      {host: r.at, method: "POST", header: []string{"Origin: null", "Content-Type: text/plain"}},
			"preflight":                {host: r.at, method: "OPTIONS", header: []string{"Origin: https://evil.example", "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization,content-type", "Access-Control-Request-Private-Network: true"}},
			"upgrade":                  {host: r.at, method: "GET", header: []string{"Origin: https://evil.example", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="}},
		}
		if r.token != "" {
			hostile["no token"] = wire{host: r.at, header: []string{"No-Token: 1"}}
			for name, given := range map[string]string{"wrong": "x" + serveToken, "short": serveToken[:len(serveToken)-1], "empty": "", "long": serveToken + "x", "in capitals": strings.ToUpper(serveToken)} {
				scheme, _, _ := strings.Cut(r.token, serveToken)
				hostile["token that is "+name] = wire{host: r.at, header: []string{"No-Token: 1", scheme + given}}
			}
			hostile["token in the address"] = wire{host: r.at, target: r.path + "?token=" + serveToken + "&access_token=" + serveToken, header: []string{"No-Token: 1"}}
			hostile["token as a cookie"] = wire{host: r.at, header: []string{"No-Token: 1", "Cookie: token=" + serveToken}}
		}
		before := reached.Load()
		for name, q := range hostile {
			status, header := ask(r, q)
			if !slices.Contains([]int{400, 401, 403}, status) && !(r.at == mcpAt && r.path == "/" && status == 404) {
				t.Errorf("%s %s of %s, %s: status %d, want it refused", r.method, r.path, r.at, name, status)
			}
			for key := range header {
				if strings.HasPrefix(key, "Access-Control-") {
					t.Errorf("%s %s, %s: the answer has %s", r.method, r.path, name, key)
				}
			}
		}
		w.took(begun, []string{r.method, r.at, r.path})
		require.Equal(t, before, reached.Load(), "%s %s reached the upstream", r.method, r.path)
		if r.path == "/v1/shutdown" {
			continue
		}
		for _, host := range []string{r.at, "localhost:" + port, "LOCALHOST:" + port, "[::1]:" + port, "127.0.0.1", "[::ffff:127.0.0.1]:" + port} {
			if r.at == mcpAt && host != r.at {
				continue // its library knows fewer names still
			}
			status, _ := ask(r, wire{host: host})
			if personal[r.path] {
				require.Equal(t, 403, status, "%s of %s with the token alone", r.path, host)
				continue
			}
			if status == 401 || status == 403 {
				t.Errorf("%s %s of Host %s: status %d, want it let in", r.method, r.path, host, status)
			}
			if own := []string{"Origin: http://" + host, "Sec-Fetch-Site: same-origin"}; r.at != mcpAt {
				if status, _ := ask(r, wire{host: host, header: own}); status == 401 || status == 403 {
					t.Errorf("%s %s of its own page at %s: status %d", r.method, r.path, host, status)
				}
			}
		}
	}
	require.Greater(t, reached.Load(), int64(20), "what the proxy is for did not work")
	status, _ := send(t, serveAt, wire{method: "GET", target: "/v1/health", version: "HTTP/1.1", host: serveAt, header: []string{"Authorization: Bearer " + serveToken}})
	require.Equal(t, 200, status, "a page has ended the daemon")
	t.Logf("web pages and strangers at every route: %d requests: all refused at %d routes, the user's own let in", asked, len(routes))
}
