package main

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// startBalancer starts what is before the nodes: a real load balancer as the files of deploy
// configure it, or the one below. It returns which.
func (d *demo) startBalancer() string {
	kind := *balancer
	if kind == "auto" {
		kind = "go"
		for _, program := range []string{"nginx", "haproxy"} {
			if _, err := exec.LookPath(program); err == nil {
				kind = program
			}
		}
	}
	address := freeAddress()
	d.balancer = "http://" + address
	switch kind {
	case "haproxy":
		config := d.configure("haproxy.cfg", "bind :8080", "bind "+address)
		d.await(d.start(kind, d.balancer, d.environment(), kind, "-db", "-f", config), "/ready")
	case "nginx":
		temporary := "http {\n access_log off;\n"
		for _, what := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
			temporary += fmt.Sprintf(" %s_temp_path %s;\n", what, filepath.Join(d.scratch, what))
		}
		config := d.configure("nginx.conf", "listen 8080", "listen "+address, "http {\n", temporary)
		global := "daemon off; master_process off; pid " + filepath.Join(d.scratch, "nginx.pid") + ";"
		d.await(d.start(kind, d.balancer, d.environment(), kind, "-c", config, "-e", "stderr", "-g", global), "/ready")
	case "go":
		d.serveBalancer(address)
	default:
		check(false, "-balancer is %q, want haproxy, nginx, go or auto", kind)
	}
	return kind
}

// configure copies a configuration with this machine's addresses, and with a third node.
func (d *demo) configure(name string, replace ...string) string {
	data, err := os.ReadFile(filepath.Join(*configs, name))
	must(err)
	for i, n := range d.nodes {
		replace = append(replace, fmt.Sprintf("node-%d:7475", i+1), strings.TrimPrefix(n.url, "http://"))
	}
	var text strings.Builder
	for line := range strings.Lines(string(data)) {
		text.WriteString(line)
		if strings.Contains(line, "node-2:7475") {
			text.WriteString(strings.ReplaceAll(line, "node-2", "node-3"))
		}
	}
	path := filepath.Join(d.scratch, name)
	must(os.WriteFile(path, []byte(strings.NewReplacer(replace...).Replace(text.String())), 0o600))
	return path
}

// A small balancer sends each tenant to the ready node that comes first for it.
type small struct {
	nodes []*url.URL
	ready []atomic.Bool
}

func (d *demo) serveBalancer(address string) {
	s := &small{ready: make([]atomic.Bool, len(d.nodes))}
	for _, n := range d.nodes {
		u, err := url.Parse(n.url)
		must(err)
		s.nodes = append(s.nodes, u)
	}
	s.look()
	go func() {
		for d.ctx.Err() == nil {
			time.Sleep(200 * time.Millisecond)
			s.look()
		}
	}()
	listener, err := net.Listen("tcp", address)
	must(err)
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Transport: s, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(s.nodes[0]) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}}
	go func() { _ = http.Serve(listener, proxy) }() // until the process ends
}

// look asks the nodes whether they are ready.
func (s *small) look() {
	client := http.Client{Timeout: 2 * time.Second}
	for i, node := range s.nodes {
		answer, err := client.Get(node.String() + "/ready")
		if err == nil {
			answer.Body.Close()
		}
		s.ready[i].Store(err == nil && answer.StatusCode == http.StatusOK)
	}
}

// direct has a connection for each request, since one that a node closes could be taken for
// another.
var direct = &http.Transport{DisableKeepAlives: true}

// RoundTrip implements http.RoundTripper. A request that has not reached a node goes to the next
// one.
func (s *small) RoundTrip(r *http.Request) (*http.Response, error) {
	tenant := strings.Split(r.URL.Path+"///", "/")[3]
	weight := func(i int) uint64 {
		h := fnv.New64a()
		fmt.Fprint(h, i, tenant)
		return h.Sum64()
	}
	var order []int
	for i := range s.nodes {
		if s.ready[i].Load() {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(weight(a), weight(b)) })
	err := errors.New("no node is ready")
	for _, i := range order {
		to := r.Clone(r.Context())
		to.URL.Host = s.nodes[i].Host
		var answer *http.Response
		if answer, err = direct.RoundTrip(to); err == nil {
			return answer, nil
		}
		var dialled *net.OpError
		if !errors.As(err, &dialled) || dialled.Op != "dial" {
			break
		}
		s.ready[i].Store(false)
	}
	return nil, err
}
