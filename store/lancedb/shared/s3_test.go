//go:build lancedb

package shared

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
	"github.com/memcore/memcore/store/lancedb/internal/table"
	"github.com/memcore/memcore/store/lancedb/storage"
)

// The tests in this file run against MinIO, a real S3-compatible server. Each client is a process
// of its own: this test binary, with its job in variables (TestMain). So it has its own
// environment, as on another machine, and can be killed.
const (
	minioVariable = "MEMCORE_TEST_MINIO" // path of the server's executable
	jobVariable   = "SHARED_TEST_JOB"    // job of this process, and arguments
	uriVariable   = "SHARED_TEST_URI"
)

func TestMain(m *testing.M) {
	job := strings.Fields(os.Getenv(jobVariable))
	if len(job) == 0 {
		os.Exit(m.Run())
	}
	ctx, stop := context.WithTimeout(context.Background(), 50*time.Second)
	defer stop()
	if err := jobs[job[0]](ctx, os.Getenv(uriVariable), job[1:]); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

var jobs = map[string]func(ctx context.Context, uri string, args []string) error{
	"publish": publishJob,
	"forever": foreverJob,
	"mend":    mendJob,
	"pull":    pullJob,
	"once":    onceJob,
	"ask":     askJob,
}

// A server is a running MinIO.
type server struct {
	address, data, user, password string
	process                       *exec.Cmd
}

const bucket = "memories"

func startServer(t *testing.T) *server {
	t.Helper()
	program := os.Getenv(minioVariable)
	if program == "" {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not set: no S3 server to test against (.ci/real-minio.sh makes one)", minioVariable)
		}
		t.Skipf("%s is not set: memories on object storage are NOT tested (.ci/real-minio.sh makes a server)", minioVariable)
	}
	s := &server{address: freeAddress(t), data: t.TempDir(), user: randomText(), password: randomText()}
	require.NoError(t, os.Mkdir(filepath.Join(s.data, bucket), 0o755)) // MinIO keeps a bucket as a folder
	s.start(t, program)
	return s
}

func (s *server) start(t *testing.T, program string) {
	t.Helper()
	s.process = exec.Command(program, "server", "--quiet", "--address", s.address, s.data)
	s.process.Env = append(os.Environ(), "MINIO_ROOT_USER="+s.user, "MINIO_ROOT_PASSWORD="+s.password,
		"MINIO_BROWSER=off", "MINIO_UPDATE=off", "HOME="+s.data)
	require.NoError(t, s.process.Start())
	t.Cleanup(s.stop)
	require.Eventually(t, func() bool {
		answer, err := http.Get("http://" + s.address + "/minio/health/ready")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}, 30*time.Second, 50*time.Millisecond, "MinIO does not get ready")
}

// stop kills the server, as a failing machine does. It may be called twice.
func (s *server) stop() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Kill()
	_ = s.process.Wait() // it was killed
	s.process = nil
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

func randomText() string { return fmt.Sprintf("k%016x", rand.Uint64()) }

// A child is a process with a job.
type child struct {
	*exec.Cmd
	out *bufio.Reader
}

// job starts a process; variables override those of the server.
func (s *server) job(t *testing.T, uri, job string, variables ...string) *child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "AWS_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, jobVariable+"="+job, uriVariable+"="+uri, "SHARED_TEST_ENDPOINT=http://"+s.address,
		"AWS_ACCESS_KEY_ID="+s.user, "AWS_SECRET_ACCESS_KEY="+s.password, "AWS_EC2_METADATA_DISABLED=true")
	cmd.Env = append(cmd.Env, variables...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return &child{cmd, bufio.NewReader(out)}
}

// finish returns the output of a process, and whether it succeeded.
func (c *child) finish(t *testing.T) (string, bool) {
	t.Helper()
	text, err := io.ReadAll(c.out)
	require.NoError(t, err)
	return strings.TrimSpace(string(text)), c.Wait() == nil
}

func (c *child) succeed(t *testing.T) string {
	t.Helper()
	text, ok := c.finish(t)
	require.True(t, ok, "%s: %s", c.Env, text)
	return text
}

