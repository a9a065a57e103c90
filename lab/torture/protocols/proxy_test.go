package protocols_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/lab/torture/harness"
)

const (
	chatPath = "/v1/chat/completions"
	question = `{"model":"m","messages":[{"role":"user","content":"which port does the staging database listen on?"}]}`
)

// request returns a valid request with additional header lines.
func request(method, target, body string, lines ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n", method, target)
	for _, line := range lines {
		b.WriteString(line + "\r\n")
	}
	if body != "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	return b.String() + "\r\n" + body
}

// chunked returns a request with a raw body.
func chunked(target, chunks string, lines ...string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n%s\r\n%s", target, strings.Join(append(lines, ""), "\r\n"), chunks)
}

func chunk(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }

// head returns the head of a POST with its framing.
func head(target string, lines ...string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n%s\r\n", target, strings.Join(append(lines, ""), "\r\n"))
}

// A strike is an attack on the proxy.
type strike struct {
	name, raw string
	half      bool  // the client closes its side when it has said all
	status    []int // what the first answer may be; none is needed if 0 is among them
	requests  int   // how many requests may reach the upstream if it is not refused; -1 is none at all
	check     func(t *testing.T, answer string, got []message)
}

var refused = []int{400, 403, 405, 411, 413, 414, 417, 421, 431, 501, 505}

func target(want string) func(*testing.T, string, []message) {
	return func(t *testing.T, _ string, got []message) {
		if len(got) > 0 && got[0].target != want {
			t.Errorf("the upstream was asked for %q, want %q", got[0].target, want)
		}
	}
}

// without checks that headers do not reach the upstream.
func without(names ...string) func(*testing.T, string, []message) {
	return func(t *testing.T, _ string, got []message) {
		require.NotEmpty(t, got)
		for _, m := range got {
			for _, name := range names {
				if values, ok := m.header[name]; ok {
					t.Errorf("the upstream got %s: %q", name, values)
				}
			}
		}
	}
}

