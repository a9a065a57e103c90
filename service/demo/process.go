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
	"time"
)

// A demo has the processes of the demonstration, and what later steps need of earlier ones.
type demo struct {
	ctx              context.Context
	scratch          string
	memcore, service string // programs
	s3               string // URL
	nodes            []*process
	balancer         string // URL
	started          []*process

	keys   map[string]key // by what they are for
	before int64          // version of the memory before what is taken back
	last   int64          // version of the last write
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
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.scratch, "NO_COLOR=1", "AWS_ACCESS_KEY_ID=demo", "AWS_SECRET_ACCESS_KEY=demo-secret",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_ENDPOINT=" + d.s3, "MEMCORE_SERVICE_STORAGE=s3://" + bucket + "/" + prefix}, more...)
}

// Where the service is in the storage.
const (
	bucket = "memories"
	prefix = "demo"
)

func (d *demo) startMinIO() {
	address := freeAddress()
	d.s3 = "http://" + address
	data := filepath.Join(d.scratch, "minio")
	must(os.MkdirAll(filepath.Join(data, bucket), 0o700)) // MinIO keeps a bucket as a folder
	p := d.start("minio", d.s3, d.environment("MINIO_ROOT_USER=demo", "MINIO_ROOT_PASSWORD=demo-secret", "MINIO_BROWSER=off", "MINIO_UPDATE=off"),
		*minio, "server", "--quiet", "--address", address, data)
	d.await(p, "/minio/health/ready")
}

// objects returns what MinIO keeps below a folder of the service, on its disk.
func (d *demo) objects(folder string) (all []string) {
	root := filepath.Join(d.scratch, "minio", bucket, prefix, folder)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			all = append(all, path)
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
	d.nodes[i] = d.start(name, url, d.environment(), d.service, "--listen", strings.TrimPrefix(url, "http://"),
		"--dir", filepath.Join(d.scratch, name), "--freshness", freshness.String(), "--drain", drain.String(), "--rate", "1000")
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

// operate runs memcore-service as an operator does, who has the keys of the storage.
func (d *demo) operate(args ...string) string {
	fmt.Printf("$ memcore-service %s\n", strings.Join(args, " "))
	cmd := exec.CommandContext(d.ctx, d.service, args...)
	cmd.Env = d.environment()
	var notes bytes.Buffer
	cmd.Stderr = &notes
	out, err := cmd.Output()
	check(err == nil, "memcore-service %s: %v\n%s", strings.Join(args, " "), err, notes.String())
	return strings.TrimSpace(string(out))
}

// onLaptop runs memcore in a home of its own, without the keys of the storage, and prints what it
// says.
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
