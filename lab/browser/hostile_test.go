package browser_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// foreign is a function of a document and its address that names what no template of ours makes.
const foreign = `(doc, address) => {
  const tags = new Set(("html head meta title link script body a header nav p bdi main h1 h2 h3 h4 h5 h6 form label textarea select option optgroup button input output " +
    "section article aside footer pre table caption colgroup col thead tbody tfoot tr th td svg rect title g line path circle ellipse text tspan polyline polygon desc defs details summary dl dt dd " +
    "div span ol ul li time code kbd em strong i b s del ins mark small sub sup hr br blockquote progress meter fieldset legend canvas figure figcaption datalist wbr abbr dialog noscript").split(" "));
  const root = location.pathname.split("/").slice(0, 3).join("/") + "/";
  const own = (value) => {
    const u = new URL(value, address);
    return u.origin === location.origin && !u.username && (u.pathname.startsWith(root) || u.pathname.startsWith("/assets/"));
  };
  const found = [];
  for (const e of doc.querySelectorAll("*")) {
    const tag = e.localName, say = (why) => found.push(why + ": " + e.outerHTML.slice(0, 200));
    if (!tags.has(tag)) say("element");
    if (tag === "script" && (e.type === "application/json" ? e.src : !e.src || e.textContent)) say("script");
    if (tag === "link" && !["stylesheet", "modulepreload", "icon"].includes(e.rel)) say("link");
    if (tag === "meta" && !(e.hasAttribute("charset") || e.name === "viewport")) say("meta");
    for (const a of e.attributes) {
      const name = a.name.toLowerCase();
      if (name.startsWith("on") || ["style", "srcdoc", "srcset", "ping", "target", "background", "poster", "data", "shadowrootmode", "http-equiv"].includes(name)) say("attribute");
      try {
        if (["src", "href", "xlink:href", "action", "formaction"].includes(name) && !own(a.value)) say("address");
      } catch { say("address"); }
    }
  }
  return found;
}`

// readAll reads addresses as documents, at most six at a time. It returns what is foreign in them,
// and their links.
const readAll = `async (addresses) => {
  const foreign = FOREIGN, out = {strange: [], links: [], statuses: {}};
  const next = async () => {
    for (let address; (address = addresses.pop());) {
      const answer = await fetch(address), text = await answer.text();
      out.statuses[answer.status] = (out.statuses[answer.status] ?? 0) + 1;
      const doc = new DOMParser().parseFromString(text, "text/html");
      for (const line of foreign(doc, answer.url)) out.strange.push(address + ": " + line);
      for (const field of doc.querySelectorAll("textarea")) field.remove(); // holds what was typed
      if (/[\u0000-\u0008\u000b\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200b]/.test(doc.body.textContent)) out.strange.push(address + ": a hidden character");
      for (const a of doc.querySelectorAll("a[href]")) {
        const u = new URL(a.getAttribute("href"), answer.url);
        u.hash = "";
        out.links.push(u.href);
      }
    }
  };
  await Promise.all([next(), next(), next(), next(), next(), next()]);
  out.links = [...new Set(out.links)];
  return out;
}`

// A reading is what readAll returns.
type reading struct {
	Strange  []string       `json:"strange"`
	Links    []string       `json:"links"`
	Statuses map[string]int `json:"statuses"`
}

func read(t *testing.T, ctx context.Context, addresses []string) reading {
	t.Helper()
	list, err := json.Marshal(addresses)
	require.NoError(t, err)
	return evaluate[reading](t, ctx, "("+strings.Replace(readAll, "FOREIGN", foreign, 1)+")("+string(list)+")")
}

// hostileHome returns a home whose files, names, prompts and settings are all hostile.
func hostileHome(t *testing.T) home {
	h := emptyHome(t, `<img src=x onerror=alert(1)>"'&amp;{{.}}`)
	var note strings.Builder
	note.WriteString("# The harbour of <script>alert(1)</script>\n")
	lines := []string{}
	for i, v := range vectors {
		line := strings.NewReplacer("\n", " ", "\r", " ").Replace(v)
		lines = append(lines, line)
		fmt.Fprintf(&note, "\n## Berth %d %s\n\nBerth %d of the harbour is for %s\n\n`%s`\n\n%s\n", i, line, i, line, line, v)
		name := filepath.Join("notes", strings.NewReplacer("\x00", "", "\n", " ").Replace(v)+".md")
		if filepath.IsLocal(name) && len(filepath.Base(name)) < 255 {
			h.write(t, name, fmt.Sprintf("# Pier %d\n\nPier %d belongs to the ferry %s\n", i, i, line))
		}
	}
	h.write(t, "notes/vectors.md", note.String())
	for name, file := range map[string]string{"torture": "../torture/injection/testdata/attacks.tsv", "own": "../../internal/text/injection/testdata/attacks.tsv"} {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		h.write(t, "notes/"+name+".md", "# Attacks\n\n"+strings.ReplaceAll(string(data), "\n", "\n\n"))
	}
	h.write(t, "BEANS.md", "# Rules <script>alert(1)</script>\n\n- Moor on the left "+strings.Join(lines[:20], "\n- ")+"\n\n@./none<img src=x onerror=alert(1)>.md\n")
	h.write(t, ".beans/rules/<svg onload=alert(1)>.md", "---\nname: <script>alert(1)</script>\ndescription: '\"><img src=x onerror=alert(1)>'\n---\n# Rule\n\nMoor fast.\n")
	h.write(t, ".beans/config.yaml", "memory:\n  \"<script>alert(1)</script>\": 1\n  threshold: '<img src=x onerror=alert(1)>'\n  excludePaths: ['<svg onload=alert(1)>']\n")
	h.write(t, "sessions/<iframe src=javascript:alert(1)>.jsonl", hostileLog(t, lines))
	h.run(t, "", "trust", "add")
	h.run(t, "", "index")
	h.run(t, "", "save", "--yes", "--shared", "The harbour master is called <script>alert(1)</script>")
	h.run(t, "", "view", "--link") // starts the daemon
	for i := 0; i+8 <= len(lines); i += 16 {
		h.prompt(t, lines[i], "which ferry does pier belong to, and who is berth of the harbour for? "+strings.Join(vectors[i:i+8], "\n"))
	}
	return h
}

