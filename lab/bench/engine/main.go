// Command enginebench compares vector engines on the same data and machine.
//
//	go run . [-engines flat,lancedb,lancedb-ann] [-sizes 1000,10000] [-out FOLDER]
//
// Every engine and size has its own process, so that peak memory is that engine's. Measurements in
// FOLDER are not repeated. LanceDB needs the tag lancedb.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memcore/memcore/lab/internal/figures"
)

// A result is one measurement; its file is named by engine and size.
type result struct {
	Engine     string        `json:"engine"`
	Rows       int           `json:"rows"`
	Ingest     time.Duration `json:"ingest"` // of all rows, without making the approximate index
	Index      time.Duration `json:"index"`  // making the approximate index
	Bytes      int64         `json:"bytes"`  // on disk
	PeakMemory int64         `json:"peakMemory"`
	P50        time.Duration `json:"p50"`
	P95        time.Duration `json:"p95"`
	Processor  time.Duration `json:"processor"` // time of a query, about the same on a busy machine
	FilterP50  time.Duration `json:"filterP50"` // with a filter that half of the rows pass
	FilterP95  time.Duration `json:"filterP95"`
	NarrowP50  time.Duration `json:"narrowP50"` // with a filter that twenty rows pass
	Recall     float64       `json:"recall"`    // of the 50 best
	Queries    int           `json:"queries"`
}

// An updatesResult measures many single updates.
type updatesResult struct {
	Engine                     string        `json:"engine"`
	Rows, Updates              int           `json:",omitempty"`
	Fresh, Updated, Compacted  time.Duration // p50 of a query
	FreshBytes, UpdatedBytes   int64
	CompactedBytes             int64
	Fragments                  int // before Compact
	PerUpdate, CompactDuration time.Duration
}

var (
	engines  = flag.String("engines", "flat,lancedb,lancedb-ann", "engines to measure")
	sizes    = flag.String("sizes", "1000,10000,100000", "numbers of vectors")
	out      = flag.String("out", filepath.Join(os.TempDir(), "enginebench"), "folder of the results")
	texts    = flag.String("texts", "", "file of texts, one a line, to measure with real embeddings; every twentieth is a query")
	updates  = flag.Int("updates", 0, "measure also this many single updates of 10,000 rows")
	show     = flag.Bool("show", false, "measure nothing: show what FOLDER has")
	child    = flag.String("child", "", "for internal use: what this process measures")
	childRow = flag.Int("rows", 0, "for internal use")
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("enginebench: ")
	flag.Parse()
	if *child != "" {
		if err := runChild(); err != nil {
			log.Fatal(err)
		}
		return
	}
	if err := runAll(); err != nil {
		log.Fatal(err)
	}
}

func runAll() error {
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	fmt.Printf("%s, %d cores, %s, %s\n\n", figures.Processor(), runtime.NumCPU(), runtime.Version(), time.Now().Format(time.DateOnly))
	var all []result
	for _, size := range strings.Split(*sizes, ",") {
		if _, err := measured[[][]string]("truth", size); err != nil && !*show {
			return err
		}
		for _, engine := range strings.Split(*engines, ",") {
			r, err := measured[result](engine, size)
			if *show && errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			all = append(all, r)
		}
	}
	printTable(all)
	if *updates > 0 {
		return printUpdates()
	}
	return nil
}

// measured reads a measurement from its file, or makes it in a process.
func measured[T any](what, size string) (value T, err error) {
	name := what + "-" + size
	if *texts != "" {
		name += "-texts"
	}
	file := filepath.Join(*out, name+".json")
	data, err := os.ReadFile(file)
	if err != nil && *show {
		return value, err
	}
	if err != nil {
		started := time.Now()
		command := exec.Command(os.Args[0], "-child", what, "-rows", size, "-out", *out, "-texts", *texts, "-updates", strconv.Itoa(*updates))
		command.Stderr = os.Stderr
		if data, err = command.Output(); err != nil {
			return value, fmt.Errorf("%s with %s rows: %w", what, size, err)
		}
		log.Printf("%s with %s rows: %v", what, size, time.Since(started).Round(time.Second))
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return value, err
		}
	}
	return value, json.Unmarshal(data, &value)
}

func printTable(all []result) {
	fmt.Println("| engine | vectors | p50 | p95 | processor | half pass: p50 | p95 | 20 pass: p50 | recall@50 | ingest/s | index made in | disk | peak memory |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, r := range all {
		made := "–"
		if r.Index > 0 {
			made = r.Index.Round(100 * time.Millisecond).String()
		}
		fmt.Printf("| %s | %d | %s | %s | %s | %s | %s | %s | %.3f | %.0f | %s | %s | %s |\n", r.Engine, r.Rows,
			milliseconds(r.P50), milliseconds(r.P95), milliseconds(r.Processor), milliseconds(r.FilterP50), milliseconds(r.FilterP95), milliseconds(r.NarrowP50),
			r.Recall, float64(r.Rows)/r.Ingest.Seconds(), made, megabytes(r.Bytes), megabytes(r.PeakMemory))
	}
}

func printUpdates() error {
	fmt.Printf("\n| engine | update | p50 fresh | after %d updates | after Compact | disk fresh | after updates | after Compact | fragments | Compact takes |\n", *updates)
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|")
	for _, engine := range []string{"flat", "lancedb"} {
		if !slices.Contains(strings.Split(*engines, ","), engine) {
			continue
		}
		u, err := measured[updatesResult]("updates-"+engine, "10000")
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %s | %s | %s (%.2f×) | %s (%.2f×) | %s | %s (%.2f×) | %s (%.2f×) | %d | %s |\n", engine,
			milliseconds(u.PerUpdate), milliseconds(u.Fresh), milliseconds(u.Updated), ratio(u.Updated, u.Fresh),
			milliseconds(u.Compacted), ratio(u.Compacted, u.Fresh), megabytes(u.FreshBytes),
			megabytes(u.UpdatedBytes), ratio(u.UpdatedBytes, u.FreshBytes), megabytes(u.CompactedBytes), ratio(u.CompactedBytes, u.FreshBytes),
			u.Fragments, milliseconds(u.CompactDuration))
	}
	return nil
}

func ratio[T int64 | time.Duration](a, b T) float64 { return float64(a) / float64(b) }

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1e3) }
func megabytes(n int64) string            { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// peakMemory returns the peak resident memory of this process in bytes; 0 if unknown.
func peakMemory() int64 {
	data, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.Fields(text)[0], 10, 64)
			return n * 1024
		}
	}
	return 0
}

func write(w io.Writer, value any) error { return json.NewEncoder(w).Encode(value) }