func strikes(decoy string) []strike {
	ok, okOrRefused := []int{200}, append([]int{200}, refused...)
	smuggled := "GET /smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
	big := strings.Repeat("a", 3<<20)
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	for range 256 {
		_, _ = zip.Write(make([]byte, 1<<20))
	}
	_ = zip.Close()
	all := []strike{
		{name: "a good request", raw: request("POST", chatPath, question), status: ok, requests: 1, check: func(t *testing.T, answer string, got []message) {
			require.Contains(t, got[0].body, "5433")
			require.Contains(t, answer, "X-Memcore-Injected: 1")
		}},

		// Where a body ends.
		{name: "CL and TE: what TE leaves over is a request of its own, or all is refused", raw: head(chatPath, "Content-Length: 4", "Transfer-Encoding: chunked") + chunk(question) + "0\r\n\r\n" + smuggled, status: okOrRefused, requests: 1},
		{name: "TE and CL: what CL leaves over is no request", raw: head("/v1/embeddings", "Transfer-Encoding: chunked", "Content-Length: 6") + "0\r\n\r\n" + smuggled, status: okOrRefused, requests: 1},
		{name: "two lengths that differ", raw: head(chatPath, "Content-Length: 3", "Content-Length: 30") + question, status: refused, requests: -1},
		{name: "two lengths that agree", raw: head(chatPath, fmt.Sprintf("Content-Length: %d", len(question)), fmt.Sprintf("Content-Length: %d", len(question))) + question, status: okOrRefused, requests: 1},
		{name: "a list of lengths", raw: head(chatPath, "Content-Length: 5, 5") + question, status: refused, requests: -1},
		{name: "a length with a sign", raw: head(chatPath, "Content-Length: +5") + question, status: refused, requests: -1},
		{name: "a negative length", raw: head(chatPath, "Content-Length: -1") + question, status: refused, requests: -1},
		{name: "a hexadecimal length", raw: head(chatPath, "Content-Length: 0x20") + question, status: refused, requests: -1},
		{name: "a length with an underscore", raw: head(chatPath, "Content-Length: 1_0") + question, status: refused, requests: -1},
		{name: "a length in Arabic digits", raw: head(chatPath, "Content-Length: ٤") + question, status: refused, requests: -1},
		{name: "a length beyond 64 bits", raw: head(chatPath, "Content-Length: 18446744073709551621") + question, status: refused, requests: -1},
		{name: "an empty length", raw: head(chatPath, "Content-Length: ") + question, status: refused, requests: -1},
		{name: "a length before a blank and a colon", raw: head(chatPath, "Content-Length : 5") + question, status: refused, requests: -1},
		{name: "chunked twice", raw: head(chatPath, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + chunk(question) + "0\r\n\r\n", status: refused, requests: -1},
		{name: "chunked in a list", raw: head(chatPath, "Transfer-Encoding: gzip, chunked") + chunk(question) + "0\r\n\r\n", status: refused, requests: -1},
		{name: "chunked, then identity", raw: head(chatPath, "Transfer-Encoding: chunked, identity") + chunk(question) + "0\r\n\r\n", status: refused, requests: -1},
		{name: "an unknown transfer coding", raw: head(chatPath, "Transfer-Encoding: xchunked") + chunk(question) + "0\r\n\r\n", status: refused, requests: -1},
		{name: "a coding with a vertical tab", raw: head(chatPath, "Transfer-Encoding: \x0bchunked") + chunk(question) + "0\r\n\r\n", status: refused, requests: -1},
		{name: "a coding before a blank and a colon", raw: head(chatPath, "Transfer-Encoding : chunked", "Content-Length: 5") + chunk(question) + "0\r\n\r\n", status: refused, requests: -1},
		{name: "a coding that is folded", raw: head(chatPath, "Transfer-Encoding:\r\n chunked") + chunk(question) + "0\r\n\r\n", status: okOrRefused, requests: 1},
		{name: "a coding in capitals", raw: head(chatPath, "TRANSFER-ENCODING: CHUNKED") + chunk(question) + "0\r\n\r\n", status: okOrRefused, requests: 1},
		{name: "a chunk of negative size", raw: chunked(chatPath, "-1\r\nx\r\n0\r\n\r\n"), status: refused, requests: -1},
		{name: "a chunk with a prefix", raw: chunked(chatPath, "0x5\r\nhello\r\n0\r\n\r\n"), status: refused, requests: -1},
		{name: "a chunk of a size beyond 64 bits", raw: chunked(chatPath, "fffffffffffffffff\r\nx\r\n0\r\n\r\n"), status: refused, requests: -1},
		{name: "a chunk of no size", raw: chunked(chatPath, "\r\nx\r\n0\r\n\r\n"), status: refused, requests: -1},
		{name: "a chunk that is longer than it says", raw: chunked(chatPath, "3\r\nhello\r\n0\r\n\r\n"), status: refused, requests: -1},
		{name: "a chunk that is shorter than it says", raw: chunked(chatPath, "ff\r\nhello\r\n0\r\n\r\n"), half: true, status: refused, requests: -1},
		{name: "chunk extensions stay here", raw: chunked(chatPath, fmt.Sprintf("%x;a=b;c=\"d\r\n%s\r\n0;last\r\n\r\n", len(question), question)), status: okOrRefused, requests: 1},
		{name: "a chunk extension with a bare line feed", raw: chunked(chatPath, fmt.Sprintf("%x;a\nb\r\n%s\r\n0\r\n\r\n", len(question), question)), status: refused, requests: -1},
		{name: "an endless chunk extension", raw: chunked(chatPath, fmt.Sprintf("%x;%s\r\n%s\r\n0\r\n\r\n", len(question), big, question)), status: refused, requests: -1},
		{name: "many chunks of one byte with long extensions", raw: chunked(chatPath, strings.Repeat("1;"+strings.Repeat("x", 2000)+"\r\n{\r\n", 4000)+"0\r\n\r\n"), status: refused, requests: -1},
		{name: "a body that breaks off", raw: head(chatPath, "Content-Length: 500") + question, half: true, status: refused, requests: -1},
		{name: "chunks that break off", raw: chunked(chatPath, chunk(question)), half: true, status: refused, requests: -1},
		{name: "trailers", raw: chunked(chatPath, chunk(question)+"0\r\nX-Memcore-Token: x\r\nContent-Length: 3\r\nHost: evil\r\n\r\n", "Trailer: X-Memcore-Token, Content-Length, Host"), status: okOrRefused, requests: 1},
		{name: "trailers to another path", raw: chunked("/v1/embeddings", chunk(question)+"0\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n", "Trailer: X-A"), status: okOrRefused, requests: 1},
		{name: "a body of a GET is no request", raw: request("GET", "/v1/models", smuggled), status: okOrRefused, requests: 1},
		{name: "two requests on one connection", raw: "POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}" + request("POST", chatPath, question), status: ok, requests: 2,
			check: func(t *testing.T, answer string, got []message) {
				require.Len(t, got, 2)
				require.Equal(t, "/v1/embeddings", got[0].target)
				require.Equal(t, 2, strings.Count(answer, "HTTP/1.1 200"))
			}},
		{name: "many requests on one connection", raw: strings.Repeat("GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n", 50) + request("GET", "/last", ""), status: ok, requests: 51},
		{name: "a good request before a bad one", raw: "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\nnonsense\r\n\r\n", status: ok, requests: 1},

		// Header lines.
		{name: "a folded line", raw: request("POST", chatPath, question, "X-A: b\r\n c: d"), status: okOrRefused, requests: 1},
		{name: "lines that end with a line feed", raw: strings.ReplaceAll(request("GET", "/v1/models", ""), "\r\n", "\n"), status: okOrRefused, requests: 1},
		{name: "a carriage return in a value", raw: request("GET", "/v1/models", "", "X-A: b\rX-Evil: 1"), status: okOrRefused, requests: 1, check: func(t *testing.T, _ string, got []message) {
			for _, m := range got {
				require.NotContains(t, m.header, "x-evil")
			}
		}},
		{name: "a NUL in a value", raw: request("GET", "/v1/models", "", "X-A: b\x00c"), status: refused, requests: -1},
		{name: "a NUL in a name", raw: request("GET", "/v1/models", "", "X-\x00A: b"), status: refused, requests: -1},
		{name: "a name with a blank", raw: request("GET", "/v1/models", "", "X A: b"), status: refused, requests: -1},
		{name: "a line without a colon", raw: request("GET", "/v1/models", "", "nonsense"), status: refused, requests: -1},
		{name: "a line without a name", raw: request("GET", "/v1/models", "", ": b"), status: refused, requests: -1},
		{name: "a first line that is folded", raw: "GET /v1/models HTTP/1.1\r\n Host: localhost\r\n\r\n", status: refused, requests: -1},
		{name: "headers of 3 MB", raw: request("GET", "/v1/models", "", "X-A: "+big), status: refused, requests: -1},
		{name: "a hundred thousand headers", raw: request("GET", "/v1/models", "", slices.Repeat([]string{"X-A: bcdefghijkl"}, 100_000)...), status: refused, requests: -1},
		{name: "a target of 3 MB", raw: request("GET", "/"+big, ""), status: refused, requests: -1},

		// The host.
		{name: "no Host", raw: "GET /v1/models HTTP/1.1\r\n\r\n", status: refused, requests: -1},
		{name: "two Hosts", raw: request("GET", "/v1/models", "", "Host: localhost"), status: refused, requests: -1},
		{name: "another Host", raw: "GET /v1/models HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", status: []int{403}, requests: -1},
		{name: "a Host with a path", raw: "GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1/evil\r\nConnection: close\r\n\r\n", status: refused, requests: -1},
		{name: "a Host with a user", raw: "GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1@evil.example\r\nConnection: close\r\n\r\n", status: refused, requests: -1},
		{name: "a Host that only begins like this machine", raw: "GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\nConnection: close\r\n\r\n", status: refused, requests: -1},
		{name: "the whole URL, of another server", raw: "GET http://evil.example/v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", status: refused, requests: -1},
		{name: "the whole URL, of another server of this machine", raw: "GET " + decoy + "/v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", status: okOrRefused, requests: 1},
		{name: "the whole URL with a password", raw: "GET http://user:pass@127.0.0.1/v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", status: okOrRefused, requests: 1},
		{name: "the URL of a file", raw: "GET file:///etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", status: okOrRefused, requests: 1, check: func(t *testing.T, answer string, _ []message) { require.NotContains(t, answer, "root:") }},
		{name: "CONNECT to another server of this machine", raw: "CONNECT " + strings.TrimPrefix(decoy, "http://") + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", status: refused, requests: -1},
		{name: "CONNECT with a path", raw: request("CONNECT", "/v1/models", ""), status: refused, requests: -1},
		{name: "a name and a port as target", raw: "GET 127.0.0.1:80 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", status: refused, requests: -1},
		{name: "OPTIONS of the server", raw: request("OPTIONS", "*", ""), status: okOrRefused, requests: 1},
		{name: "GET of *", raw: request("GET", "*", ""), status: refused, requests: -1},
		{name: "no target", raw: "GET  HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", status: refused, requests: -1},
		{name: "a target with a blank", raw: request("GET", "/v1/models HTTP/1.1\r\nX:", ""), status: okOrRefused, requests: 1},
		{name: "a target with a tab", raw: request("GET", "/v1/\tmodels", ""), status: refused, requests: -1},
		{name: "a target with a fragment", raw: request("GET", "/v1/models#x", ""), status: okOrRefused, requests: 1},
		{name: "HTTP/0.9", raw: "GET /v1/models\r\n", status: refused, requests: -1},
		{name: "HTTP/1.0", raw: "GET /v1/models HTTP/1.0\r\nHost: localhost\r\n\r\n", status: ok, requests: 1},
		{name: "HTTP/1.2", raw: strings.Replace(request("GET", "/v1/models", ""), "HTTP/1.1", "HTTP/1.2", 1), status: okOrRefused, requests: 1},
		{name: "HTTP/2 by its preface", raw: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", status: refused, requests: -1},
		{name: "HTTP/3.1", raw: "GET /v1/models HTTP/3.1\r\nHost: localhost\r\n\r\n", status: refused, requests: -1},
		{name: "a version in small letters", raw: "GET /v1/models http/1.1\r\nHost: localhost\r\n\r\n", status: refused, requests: -1},
		{name: "empty lines first", raw: "\r\n\r\n" + request("GET", "/v1/models", ""), status: okOrRefused, requests: 1},
		{name: "TLS", raw: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x00", 512) + "\r\n\r\n", status: refused, requests: -1},
		{name: "nothing but bytes", raw: strings.Repeat("\xff\x00\r\n", 100), status: refused, requests: -1},
		{name: "an invalid method", raw: request("GE(T", "/v1/models", ""), status: refused, requests: -1},
		{name: "a method in small letters", raw: request("get", "/v1/models", ""), status: okOrRefused, requests: 1},
		{name: "TRACE", raw: request("TRACE", "/v1/models", "", "Authorization: Bearer key"), status: okOrRefused, requests: 1},

		// One connection only.
		{name: "Connection names headers", raw: strings.Replace(request("POST", chatPath, question, "X-A: b", "Keep-Alive: 5", "Proxy-Connection: x", "Proxy-Authorization: y", "TE: gzip"), "Connection: close", "Connection: close, X-A, Content-Length, Host, Transfer-Encoding", 1),
			status: ok, requests: 1, check: without("x-a", "keep-alive", "proxy-connection", "proxy-authorization", "te")},
		{name: "the proxy's token, also by Connection", raw: strings.Replace(request("POST", chatPath, question, "X-Memcore-Token: secret", "x-memcore-token: secret"), "Connection: close", "Connection: close, X-Memcore-Token", 1), status: ok, requests: 1, check: without("x-memcore-token")},
		{name: "an upgrade to HTTP/2 in clear", raw: strings.Replace(request("GET", "/v1/models", "", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"), "Connection: close", "Connection: Upgrade, HTTP2-Settings, close", 1), status: okOrRefused, requests: 1, check: without("upgrade", "http2-settings", "connection")},
		{name: "a list of upgrades with HTTP/2", raw: strings.Replace(request("GET", "/v1/models", "", "Upgrade: websocket, h2c"), "Connection: close", "Connection: Upgrade, close", 1), status: okOrRefused, requests: 1, check: without("upgrade", "connection")},
		{name: "a web socket that the upstream does not want", raw: strings.Replace(request("GET", "/v1/realtime", "", "Upgrade: websocket"), "Connection: close", "Connection: Upgrade, close", 1), status: okOrRefused, requests: 1},
		{name: "an unknown expectation", raw: request("POST", chatPath, question, "Expect: the-unexpected"), status: refused, requests: -1},
		{name: "100-continue", raw: request("POST", chatPath, question, "Expect: 100-continue"), status: []int{100, 200}, requests: 1, check: without("expect")},

		// Sizes.
		{name: "a gzip bomb passes unread", raw: request("POST", chatPath, bomb.String(), "Content-Encoding: gzip"), status: ok, requests: 1, check: func(t *testing.T, answer string, got []message) {
			require.Equal(t, bomb.String(), got[0].body)
			require.Contains(t, answer, "X-Memcore-Reason: the request is compressed")
		}},
		{name: "65 MB pass without memory", raw: request("POST", chatPath, strings.Repeat("x", 65<<20)), status: ok, requests: 1, check: func(t *testing.T, answer string, got []message) {
			require.EqualValues(t, 65<<20, got[0].size)
			require.Contains(t, answer, "X-Memcore-Injected: 0")
		}},
		{name: "65 MB in chunks", raw: chunked(chatPath, strings.Repeat(chunk(strings.Repeat("x", 1<<20)), 65)+"0\r\n\r\n"), status: ok, requests: 1, check: func(t *testing.T, answer string, got []message) { require.EqualValues(t, 65<<20, got[0].size) }},
		{name: "JSON that is nested deeply", raw: request("POST", chatPath, `{"messages":[{"role":"user","content":`+strings.Repeat("[", 1<<20)+strings.Repeat("]", 1<<20)+`}]}`), status: ok, requests: 1},
		{name: "a model with line ends in its name", raw: request("POST", chatPath, `{"model":"m\r\nX-Evil: 1","messages":"\r\nX-Evil: 1"}`), status: ok, requests: 1, check: func(t *testing.T, answer string, got []message) {
			require.NotContains(t, answer, "\nX-Evil")
			require.NotContains(t, got[0].header, "x-evil")
		}},
		{name: "text that is not UTF-8", raw: request("POST", chatPath, "{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\xfe staging database port\"}]}"), status: ok, requests: 1},
	}

	// Paths: the upstream has the base /v1; nothing outside is requested.
	for _, path := range []string{"/v1/../admin", "/../admin", "/v1/..", "/v1/./models", "/v1/%2e%2e/admin", "/v1/%2E./admin", "/v1/..%2fadmin", "/v1/..%2Fchat/completions", "/v1/..%5cadmin", `/v1/..\admin`, "/v1/models/..;/admin/..",
		"/v1/%2e%2e%2f%2e%2e%2fadmin", "/%2e%2e/v1/chat/completions"} {
		all = append(all, strike{name: "path " + path, raw: request("GET", path, ""), status: []int{400}, requests: -1})
	}
	for path, want := range map[string]string{"//v1//models": "/v1//v1//models", "//evil.example/v1": "/v1//evil.example/v1", "/v1/models/a%2Fb": "/v1/models/a%2Fb", "/v1/%00": "/v1/%00", "/v1/a%0d%0aX-Evil:%201": "/v1/a%0d%0aX-Evil:%201",
		"/v1/models/...": "/v1/models/...", "/v1/a..b": "/v1/a..b", "/v1/models?next=../../x": "/v1/models?next=../../x", "/v1/models?a=%0d%0a": "/v1/models?a=%0d%0a", "/v1/über": "/v1/%C3%BCber"} {
		all = append(all, strike{name: "path " + path, raw: request("GET", path, ""), status: ok, requests: 1, check: target(want)})
	}
	return all
}

// For any bytes the upstream gets strict requests, no more than were sent, or none, and the client
// gets an error. No other server is asked, and the next client is served.
func TestProxy(t *testing.T) {
	w := harness.NewHome(t)
	upstream, decoy := newRecorder(t), newRecorder(t)
	proxy := w.Serve(t, "proxy", "--listen", "127.0.0.1:0", "--upstream", upstream.url()+"/v1")
	all, passed := strikes(decoy.url()), 0
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			answer, statuses := exchange(t, proxy.Address, s.raw, s.half)
			got, wrong := upstream.take()
			for _, err := range wrong {
				if s.requests >= 0 || !errors.Is(err, errIncomplete) {
					t.Errorf("the upstream got what is no request: %v", err)
				}
			}
			switch {
			case len(statuses) == 0:
				t.Fatalf("no answer, want one of %d", s.status)
			case !slices.Contains(s.status, statuses[0]):
				t.Fatalf("status %d, want one of %d: %.500q", statuses[0], s.status, answer)
			case s.requests < 0 && len(got) > 0, statuses[0] < 300 && len(got) > s.requests:
				for _, m := range got {
					t.Errorf("the upstream got %s %s %q %.200q", m.method, m.target, m.header, m.body)
				}
			}
			for _, m := range got {
				if m.target != "/v1" && !strings.HasPrefix(m.target, "/v1/") {
					t.Errorf("the upstream was asked for %q", m.target)
				}
				if host := m.header["host"][0]; "http://"+host != upstream.url() {
					t.Errorf("the upstream was addressed as %q", host)
				}
			}
			if s.check != nil && statuses[0] < 300 {
				s.check(t, answer, got)
			}
			if _, statuses := exchange(t, proxy.Address, request("GET", "/v1/models", ""), false); !slices.Equal(statuses, []int{200}) {
				t.Errorf("afterwards a good request is answered with %d", statuses)
			}
			got, wrong = upstream.take()
			require.Empty(t, wrong)
			require.Len(t, got, 1)
			if !t.Failed() {
				passed++
			}
		})
	}
	others, wrong := decoy.take()
	if len(others)+len(wrong) > 0 {
		t.Errorf("another server was asked: %v %v", others, wrong)
	}
	if log := proxy.Log(); strings.Contains(log, "X-Evil: 1\n") || strings.ContainsAny(log, "\x00\x1b") {
		t.Errorf("the log holds bytes of an attacker:\n%s", log)
	}
	t.Logf("memcore proxy: %d attacks: %d refused or passed on in the strictest form", len(all), passed)
}

// An upstream that accepts an unoffered upgrade, or sends too much, affects no other request.
func TestProxyUpstream(t *testing.T) {
	w := harness.NewHome(t)
	answers := []string{
		"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nraw bytes",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 40\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nX-A: b\x00c\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nX-A" + strings.Repeat("a", 12<<20) + ": b\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 999999 OK\r\n\r\n",
		"HTTP/1.1 20x OK\r\n\r\n",
		"SSH-2.0-OpenSSH\r\n",
		strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 100) + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"HTTP/1.1 200 OK\r\nX-Memcore-Injected: 77\r\nX-Memcore-Sources: evil\r\nContent-Length: 2\r\n\r\n{}",
		"",
	}
	for _, answer := range answers {
		t.Run(fmt.Sprintf("%.40q", answer), func(t *testing.T) {
			upstream := newRecorder(t)
			upstream.answer = answer
			if answer == "" { // it closes the connection at once
				require.NoError(t, upstream.listener.Close())
			}
			proxy := w.Serve(t, "proxy", "--listen", "127.0.0.1:0", "--upstream", upstream.url())
			c, err := net.Dial("tcp", proxy.Address)
			require.NoError(t, err)
			defer c.Close()
			_, err = io.WriteString(c, strings.Replace(request("GET", "/v1/models", "", "Upgrade: h2c"), "close", "close, Upgrade", 1))
			require.NoError(t, err)
			said, err := io.ReadAll(io.LimitReader(c, 32<<20))
			if err != nil && !errors.Is(err, syscall.ECONNRESET) {
				t.Fatal(err)
			}
			require.NotContains(t, string(said), "raw bytes")
			require.NotContains(t, string(said), "X-Memcore-Injected: 77")
			require.NotContains(t, string(said), "101 Switching")
			if len(said) > 0 { // an answer that breaks off is cut
				require.Regexp(t, `^HTTP/1\.1 (502|200|103) `, string(said[:min(len(said), 200)]))
			}
		})
	}
	t.Logf("answers of an upstream: %d attacks: passed on well-formed, or 502", len(answers))
}