// hostileLog returns a log of Claude Code.
func hostileLog(t *testing.T, lines []string) string {
	var log strings.Builder
	for i, line := range lines {
		role := []string{"user", "assistant"}[i%2]
		data, err := json.Marshal(map[string]any{"type": role, "cwd": line, "sessionId": line, "gitBranch": line, "version": line, "uuid": fmt.Sprint(i), "timestamp": "2026-11-01T08:00:00.000Z",
			"message": map[string]any{"role": role, "model": line, "content": fmt.Sprintf("We decided that ship %d carries %s", i, line)}})
		require.NoError(t, err)
		log.Write(append(data, '\n'))
	}
	return log.String()
}

// files returns the hashes of all files of the home, but for the index and what memcore records.
func (h home) files(t *testing.T) map[string][32]byte {
	t.Helper()
	all := map[string][32]byte{}
	require.NoError(t, filepath.WalkDir(h.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() == ".cache" {
			return fs.SkipDir
		}
		if entry.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all[path] = sha256.Sum256(data)
		}
		return nil
	}))
	return all
}

// Nothing that memory holds becomes markup, runs, loads or changes anything, on any page that links
// lead to.
func TestHostileText(t *testing.T) {
	t.Parallel()
	h := hostileHome(t)
	ctx := newBrowser(t)
	address := h.open(t, ctx)
	at, err := url.Parse(address)
	require.NoError(t, err)
	diary := watch(t, ctx, at.Scheme+"://"+at.Host)
	before := h.files(t)
	require.Greater(t, len(before), 100)

	// As documents: all that links lead to, and vectors in all fields of forms.
	known, queue := map[string]bool{}, []string{}
	for _, link := range allPages(t, ctx, address) {
		known[link] = true
		queue = append(queue, link)
	}
	queue = append(queue, filled(t, ctx, queue)...)
	statuses := map[string]int{}
	for len(queue) > 0 {
		r := read(t, ctx, queue)
		queue = nil
		require.Empty(t, r.Strange)
		for status, n := range r.Statuses {
			statuses[status] += n
		}
		for _, link := range r.Links {
			if !known[link] && len(known) < 500 {
				known[link] = true
				queue = append(queue, link)
			}
		}
	}
	t.Logf("%d links; answers by status: %v", len(known), statuses)
	require.Zero(t, statuses["500"])
	require.Greater(t, statuses["200"], 400)
	require.Empty(t, diary.read())

	// As pages: each kind of page thrice, and where its last link leads.
	shapes := map[string]int{}
	for _, link := range slices.Sorted(maps.Keys(known)) {
		shape, _, _ := strings.Cut(link, "?")
		if shapes[shape]++; shapes[shape] > 3 {
			continue
		}
		do(t, ctx, visit(link), shown("h1"))
		require.Empty(t, evaluate[[]string](t, ctx, "("+foreign+")(document, location.href)"), link)
		if evaluate[bool](t, ctx, last+" !== undefined") {
			leave(t, ctx, last+".click()")
			require.Empty(t, evaluate[[]string](t, ctx, "("+foreign+")(document, location.href)"), link)
		}
		require.Empty(t, diary.read(), link)
	}
	require.Equal(t, before, h.files(t))
}

// last is the last link of a page to another one.
const last = `[...document.querySelectorAll("main a[href*='?']:not(svg a)")].filter(a => a.href.split("#")[0] !== location.href.split("#")[0]).pop()`

// filled returns the addresses that the forms of pages lead to, with vectors in each field.
func filled(t *testing.T, ctx context.Context, addresses []string) (all []string) {
	t.Helper()
	list, err := json.Marshal(addresses)
	require.NoError(t, err)
	fields := evaluate[[]string](t, ctx, `(async (addresses) => {
	  const found = new Set();
	  for (const address of addresses) {
	    const doc = new DOMParser().parseFromString(await (await fetch(address)).text(), "text/html");
	    for (const form of doc.querySelectorAll("form:not([method=post])")) {
	      for (const e of form.elements) if (e.name) found.add(new URL(form.getAttribute("action"), address).href + "?" + e.name + "=");
	    }
	    for (const a of doc.querySelectorAll("a[href]")) {
	      const u = new URL(a.getAttribute("href"), address);
	      for (const name of u.searchParams.keys()) found.add(u.origin + u.pathname + "?" + name + "=");
	    }
	  }
	  return [...found];
	})(`+string(list)+")")
	require.GreaterOrEqual(t, len(fields), 4)
	for i, field := range fields {
		for j, v := range vectors {
			if (i+j)%4 != 0 { // four fields take all
				continue
			}
			filled := field + url.QueryEscape(v)
			if strings.Contains(field, "/ask?") && !strings.Contains(field, "?q=") {
				filled += "&q=harbour"
			}
			all = append(all, filled)
		}
	}
	return all
}
