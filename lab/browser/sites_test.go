package browser_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// An evilSite is a server at another port of this machine. It notes what browsers send.
type evilSite struct {
	*httptest.Server
	port string

	mu      sync.Mutex
	cookies []string
}

func newEvilSite(t *testing.T) *evilSite {
	t.Helper()
	s := &evilSite{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.cookies = append(s.cookies, r.Header.Values("Cookie")...)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Set-Cookie", "memcore_view=evil; Path=/")
		fmt.Fprint(w, "<!doctype html><title>evil</title><h1>evil</h1>")
	}))
	t.Cleanup(s.Close)
	_, s.port, _ = net.SplitHostPort(s.Listener.Addr().String())
	return s
}

// got returns the cookies that came since the last call.
func (s *evilSite) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	cookies := s.cookies
	s.cookies = nil
	return cookies
}

// rebound is a browser for which evil.example is this machine.
func rebound(t *testing.T) context.Context {
	t.Helper()
	return newBrowser(t, chromedp.Flag("host-resolver-rules", "MAP evil.example 127.0.0.1"))
}

// attack tries from an evil page to read, load, embed and change addresses. It returns what it got.
const attack = `async (addresses) => {
  const got = [], body = () => new URLSearchParams({path: "BEANS.md", text: "evil", statement: "evil", q: "evil"});
  const text = (name, promise) => promise.then((r) => r.text()).then((s) => { if (s) got.push(name + ": " + s.slice(0, 100)); }, () => {});
  const element = (tag, attributes) => new Promise((done) => {
    const e = Object.assign(document.createElement(tag), attributes);
    e.onerror = done;
    e.onload = () => { if (!["iframe", "object", "embed"].includes(tag)) got.push(tag + " loads " + JSON.stringify(attributes)); done(); };
    document.body.append(e);
    setTimeout(done, 3000);
    if (tag === "iframe") setTimeout(() => { try { if (e.contentDocument?.body?.textContent) got.push("iframe reads"); } catch {} }, 2500);
  });
  const form = (action) => {
    const frame = Object.assign(document.createElement("iframe"), {name: "f" + Math.random()});
    const f = Object.assign(document.createElement("form"), {action, method: "post", target: frame.name});
    f.append(Object.assign(document.createElement("input"), {name: "path", value: "BEANS.md"}));
    document.body.append(frame, f);
    f.submit();
  };
  const events = (address) => new Promise((done) => {
    const e = new EventSource(address, {withCredentials: true});
    e.onopen = () => { got.push("events open"); };
    e.onerror = () => { e.close(); done(); };
    setTimeout(() => { e.close(); done(); }, 3000);
  });
  await Promise.all(addresses.map(async (a) => {
    navigator.sendBeacon(a, body());
    form(a);
    await Promise.all([
      text("fetch", fetch(a, {credentials: "include"})), text("fetch without CORS", fetch(a, {mode: "no-cors", credentials: "include"})),
      text("navigation's fetch", fetch(a, {mode: "same-origin"})), text("fetch without referrer", fetch(a, {mode: "no-cors", credentials: "include", referrerPolicy: "no-referrer"})),
      text("POST", fetch(a, {method: "POST", mode: "no-cors", credentials: "include", body: body()})),
      text("POST as text", fetch(a, {method: "POST", mode: "no-cors", credentials: "include", headers: {"Content-Type": "text/plain"}, body: body().toString()})),
      text("PUT", fetch(a, {method: "PUT", credentials: "include", body: body()})),
      import(a).then(() => got.push("import"), () => {}), events(a),
      element("img", {src: a}), element("script", {src: a}), element("script", {src: a, type: "module", crossOrigin: "use-credentials"}),
      element("link", {href: a, rel: "stylesheet"}), element("iframe", {src: a}), element("iframe", {src: a, sandbox: "allow-scripts allow-forms"}), element("object", {data: a}), element("embed", {src: a}),
      element("video", {src: a}),
    ]);
  }));
  await new Promise((done) => setTimeout(done, 500));
  return got;
}`

// statuses counts the answers of a server to a tab by status.
func statuses(t *testing.T, ctx context.Context, host string) func() map[int64]int {
	t.Helper()
	var mu sync.Mutex
	asked, counts := map[network.RequestID]bool{}, map[int64]int{}
	require.NoError(t, chromedp.Listen(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if u, err := url.Parse(e.Request.URL); err == nil {
				asked[e.RequestID] = u.Host == host
			}
		case *network.EventResponseReceivedExtraInfo:
			if asked[e.RequestID] {
				counts[e.StatusCode]++
			}
		}
	}))
	return func() map[int64]int {
		mu.Lock()
		defer mu.Unlock()
		return counts
	}
}

// targets returns the addresses of pages, of what changes something, and of other things.
func targets(t *testing.T, ctx context.Context, address string) (all []string) {
	t.Helper()
	known := map[string]bool{address + "events": true}
	for _, link := range allPages(t, ctx, address) {
		known[link] = true
		do(t, ctx, visit(link), shown("h1"))
		for _, action := range evaluate[[]string](t, ctx, `[...document.querySelectorAll("form[method=post], button[formmethod=post]")].map(f => f.formAction || f.action)`) {
			known[action] = true
		}
		for _, asset := range evaluate[[]string](t, ctx, `[...document.querySelectorAll("script[src], link[href]")].map(e => e.src || e.href)`) {
			known[asset] = true
		}
	}
	return slices.Sorted(maps.Keys(known))
}