// connect begins each job.
func connect(uri string) (*Table, error) {
	endpoint := storage.Endpoint{URL: os.Getenv("SHARED_TEST_ENDPOINT"), PathStyle: true, AllowHTTP: true}
	if err := storage.SetEnvironment(endpoint); err != nil {
		return nil, err
	}
	return Open(uri, Options{Dimension: dimension})
}

// publishJob publishes batches of records: publish OWNER BATCHES SIZE. From the second on, each
// batch also changes a record of the one before and withdraws another.
func publishJob(ctx context.Context, uri string, args []string) error {
	t, err := connect(uri)
	if err != nil {
		return err
	}
	owner, batches, size := args[0], atoi(args[1]), atoi(args[2])
	for batch := range batches {
		var put, gone []store.Record
		for i := range size {
			put = append(put, record(batch*size+i, owner))
		}
		if batch > 0 {
			put = append(put, record((batch-1)*size, owner+" again"))
			gone = append(gone, record((batch-1)*size+1, ""))
		}
		if err := t.Publish(ctx, owner, "model", put, gone); err != nil {
			return err
		}
	}
	return nil
}

// onceJob publishes one record within a timeout: once OWNER DURATION.
func onceJob(ctx context.Context, uri string, args []string) error {
	t, err := connect(uri)
	if err != nil {
		return err
	}
	limit, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	return t.Publish(ctx, args[0], "model", []store.Record{record(1, "once")}, nil)
}

// pullJob prints what OWNER gets from others: pull OWNER.
func pullJob(ctx context.Context, uri string, args []string) error {
	t, err := connect(uri)
	if err != nil {
		return err
	}
	changes, _, err := t.Changes(ctx, args[0], nil)
	for _, c := range changes {
		fmt.Println(c.Owner, c.Record.ID, c.Gone, len(c.Record.Vector), c.Record.Text)
	}
	return err
}

// ownerEmbedder makes the vectors of publishJob's records, for both owners.
type ownerEmbedder struct{}

func (ownerEmbedder) Embed(_ context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i := range texts {
		vectors[i] = []float32{1, 0, 0, 0}
	}
	return vectors, nil
}
func (ownerEmbedder) Dimension() int              { return dimension }
func (ownerEmbedder) Fingerprint() string         { return "model" }
func (ownerEmbedder) MaxTokens() int              { return 200 }
func (ownerEmbedder) CountTokens(text string) int { return len(text) / 4 }

// askJob is a machine without records of its own: it reads everything and searches for the text of
// each owner: ask OWNER.
func askJob(ctx context.Context, uri string, args []string) error {
	t, err := connect(uri)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "shared")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	m, err := core.Open(ctx, core.Options{
		Folder: filepath.Join(dir, "index"), Shared: t, Owner: args[0], Embedder: ownerEmbedder{}, Freshness: -1,
		Engine: store.Engine{Name: "flat",
			Vectors: func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
				return flat.Open(ctx, dir, dimension)
			},
			Keywords: func(ctx context.Context, dir string) (store.KeywordIndex, error) { return keyword.Open(ctx, dir) },
		},
	})
	if err != nil {
		return err
	}
	report, err := m.Index(ctx, core.IndexOptions{})
	if err != nil {
		return err
	}
	fmt.Printf("%d pulled, %d chunks, %d without a vector, %s\n", report.Shared.Pulled, report.Chunks, report.Pending, report.Shared.Problem)
	for _, owner := range []string{"ada", "grace"} {
		result, err := m.Search(ctx, owner, core.SearchOptions{Explain: true})
		if err != nil {
			return err
		}
		for _, hit := range result.Hits[:min(1, len(result.Hits))] {
			if hit.Explain.BM25 > 0 && hit.Explain.Cosine != nil && hit.Explain.VectorRank+hit.Explain.KeywordRank > 0 {
				fmt.Println("keywords and vectors:", hit.Source, hit.Text)
			}
		}
	}
	return errors.Join(m.Check(ctx), m.Close())
}

// slots is how many records a process changes until it is killed.
const slots = 12

// foreverJob publishes three records at a time, from a number on: forever OWNER FROM. It prints
// when it begins and ends one. It compacts often, to be killed there too.
func foreverJob(ctx context.Context, uri string, args []string) error {
	t, err := connect(uri)
	if err != nil {
		return err
	}
	t.maxAppends = 4
	for n := atoi(args[1]); ; n++ {
		fmt.Println("begin", n)
		if err := t.Publish(ctx, args[0], "model", slotRecords(n), []store.Record{record(1000+n%slots, "")}); err != nil {
			return err
		}
		fmt.Println("done", n)
	}
}

