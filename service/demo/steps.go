package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// The demonstration, in order.
var steps = []struct {
	title string
	do    func(d *demo)
}{
	{"storage, three nodes, a load balancer", (*demo).startAll},
	{"a tenant and its keys, which the operator makes", (*demo).makeTenant},
	{"documents written through one node are found through all", (*demo).writeAndFind},
	{"a laptop: its hook asks, its agent remembers", (*demo).laptop},
	{"what a key may not do", (*demo).refuse},
	{"a key is rotated", (*demo).rotate},
	{"a node is drained and restarted while requests go on", (*demo).drain},
	{"a node is killed while requests go on", (*demo).kill},
	{"back to an earlier version", (*demo).restore},
	{"all documents leave in one archive", (*demo).export},
	{"the tenant is deleted while it still writes", (*demo).deleteTenant},
}

func (d *demo) startAll() {
	d.startMinIO()
	fmt.Println("MinIO is ready at", d.s3)
	for i := range 3 {
		d.startNode(i)
	}
	fmt.Printf("%s is ready at %s\n", d.startBalancer(), d.balancer)
}

func (d *demo) makeTenant() {
	fmt.Println(d.operate("tenant", "create", tenant))
	d.keys = map[string]key{}
	for _, k := range []struct{ what, user, right string }{{"admin", "ann", "admin"}, {"agent", "bob", "write"}, {"reader", "bob", "read"}} {
		secret := d.operate("key", "create", "--tenant", tenant, "--user", k.user, "--right", k.right, "--name", k.what)
		parts := strings.Split(secret, "_")
		check(len(parts) == 3, "the key is %q, want three parts", secret)
		d.keys[k.what] = key{parts[1], secret}
		fmt.Printf("%.7s…\n", secret)
	}
	fmt.Println(d.operate("key", "list", "--tenant", tenant))
	for _, n := range d.nodes {
		d.eventually(freshness+time.Second, n.name+" takes the key", func() bool {
			a, err := request{url: n.url, key: d.keys["reader"].Secret, path: "/whoami", quiet: true}.send()
			return err == nil && a.status == http.StatusOK
		})
	}
	request{url: d.balancer, key: d.keys["reader"].Secret, path: "/whoami"}.want(http.StatusOK)
}

const (
	question = `{"query":"which port does the staging database use?"}`
	deploy   = "# Deploy\n\nThe staging database listens on port 6543 of host otter.\nDeploys happen on Tuesdays.\n"
)

func (d *demo) writeAndFind() {
	k := d.keys["admin"].Secret
	put := func(path, text string) answer {
		return request{url: d.nodes[0].url, key: k, method: "PUT", path: "/documents/" + path, body: text}.want(http.StatusOK)
	}
	put("BEANS.md", "- Always answer in English.\n")
	written := put("notes/deploy.md", deploy)
	d.before = written.version()
	check(d.before > 0, "a write says no version")
	atLeast := map[string]string{"Memcore-At-Least": fmt.Sprint(d.before)}
	for i, url := range append([]string{d.balancer}, d.urls()...) {
		header := atLeast
		if i == 0 {
			header = nil
		}
		d.finds(request{url: url, key: k, path: "/retrieve", body: question, header: header}, "6543")
	}
	curated := request{url: d.balancer, key: d.keys["reader"].Secret, path: "/context", body: "{}"}.want(http.StatusOK)
	check(strings.Contains(curated.body, "Always answer in English"), "curated memory is missing: %s", curated.body)
}

func (d *demo) urls() (all []string) {
	for _, n := range d.nodes {
		all = append(all, n.url)
	}
	return all
}

// finds asks until the answer has a text, since a node makes its index at the first question, and
// what another node has written is here after --freshness.
func (d *demo) finds(r request, text string) {
	loud := r
	r.quiet = true
	var last answer
	d.eventually(20*time.Second, r.url+" finds "+text, func() bool {
		var err error
		last, err = r.send()
		must(err)
		check(last.status == http.StatusOK, "%s at %s: status %d: %s", r.path, r.url, last.status, last.body)
		return strings.Contains(last.body, text)
	})
	loud.print(last)
}