// Pages of other sites, of other ports and of names that resolve to this machine get, embed and
// change nothing.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.run(t, "", "trust", "add")
	h.run(t, "", "index")
	ctx, evil := rebound(t), newEvilSite(t)
	address := h.open(t, ctx)
	at, err := url.Parse(address)
	require.NoError(t, err)
	all, before := targets(t, ctx, address), h.files(t)
	list, err := json.Marshal(all)
	require.NoError(t, err)
	for _, host := range []string{"127.0.0.1", "localhost", "evil.example"} {
		tab := newTab(t, ctx)
		answers := statuses(t, tab, at.Host)
		do(t, tab, visit("http://"+host+":"+evil.port+"/"), shown("h1"))
		require.Empty(t, evaluate[[]string](t, tab, "("+attack+")("+string(list)+")"), host)
		counts := answers()
		require.Greater(t, counts[403], 8*len(all), "%s: %v", host, counts)
		require.Len(t, counts, 1, "%s: each answer is 403: %v", host, counts)
		for _, link := range all {
			require.Equal(t, "Another site may not open this page.", popup(t, tab, "open("+quoted(link)+")"), link)
		}
		post := `(() => { const f = Object.assign(document.createElement("form"), {action: ` + quoted(address) + `, method: "post", target: "_blank"}); document.body.append(f); f.submit() })()`
		require.Equal(t, "Another site may not open this page.", popup(t, tab, post))
	}
	for _, link := range append(all, h.run(t, "", "view", "--link")) {
		do(t, ctx, visit(strings.Replace(link, "127.0.0.1", "evil.example", 1)), shown("main p"))
		require.Equal(t, "Address this page by 127.0.0.1, not by another name.", evaluate[string](t, ctx, `document.querySelector("main p").innerText`), link)
	}
	require.Equal(t, before, h.files(t))
}

// popup returns what a page says that an expression opens.
func popup(t *testing.T, ctx context.Context, expression string) string {
	t.Helper()
	opened := chromedp.WaitNewTarget(ctx, func(*target.Info) bool { return true })
	get(t, ctx, chromedp.Evaluate[any](expression+", null", func(p *runtime.EvaluateParams) { p.UserGesture = new(true) }))
	tab := newTab(t, ctx, chromedp.WithTargetID(<-opened))
	do(t, tab, shown("main p"))
	return evaluate[string](t, tab, `document.querySelector("main p").innerText`)
}

func quoted(text string) string {
	data, _ := json.Marshal(text) // never fails
	return string(data)
}

// Ports of a machine share cookies. A server at another port gets none, since it cannot guess the
// name of the workspace in the address.
func TestCookieOfOtherPorts(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.run(t, "", "index")
	ctx, evil := newBrowser(t), newEvilSite(t)
	address := h.open(t, ctx)
	at, err := url.Parse(address)
	require.NoError(t, err)
	visit := func(path string) string {
		do(t, ctx, visit(evil.URL+path), shown("h1"))
		return strings.ReplaceAll(strings.Join(evil.got(), "; "), "memcore_view=evil", "")
	}
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(h.workspace)))
	for _, path := range []string{"/", "/w/", "/w/" + sum[:12] + "/", "/w/" + sum[:32] + "/", "/open/", "/assets/view.js"} {
		require.NotContains(t, visit(path), "memcore_view", path)
	}
	require.Contains(t, visit(at.Path), "memcore_view", "who knows the name gets it")
	require.Empty(t, refusal(t, ctx, address), "a cookie of another port takes the place of none")

	first := at.Path
	h.run(t, "", "serve", "--stop")
	at, err = url.Parse(h.open(t, ctx))
	require.NoError(t, err)
	require.NotEqual(t, first, at.Path, "the next daemon uses another name")
}

// refusal returns why an address does not open, or "".
func refusal(t *testing.T, ctx context.Context, address string) string {
	t.Helper()
	do(t, ctx, visit(address), shown("h1"))
	return evaluate[string](t, ctx, `performance.getEntriesByType("navigation")[0].responseStatus === 200 ? "" : document.querySelector("main").innerText`)
}

// A link works once, in one browser. When the cookie ends, so do pages that were visited.
func TestLinksEnd(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.run(t, "", "index")
	ctx := newBrowser(t)
	link := h.run(t, "", "view", "--link")
	require.Empty(t, refusal(t, ctx, link))
	address := get(t, ctx, chromedp.Location())
	require.NotContains(t, address, "open")
	for _, entry := range get(t, ctx, chromedp.NavigationEntries()).Entries {
		require.NotEqual(t, link, entry.URL, "the link does not stay in the history")
	}
	other := newTab(t, ctx, chromedp.WithNewBrowserContext())
	require.Contains(t, refusal(t, other, link), "used already")
	require.Contains(t, refusal(t, other, address), "closed")

	require.Empty(t, refusal(t, ctx, address+"turns"))
	require.Empty(t, refusal(t, ctx, address+"memory"))
	do(t, ctx, back(), shown("nav"))
	_, err := chromedp.Call(ctx, network.ClearBrowserCookies, cdp.Empty{})
	require.NoError(t, err)
	do(t, ctx, chromedp.NavigateForward(), shown("h1"))
	require.Equal(t, "memcore", evaluate[string](t, ctx, `document.querySelector("h1").innerText`), "nothing is kept of a page")
	do(t, ctx, back(), shown("h1"))
	require.Equal(t, "memcore", evaluate[string](t, ctx, `document.querySelector("h1").innerText`))
}