func slotRecords(n int) []store.Record {
	var put []store.Record
	for i := range 3 {
		put = append(put, record((n+i*4)%slots, strconv.Itoa(n)))
	}
	return put
}

// mendJob publishes once more, then prints the table's rows of an owner: mend OWNER N.
func mendJob(ctx context.Context, uri string, args []string) error {
	t, err := connect(uri)
	if err != nil {
		return err
	}
	if err := t.Publish(ctx, args[0], "model", slotRecords(atoi(args[1])), nil); err != nil {
		return err
	}
	opened, err := table.Open(ctx, t.uri, t.schema)
	if err != nil {
		return err
	}
	all, err := rows(ctx, opened, ownedBy(args[0]), true)
	for _, row := range all {
		fmt.Println(row.Record.ID, gone(row), len(row.Record.Vector), row.Record.Text)
	}
	return errors.Join(err, opened.Close())
}

func atoi(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

// TestWritersLoseNothing lets two processes publish to one table at the same time.
func TestWritersLoseNothing(t *testing.T) {
	s := startServer(t)
	const uri, batches, size = "s3://" + bucket + "/team", 40, 5
	owners := []string{"ada", "grace"}
	started := time.Now()
	var both sync.WaitGroup
	for _, owner := range owners {
		process := s.job(t, uri, fmt.Sprintf("publish %s %d %d", owner, batches, size))
		both.Go(func() {
			if text, ok := process.finish(t); !ok {
				t.Errorf("%s: %s", owner, text)
			}
		})
	}
	both.Wait()
	took := time.Since(started)
	found := map[string]string{}
	for line := range strings.Lines(s.job(t, uri, "pull third").succeed(t)) {
		word := strings.Fields(line)
		found[word[0]+" "+word[1]] = strings.Join(word[2:], " ")
	}
	lost := 0
	for _, owner := range owners {
		for n := range batches * size {
			if got, want := found[fmt.Sprintf("%s %04x", owner, n)], wantPublished(owner, n, batches, size); got != want {
				t.Errorf("record %d of %s is %q, want %q", n, owner, got, want)
				lost++
			}
		}
	}
	require.Len(t, found, len(owners)*batches*size)
	answer := s.job(t, uri, "ask third").succeed(t)
	require.Contains(t, answer, fmt.Sprintf("%d pulled", len(owners)*batches*size))
	for _, owner := range owners {
		require.Contains(t, answer, "keywords and vectors: shared:"+owner+"/notes/")
	}
	t.Logf("shared: a third machine: %s", strings.ReplaceAll(answer, "\n", "; "))
	t.Logf("shared: %d writers, %d publishes in %.1f s, %d records, %d lost", len(owners), len(owners)*batches, took.Seconds(), len(found), lost)
}

// wantPublished is publishJob's last version of a record.
func wantPublished(owner string, n, batches, size int) string {
	again := n/size < batches-1
	switch {
	case again && n%size == 0:
		return "false 4 " + owner + " again"
	case again && n%size == 1:
		return "true 0"
	}
	return "false 4 " + owner
}

// TestPublisherKilled kills a publisher at random moments; the next one has to continue from there.
func TestPublisherKilled(t *testing.T) {
	s := startServer(t)
	const uri, kills = "s3://" + bucket + "/killed", 20
	random := rand.New(rand.NewPCG(1, kills))
	begun, done, killed := 0, 0, 0
	lastDone := [4]int{}                                                 // of the numbers with this remainder, which change the same records
	for ; killed < kills || done < kills && killed < 5*kills; killed++ { // on a slow machine fewer are done between two kills
		process := s.job(t, uri, fmt.Sprintf("forever ada %d", begun+1))
		first, err := process.out.ReadString('\n')
		require.NoError(t, err)
		time.Sleep(time.Duration(random.IntN(700)) * time.Millisecond)
		require.NoError(t, process.Process.Kill())
		text, _ := process.finish(t)
		for line := range strings.Lines(first + text) {
			word := strings.Fields(line)
			require.NotEqual(t, "error:", word[0], line)
			if word[0] == "begin" {
				begun = atoi(word[1])
			} else {
				done++
				require.Equal(t, strconv.Itoa(begun), word[1])
				lastDone[begun%4] = begun
			}
		}
	}
	wantMended(t, s.job(t, uri, fmt.Sprintf("mend ada %d", begun+1)).succeed(t), lastDone, begun+1)
	t.Logf("shared: a publisher killed %d times, %d publishes begun, %d done, 0 records lost or double", killed, begun, done)
	if done < kills {
		t.Errorf("only %d publishes were done before %d kills", done, killed)
	}
}

// wantMended checks that each record has one row, no older than its last completed publish; an
// interrupted one may have succeeded.
func wantMended(t *testing.T, text string, lastDone [4]int, last int) {
	t.Helper()
	seen := map[string]bool{}
	live := 0
	for line := range strings.Lines(text) {
		word := strings.Fields(line)
		if seen[word[0]] {
			t.Errorf("record %s is there twice: %q", word[0], text)
		}
		seen[word[0]] = true
		if word[1] == "true" {
			continue
		}
		live++
		n := atoi(word[3])
		slot, err := strconv.ParseInt(word[0], 16, 64)
		require.NoError(t, err)
		if word[2] != strconv.Itoa(dimension) || n%4 != int(slot)%4 || n < lastDone[n%4] || n > last {
			t.Errorf("record %s is %q, want that of a publish from %d to %d", word[0], line, lastDone[slot%4], last)
		}
	}
	require.Equal(t, slots, live)
}

// TestStorageThatRefuses wants an early error that names the cause.
func TestStorageThatRefuses(t *testing.T) {
	s := startServer(t)
	away := *s
	away.address = freeAddress(t)
	for _, test := range []struct {
		name, uri, want string
		server          *server
		variables       []string
	}{
		{"wrong secret", "s3://" + bucket + "/x", "check AWS_SECRET_ACCESS_KEY", s, []string{"AWS_SECRET_ACCESS_KEY=wrong"}},
		{"unknown key", "s3://" + bucket + "/x", "check AWS_ACCESS_KEY_ID", s, []string{"AWS_ACCESS_KEY_ID=nobody"}},
		{"no bucket", "s3://nowhere/x", "make the bucket", s, nil},
		{"server away", "s3://" + bucket + "/x", "refused", &away, nil},
	} {
		started := time.Now()
		text, ok := test.server.job(t, test.uri, "once ada 10s", test.variables...).finish(t)
		took := time.Since(started)
		if ok || !strings.Contains(text, test.want) || strings.Contains(text, s.password) || took > 8*time.Second {
			t.Errorf("%s: %q after %v, want an error with %q within 8 s", test.name, text, took, test.want)
		}
		t.Logf("%s: %.1f s, %s", test.name, took.Seconds(), text)
	}
}

// TestServerDiesMidway kills the server under a publisher, which has to end, then continues with
// the restarted server.
func TestServerDiesMidway(t *testing.T) {
	s := startServer(t)
	const uri = "s3://" + bucket + "/dies"
	process := s.job(t, uri, "forever ada 1")
	for range 6 {
		_, err := process.out.ReadString('\n')
		require.NoError(t, err)
	}
	s.stop()
	stopped := time.Now()
	text, ok := process.finish(t)
	took := time.Since(stopped)
	if ok || !strings.Contains(text, "error: ") || took > 15*time.Second {
		t.Errorf("a publisher whose server has died: %q, %v, want an error within 15 s", text, took)
	}
	t.Logf("server killed: the publisher ended after %.1f s: %s", took.Seconds(), text)
	s.start(t, os.Getenv(minioVariable))
	begun := 3
	for line := range strings.Lines(text) {
		if number, ok := strings.CutPrefix(strings.TrimSpace(line), "begin "); ok {
			begun = max(begun, atoi(number))
		}
	}
	// All twelve records need four batches.
	mended := s.job(t, uri, "publish ada 3 4").succeed(t) + s.job(t, uri, fmt.Sprintf("mend ada %d", begun+1)).succeed(t) + "\n"
	for n := range slots {
		if !strings.Contains(mended, fmt.Sprintf("%04x ", n)) {
			t.Errorf("record %d is missing after the server came back: %s", n, mended)
		}
	}
	s.job(t, uri, "once grace 10s").succeed(t)
}
