package main

import (
	"archive/tar"
	"encoding/json"
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
	{"a database, three nodes, a load balancer", (*demo).startAll},
	{"a tenant and its keys, which the operator makes", (*demo).makeTenant},
	{"documents written through one node are found through all", (*demo).writeAndFind},
	{"a laptop: its hook asks, its agent remembers", (*demo).laptop},
	{"a key is rotated", (*demo).rotate},
	{"a node is drained and restarted while requests go on", (*demo).drain},
	{"a node is killed while requests go on", (*demo).kill},
	{"the database is restarted, and crashes, while requests go on", (*demo).restartDatabase},
	{"the database is lost, and restored from a backup on another server", (*demo).backup},
	{"a user is forgotten", (*demo).forgetUser},
	{"the tenant is deleted while it still writes", (*demo).deleteTenant},
}

func (d *demo) startAll() {
	d.startDatabase()
	d.migrate()
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
	for _, url := range d.urls() { // at once
		request{url: url, key: d.keys["reader"].Secret, path: "/whoami", quiet: true}.want(http.StatusOK)
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
	check(written.version() > 0, "a write says no version")
	for _, url := range append([]string{d.balancer}, d.urls()...) {
		d.finds(request{url: url, key: k, path: "/retrieve", body: question}, "6543")
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

// finds asks. What has been written is found at once, on all nodes.
func (d *demo) finds(r request, text string) {
	a := r.want(http.StatusOK)
	check(strings.Contains(a.body, text), "%s at %s does not find %q: %s", r.path, r.url, text, a.body)
}

// laptop sets up a machine that has only the key: its hook and its commands ask the service, too.
// Then a program uses the service over HTTP.
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

	tea := map[string]string{"content": "Bob drinks oolong tea without sugar", "target": "global"}
	arguments, err := json.Marshal(map[string]any{"arguments": tea})
	must(err)
	request{url: d.balancer, key: agent, path: "/save", body: string(arguments)}.want(http.StatusOK) // of a program, which has asked
	for _, url := range d.urls() {
		d.finds(request{url: url, key: agent, path: "/context", body: "{}"}, "oolong")
	}
	others := request{url: d.balancer, key: d.keys["admin"].Secret, path: "/context", body: "{}"}.want(http.StatusOK)
	check(!strings.Contains(others.body, "oolong"), "ann sees what is bob's own: %s", others.body)
}

func (d *demo) rotate() {
	old := d.keys["agent"]
	made := request{url: d.balancer, key: d.keys["admin"].Secret, path: "/keys", body: `{"user":"bob","right":"write","name":"agent, again"}`, quiet: true}.want(http.StatusOK)
	var fresh struct{ ID, Secret string }
	made.into(&fresh)
	for _, url := range d.urls() {
		request{url: url, key: fresh.Secret, path: "/whoami", quiet: true}.want(http.StatusOK)
	}
	fmt.Printf("bob has a second key, %.7s…, which all nodes take at once\n", fresh.Secret)
	request{url: d.balancer, key: d.keys["admin"].Secret, method: "DELETE", path: "/keys/" + old.ID}.want(http.StatusOK)
	d.refused(old)
	fmt.Println("all nodes refuse the old key at once")
	d.keys["agent"] = key(fresh)
}

// refused checks that no node takes a key.
func (d *demo) refused(k key) {
	for _, url := range d.urls() {
		request{url: url, key: k.Secret, path: "/whoami", quiet: true}.want(http.StatusUnauthorized)
	}
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
	for _, n := range d.nodes {
		for path, text := range l.written {
			a := request{url: n.url, key: d.keys["reader"].Secret, path: "/documents/" + path, quiet: true}.want(http.StatusOK)
			check(a.body == text, "%s has %q as %s, want %q", n.name, a.body, path, text)
		}
	}
	fmt.Printf("all %d documents that were said to be written are on all nodes\n", len(l.written))
}

func (d *demo) restartDatabase() {
	l := startLoad(d.balancer, d.keys["agent"].Secret, "restart")
	time.Sleep(time.Second)
	for _, mode := range []string{"fast", "immediate"} { // which is a crash: the next start recovers from the log
		d.control("stop", "-m", mode)
		time.Sleep(2 * time.Second)
		request{url: d.nodes[0].url, key: d.keys["reader"].Secret, path: "/documents"}.want(http.StatusServiceUnavailable)
		d.control("start")
		began := time.Now()
		for _, n := range d.nodes {
			d.await(n, "/ready")
		}
		fmt.Printf("all nodes are ready %.1f s after it answers again; none was restarted\n", time.Since(began).Seconds())
		time.Sleep(time.Second)
	}
	sent, failed := l.end()
	fmt.Printf("%d requests through the balancer meanwhile, %d of them writes; %d failed\n", sent, len(l.written), len(failed))
	for _, f := range failed {
		check(strings.Contains(f, ": status 503") || strings.Contains(f, ": status 502"), "a request failed otherwise than by 503, or by the balancer's 502: %s", f)
	}
	check(len(failed) > 0, "no request failed while the database was away")
	d.has(l)
}

// unpacked returns the documents of an archive by their paths, and lists them.
func unpacked(archive string) map[string]string {
	names := map[string]string{}
	for in := tar.NewReader(strings.NewReader(archive)); ; {
		header, err := in.Next()
		if err == io.EOF {
			return names
		}
		must(err)
		text, err := io.ReadAll(in)
		must(err)
		names[header.Name] = string(text)
		fmt.Printf("  %s  %d bytes\n", header.Name, len(text))
	}
}

func (d *demo) backup() {
	k := d.keys["admin"].Secret
	dump := filepath.Join(d.scratch, "memories.dump")
	d.run("pg_dump", d.url(owner), "--format=custom", "--file="+dump)
	info, err := os.Stat(dump)
	must(err)
	fmt.Printf("the backup has %d bytes\n", info.Size())
	after := request{url: d.balancer, key: k, method: "PUT", path: "/documents/notes/after.md", body: "# After\n\nWritten after the backup.\n"}
	after.want(http.StatusOK)
	d.removeDatabase()
	fmt.Println("the server is gone, with its disk")

	d.startDatabase() // its numbers of transactions begin anew
	d.psql(superuser, database, "create role memcore_node nologin")
	d.run("pg_restore", "--exit-on-error", "--dbname="+d.url(superuser), dump)
	d.migrate()
	for i, n := range d.nodes {
		n.kill() // this database has another address
		d.startNode(i)
	}
	for _, url := range d.urls() {
		d.finds(request{url: url, key: k, path: "/retrieve", body: question}, "6543")
		request{url: url, key: k, path: "/documents/notes/after.md", quiet: true}.want(http.StatusNotFound)
	}
	after.want(http.StatusOK)
	d.finds(request{url: d.balancer, key: d.keys["agent"].Secret, path: "/search", body: `{"query":"what was written after the backup"}`}, "notes/after.md")
	d.finds(request{url: d.balancer, key: d.keys["agent"].Secret, path: "/context", body: "{}"}, "oolong")
}

// gone checks that the server has texts no more, anywhere on its disk, once what was deleted is
// cleared away. VACUUM without FULL lets the bytes of a deleted row stay in its page until others
// need the space, and the log has what was written.
func (d *demo) gone(texts ...string) {
	d.psql(superuser, database, "analyze", "vacuum full", "checkpoint", "select pg_switch_wal()", "checkpoint", "select pg_switch_wal()", "checkpoint")
	for _, text := range texts {
		files := d.inDatabase(text)
		fmt.Printf("$ grep -rl '%s' %s    # %d files\n", text, d.data(), len(files))
		check(len(files) == 0, "%q is still in %q", text, files)
	}
}

func (d *demo) forgetUser() {
	const bicycle = "The bicycle of bob is chained to the quokka fence"
	agent := d.keys["agent"].Secret
	mine := request{url: d.balancer, key: agent, method: "PUT", path: "/documents/~/.beans/memories/bicycle.md", body: "# Bicycle\n\n" + bicycle + ".\n"}
	mine.want(http.StatusOK)
	mine.body = "# Bicycle\n\n" + bicycle + ", since Tuesday.\n" // the former text is in the history
	mine.want(http.StatusOK)
	d.psql(superuser, database, "analyze", "checkpoint")
	for _, text := range []string{bicycle, "oolong"} {
		check(len(d.inDatabase(text)) > 0, "%q is nowhere on the disk of the server: this step looks at nothing", text)
	}
	theirs := unpacked(d.operate("user", "export", "bob", "--tenant", tenant))
	check(len(theirs) >= 2, "bob has %d documents, want those that were written", len(theirs))
	fmt.Println(d.operate("user", "delete", "bob", "--tenant", tenant, "--yes"))
	d.refused(d.keys["agent"])
	d.refused(d.keys["reader"])
	d.gone(bicycle, "oolong")
	d.finds(request{url: d.balancer, key: d.keys["admin"].Secret, path: "/retrieve", body: question}, "6543") // what all share stays
}

func (d *demo) deleteTenant() {
	const rows = "select (select count(*) from memcore.document) + (select count(*) from memcore.revision) + (select count(*) from memcore.record)"
	before := d.psql(superuser, database, rows)
	check(before != "0", "there is nothing to delete")
	l := startLoad(d.balancer, d.keys["admin"].Secret, "delete")
	time.Sleep(time.Second)
	fmt.Println(d.operate("tenant", "delete", tenant, "--yes"))
	d.refused(d.keys["admin"])
	sent, _ := l.end()
	left := d.psql(superuser, database, rows)
	fmt.Printf("%s rows of documents were there, %s are left after %d more requests\n", before, left, sent)
	check(left == "0", "%s rows are left", left)
	d.gone("port 6543 of host otter", "of a client that keeps writing")
	fmt.Println(d.operate("tenant", "list") + "(no tenant)")
}
