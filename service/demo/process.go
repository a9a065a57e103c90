package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A demo has the processes of the demonstration, and what later steps need of earlier ones.
type demo struct {
	ctx              context.Context
	scratch          string
	memcore, service string              // programs
	database         string              // folder of the server
	as               *syscall.Credential // who runs the server, which refuses root; nil for who runs this
	nodes            []*process
	balancer         string // URL
	started          []*process

	keys map[string]key // by what they are for
}

type key struct{ ID, Secret string }

// A process has a log in the temporary folder, and may serve at a URL.
type process struct {
	name, url string
	cmd       *exec.Cmd
	ended     chan struct{}
	err       error // once it has ended
}

// start starts a program.
func (d *demo) start(name, url string, environment []string, path string, args ...string) *process {
	log, err := os.OpenFile(filepath.Join(d.scratch, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(err)
	p := &process{name: name, url: url, cmd: exec.Command(path, args...), ended: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = environment, log, log
	must(p.cmd.Start())
	go func() {
		p.err = p.cmd.Wait()
		log.Close()
		close(p.ended)
	}()
	d.started = append(d.started, p)
	return p
}

// kill ends it, unless it has ended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// wait waits until it ends by itself.
func (p *process) wait() error {
	select {
	case <-p.ended:
		return p.err
	case <-time.After(30 * time.Second):
		return fmt.Errorf("%s does not end", p.name)
	}
}

func (d *demo) endAll() {
	for _, p := range d.started {
		p.kill()
	}
	d.removeDatabase()
}

// showLogs writes the last lines of all logs.
func (d *demo) showLogs(w io.Writer) {
	logs, _ := filepath.Glob(filepath.Join(d.scratch, "*.log"))
	for _, path := range logs {
		data, _ := os.ReadFile(path)
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		fmt.Fprintf(w, "-- %s\n%s\n", filepath.Base(path), strings.Join(lines[max(len(lines)-8, 0):], "\n"))
	}
}

// environment is that of programs: nothing of the user's.
func (d *demo) environment(more ...string) []string {
	return append([]string{"PATH=" + *postgres + ":" + os.Getenv("PATH"), "HOME=" + d.scratch, "TMPDIR=" + d.scratch, "NO_COLOR=1"}, more...)
}

// operatorKey is for those who manage tenants. The operator of a real service makes one at random.
const operatorKey = "demonstration-of-an-operators-key-0123456789"

// Roles of the database: the superuser of the server, who owns the tables, and the nodes.
const (
	superuser = "owner"
	owner     = "memcore"
	nodeRole  = "memcore_login"
	database  = "memories"
)

// startDatabase starts an empty server, as the operator of a database would.
func (d *demo) startDatabase() {
	var err error
	d.database, err = os.MkdirTemp("", "mcpg") // short, for the path of its socket
	must(err)
	if d.as != nil {
		must(os.Chown(d.database, int(d.as.Uid), int(d.as.Gid)))
	}
	d.run("initdb", "--no-sync", "--encoding=UTF8", "--locale=C", "--username="+superuser, "--auth=trust", "-D", d.data())
	d.control("start")
	d.psql(superuser, "postgres", "create role "+owner+" login createrole", "create role "+nodeRole+" login", "create database "+database+" owner "+owner)
	d.psql(superuser, database, "create extension vector")
	fmt.Println("PostgreSQL is ready at", d.url(owner))
}

// data is the folder with the tables and logs of the server.
func (d *demo) data() string { return filepath.Join(d.database, "data") }

// control starts or stops the server. It has to give up what was deleted: old pieces of its log are
// removed, not used again.
func (d *demo) control(action string, more ...string) {
	d.run("pg_ctl", append([]string{action, "-w", "-s", "-D", d.data(), "-l", filepath.Join(d.database, "log"),
		"-o", "-k " + d.database + " -c listen_addresses= -c wal_recycle=off -c min_wal_size=32MB"}, more...)...)
}

// removeDatabase loses the server with its disk.
func (d *demo) removeDatabase() {
	if d.database == "" {
		return
	}
	stop := exec.Command(filepath.Join(*postgres, "pg_ctl"), "stop", "-m", "immediate", "-w", "-s", "-D", d.data())
	stop.SysProcAttr = &syscall.SysProcAttr{Credential: d.as}
	_ = stop.Run() // it may have ended
	must(os.RemoveAll(d.database))
}

// url is the address of the database for a role.
func (d *demo) url(role string) string { return d.urlOf(role, database) }

func (d *demo) urlOf(role, name string) string {
	return fmt.Sprintf("postgres://%s@/%s?host=%s", role, name, d.database)
}

// migrate makes the tables, and lets the nodes use them.
func (d *demo) migrate() {
	fmt.Println(d.operate("migrate", "--database", d.url(owner)))
	d.psql(superuser, database, "grant memcore_node to "+nodeRole)
}

// psql runs statements and returns what the last one answers.
func (d *demo) psql(role, name string, statements ...string) (out string) {
	for _, statement := range statements {
		out = d.run("psql", d.urlOf(role, name), "-qAtX", "-v", "ON_ERROR_STOP=1", "-c", statement)
	}
	return out
}

// run runs a program of PostgreSQL, and prints the command.
func (d *demo) run(program string, args ...string) string {
	fmt.Printf("$ %s %s\n", program, shortened(strings.Join(args, " "), 300))
	cmd := exec.CommandContext(d.ctx, filepath.Join(*postgres, program), args...)
	cmd.Env, cmd.Dir = d.environment(), d.database
	if program == "initdb" || program == "pg_ctl" {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: d.as}
	}
	var notes bytes.Buffer
	cmd.Stderr = &notes
	out, err := cmd.Output()
	check(err == nil, "%s: %v\n%s", program, err, notes.String())
	return strings.TrimSpace(string(out))
}

// inDatabase returns the files of the server that have a text, in any of its tables, indexes and
// logs.
func (d *demo) inDatabase(text string) (all []string) {
	err := filepath.WalkDir(d.data(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && bytes.Contains(data, []byte(text)) {
			all = append(all, strings.TrimPrefix(path, d.data()+"/"))
		}
		return err
	})
	check(err == nil || errors.Is(err, fs.ErrNotExist), "%v", err)
	return all
}

// startNode starts or restarts a node.
func (d *demo) startNode(i int) {
	name := fmt.Sprintf("node-%d", i+1)
	if i == len(d.nodes) {
		d.nodes = append(d.nodes, &process{url: "http://" + freeAddress()})
	}
	url := d.nodes[i].url
	d.nodes[i] = d.start(name, url, d.environment("MEMCORE_SERVICE_DATABASE="+d.url(nodeRole), "MEMCORE_SERVICE_OPERATOR_KEY="+operatorKey), d.service,
		"--listen", strings.TrimPrefix(url, "http://"), "--drain", drain.String(), "--rate", "1000")
	d.await(d.nodes[i], "/ready")
	fmt.Printf("%s is ready at %s\n", name, url)
}

// await waits until a URL of a process answers with 200.
func (d *demo) await(p *process, path string) {
	d.eventually(30*time.Second, p.name+" is ready", func() bool {
		select {
		case <-p.ended:
			check(false, "%s ended: %v", p.name, p.err)
		default:
		}
		answer, err := http.Get(p.url + path)
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}

// eventually returns how long it takes until something is so.
func (d *demo) eventually(most time.Duration, what string, so func() bool) time.Duration {
	began := time.Now()
	for !so() {
		check(time.Since(began) < most, "not after %v: %s", most, what)
		select {
		case <-time.After(20 * time.Millisecond):
		case <-d.ctx.Done():
			must(d.ctx.Err())
		}
	}
	return time.Since(began)
}

func freeAddress() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	defer listener.Close()
	return listener.Addr().String()
}

// operate runs memcore-service as an operator does, who has the operator's key.
func (d *demo) operate(args ...string) string {
	fmt.Printf("$ memcore-service %s\n", strings.Join(args, " "))
	cmd := exec.CommandContext(d.ctx, d.service, args...)
	cmd.Env = d.environment("MEMCORE_SERVICE_URL="+d.balancer, "MEMCORE_SERVICE_OPERATOR_KEY="+operatorKey)
	var notes bytes.Buffer
	cmd.Stderr = &notes
	out, err := cmd.Output()
	check(err == nil, "memcore-service %s: %v\n%s", strings.Join(args, " "), err, notes.String())
	return strings.TrimSpace(string(out))
}

// onLaptop runs memcore in a home of its own, and prints what it says.
func (d *demo) onLaptop(input string, args ...string) string {
	home := filepath.Join(d.scratch, "laptop")
	project := filepath.Join(home, "project")
	must(os.MkdirAll(project, 0o700))
	cmd := exec.CommandContext(d.ctx, d.memcore, args...)
	cmd.Dir, cmd.Stdin = project, strings.NewReader(input)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "NO_COLOR=1", "MEMCORE_HOOK_BUDGET=10s"}
	var notes bytes.Buffer
	cmd.Stderr = &notes
	out, err := cmd.Output()
	check(err == nil, "memcore %s: %v\n%s", strings.Join(args, " "), err, notes.String())
	fmt.Printf("laptop$ memcore %s\n  %s\n", strings.Join(args, " "), shortened(notes.String()+string(out), 600))
	return string(out)
}