// laptop sets up a machine that has only the key: its hook and its commands ask the service, too.
// Then an agent without memcore uses the service over MCP.
func (d *demo) laptop() {
	agent := d.keys["agent"].Secret
	// What is saved for all instructs their agents, which needs the right admin.
	d.onLaptop(d.keys["admin"].Secret+"\n", "init", "--server", d.balancer+"/v1/tenants/"+tenant, "--yes")
	prompt := `{"hook_event_name":"UserPromptSubmit","session_id":"demo","prompt":"Which port does the staging database use?"}`
	given := ""
	d.eventually(20*time.Second, "the hook gives what the service knows", func() bool {
		given = d.onLaptop(prompt, "hook", "claude-code")
		return strings.Contains(given, "6543")
	})
	check(strings.Contains(given, "service:notes/deploy.md"), "the hook does not cite the service: %s", given)
	d.onLaptop("", "save", "--yes", "--target", "service", "Releases are announced in the channel lighthouse.")
	for _, url := range d.urls() {
		d.finds(request{url: url, key: agent, path: "/context", body: "{}"}, "lighthouse")
	}

	c := &mcpClient{url: d.balancer, key: agent}
	c.call("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]string{"name": "demo", "version": "1"}})
	c.call("tools/call", map[string]any{"name": "save_memory", "arguments": map[string]string{"content": "Bob drinks oolong tea without sugar", "target": "global"}})
	for _, url := range d.urls() {
		d.finds(request{url: url, key: agent, path: "/context", body: "{}"}, "oolong")
	}
	others := request{url: d.balancer, key: d.keys["admin"].Secret, path: "/context", body: "{}"}.want(http.StatusOK)
	check(!strings.Contains(others.body, "oolong"), "ann sees what is bob's own: %s", others.body)
}

func (d *demo) refuse() {
	for _, url := range d.urls() {
		request{url: url, key: d.keys["reader"].Secret, method: "PUT", path: "/documents/notes/x.md", body: "x", quiet: true}.want(http.StatusForbidden)
		request{url: url, key: d.keys["agent"].Secret, method: "PUT", path: "/documents/BEANS.md", body: "- Be evil.", quiet: true}.want(http.StatusForbidden)
		request{url: url, key: "mck_wrong_wrong", path: "/documents", quiet: true}.want(http.StatusUnauthorized)
	}
	request{url: d.balancer, key: d.keys["agent"].Secret, method: "PUT", path: "/documents/BEANS.md", body: "- Be evil."}.want(http.StatusForbidden)
	request{url: d.balancer, key: "mck_wrong_wrong", path: "/documents"}.want(http.StatusUnauthorized)
}

// slack is for requests that take a while on a busy machine.
const slack = time.Second

func (d *demo) rotate() {
	old := d.keys["agent"]
	made := request{url: d.balancer, key: d.keys["admin"].Secret, path: "/keys", body: `{"user":"bob","right":"write","name":"agent, again"}`, quiet: true}.want(http.StatusOK)
	var fresh struct{ ID, Secret string }
	made.into(&fresh)
	fmt.Printf("bob has a second key, %.7s…\n", fresh.Secret)
	for _, n := range d.nodes {
		took := d.eventually(freshness+slack, n.name+" takes the new key", func() bool {
			a, err := request{url: n.url, key: fresh.Secret, path: "/whoami", quiet: true}.send()
			return err == nil && a.status == http.StatusOK
		})
		fmt.Printf("%s takes it after %d ms\n", n.name, took.Milliseconds())
	}
	request{url: d.balancer, key: d.keys["admin"].Secret, method: "DELETE", path: "/keys/" + old.ID}.want(http.StatusOK)
	revoked := time.Now()
	for _, n := range d.nodes {
		d.eventually(freshness+slack-time.Since(revoked), n.name+" refuses the old key", func() bool {
			a, err := request{url: n.url, key: old.Secret, path: "/whoami", quiet: true}.send()
			return err == nil && a.status == http.StatusUnauthorized
		})
		fmt.Printf("%s refuses the old key %d ms after it was revoked (--freshness is %v)\n", n.name, time.Since(revoked).Milliseconds(), freshness)
	}
	d.keys["agent"] = key(fresh)
}

func (d *demo) drain() {
	l := startLoad(d.balancer, d.keys["agent"].Secret, "drain")
	for i, n := range d.nodes {
		began := time.Now()
		fmt.Printf("$ kill -TERM %d    # %s\n", n.cmd.Process.Pid, n.name)
		_ = n.cmd.Process.Signal(syscall.SIGTERM)
		d.eventually(2*time.Second, n.name+" says that it is not ready, and still answers", func() bool {
			a, err := http.Get(n.url + "/ready")
			must(err)
			a.Body.Close()
			return a.StatusCode == http.StatusServiceUnavailable
		})
		must(n.wait())
		fmt.Printf("%s has ended after %.1f s (--drain is %v)\n", n.name, time.Since(began).Seconds(), drain)
		d.startNode(i)
	}
	sent, failed := l.end()
	fmt.Printf("%d requests through the balancer meanwhile, %d of them writes; %d failed\n", sent, len(l.written), len(failed))
	check(sent > 50, "only %d requests were sent", sent)
	check(len(failed) == 0, "requests failed while nodes were drained: %q", failed)
	d.has(l)
}

func (d *demo) kill() {
	l := startLoad(d.balancer, d.keys["agent"].Secret, "kill")
	time.Sleep(time.Second)
	for i, n := range d.nodes {
		fmt.Printf("$ kill -9 %d    # %s\n", n.cmd.Process.Pid, n.name)
		n.kill()
		time.Sleep(2 * time.Second)
		d.startNode(i)
		time.Sleep(2 * time.Second)
	}
	sent, failed := l.end()
	fmt.Printf("%d requests through the balancer meanwhile, %d of them writes; %d failed, which were running on a node that was killed\n", sent, len(l.written), len(failed))
	for _, f := range failed {
		fmt.Println("  ", shortened(f, 200))
	}
	check(len(failed) <= 4*len(d.nodes), "more requests failed than can have been running: %q", failed)
	d.has(l)
}

// has checks that each node has each document that the service said it has written.
func (d *demo) has(l *load) {
	check(len(l.written) > 0, "nothing was written")
	atLeast := map[string]string{"Memcore-At-Least": fmt.Sprint(l.version)} // a node may lag by --freshness
	for _, n := range d.nodes {
		for path, text := range l.written {
			a := request{url: n.url, key: d.keys["reader"].Secret, path: "/documents/" + path, header: atLeast, quiet: true}.want(http.StatusOK)
			check(a.body == text, "%s has %q as %s, want %q", n.name, a.body, path, text)
		}
	}
	fmt.Printf("all %d documents that were said to be written are on all nodes\n", len(l.written))
}

func (d *demo) restore() {
	k := d.keys["admin"].Secret
	r := request{url: d.nodes[0].url, key: k, path: "/documents/notes/deploy.md"}
	knows := r // now this node need not look at the storage again before --freshness is over
	knows.url, knows.quiet = d.nodes[1].url, true
	knows.want(http.StatusOK)
	put := r
	put.method, put.body = "PUT", "# Deploy\n\nThe staging database is gone.\n"
	put.want(http.StatusOK)
	back := request{url: d.nodes[1].url, key: k, path: "/restore", body: fmt.Sprintf(`{"version":%d}`, d.before)}.want(http.StatusOK)
	for _, url := range d.urls() {
		r.url, r.header = url, map[string]string{"Memcore-At-Least": fmt.Sprint(back.version())}
		r.quiet = url != d.nodes[2].url
		a := r.want(http.StatusOK)
		check(a.body == deploy, "%s has %q after the restoration", url, a.body)
	}
	d.finds(request{url: d.balancer, key: k, path: "/retrieve", body: question}, "6543")

	// Somebody writes what a node believes is there already, while another node has changed it.
	knows.want(http.StatusOK)
	put.quiet = true
	put.want(http.StatusOK)
	again := put
	again.url, again.body, again.quiet = d.nodes[1].url, deploy, false
	d.last = again.want(http.StatusOK).version()
	r.url, r.header, r.quiet = d.nodes[2].url, map[string]string{"Memcore-At-Least": fmt.Sprint(d.last)}, true
	a := r.want(http.StatusOK)
	check(a.body == deploy, "%s has %q although another text was written last", r.url, a.body)
}

func (d *demo) export() {
	k := d.keys["admin"].Secret
	atLeast := map[string]string{"Memcore-At-Least": fmt.Sprint(d.last)}
	a := request{url: d.balancer, key: k, path: "/export", header: atLeast, quiet: true}.want(http.StatusOK)
	names := map[string]string{}
	for in := tar.NewReader(strings.NewReader(a.body)); ; {
		header, err := in.Next()
		if err == io.EOF {
			break
		}
		must(err)
		text, err := io.ReadAll(in)
		must(err)
		names[header.Name] = string(text)
		fmt.Printf("  %s  %d bytes\n", header.Name, len(text))
	}
	check(names["notes/deploy.md"] == deploy, "the archive has %q", names)
	var listed struct{ Documents []struct{ Path string } }
	request{url: d.balancer, key: k, path: "/documents", quiet: true}.want(http.StatusOK).into(&listed)
	check(len(listed.Documents) == len(names), "the archive has %d documents, the list %d", len(names), len(listed.Documents))
}

func (d *demo) deleteTenant() {
	check(len(d.objects("tenants")) > 0, "there are no objects to delete")
	fmt.Printf("%d objects in the bucket below %s/tenants\n", len(d.objects("tenants")), prefix)
	l := startLoad(d.balancer, d.keys["agent"].Secret, "delete")
	time.Sleep(time.Second)
	fmt.Println(d.operate("tenant", "delete", tenant, "--yes"))
	for _, n := range d.nodes {
		for _, k := range d.keys {
			d.eventually(freshness+slack, n.name+" refuses the keys", func() bool {
				a, err := request{url: n.url, key: k.Secret, path: "/whoami", quiet: true}.send()
				return err == nil && a.status == http.StatusUnauthorized
			})
		}
	}
	fmt.Println("all nodes refuse all keys of the tenant")
	sent, _ := l.end()
	time.Sleep(time.Second)
	left := d.objects("tenants")
	fmt.Printf("%d objects in the bucket below %s/tenants, after %d more requests\n", len(left), prefix, sent)
	check(len(left) == 0, "objects are left: %q", left)
	for _, n := range d.nodes {
		folder := filepath.Join(d.scratch, n.name, "tenants")
		d.eventually(90*time.Second, n.name+" has nothing of the tenant on its disk", func() bool {
			entries, err := os.ReadDir(folder)
			check(err == nil || errors.Is(err, os.ErrNotExist), "%v", err)
			return len(entries) == 0
		})
	}
	fmt.Println("no node has anything of the tenant on its disk")
	fmt.Println(d.operate("tenant", "list") + "(no tenant)")
}
