package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/memcore/memcore/lab/internal/figures"
)

var (
	lengths = []int{14, 64, 206}
	batches = []int{1, 64}
)

// A setting is a contender with a text length and a batch size.
type setting struct {
	contender, tokens, batch int
}

// speed measures the contenders in turn, round by round, so that a disturbance affects all.
func speed(ctx context.Context) error {
	contenders, done, err := field(ctx)
	if err != nil {
		return err
	}
	defer done()
	file, err := os.Create(*out)
	if err != nil {
		return err
	}
	defer file.Close()
	fmt.Fprintf(file, "goos: %s\ngoarch: %s\npkg: github.com/memcore/memcore/lab/bench/embed\ncpu: %s\n", runtime.GOOS, runtime.GOARCH, figures.Processor())
	r := run{contenders: contenders, out: file, times: map[setting][]time.Duration{}, gone: map[int]bool{}}
	for n := range *rounds {
		if err := r.round(ctx, n == 0); err != nil {
			return err
		}
		log.Printf("round %d of %d", n+1, *rounds)
	}
	print(contenders, r.times)
	fmt.Printf("\nfor benchstat: %s\n", *out)
	return nil
}

// A run holds measurements, those of one setting together.
type run struct {
	contenders []contender
	out        io.Writer
	times      map[setting][]time.Duration
	gone       map[int]bool // contenders that have failed
}

// round measures all settings; after the first round it skips slow ones.
func (r *run) round(ctx context.Context, first bool) error {
	for _, tokens := range lengths {
		for _, batch := range batches {
			for i := range r.contenders {
				s := setting{i, tokens, batch}
				if r.gone[i] || slow(r.times[s]) && !first {
					continue
				}
				if err := r.measure(ctx, s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// measure measures one setting and drops a rival that fails.
func (r *run) measure(ctx context.Context, s setting) error {
	c := r.contenders[s.contender]
	one, err := measure(ctx, r.out, c, s.tokens, s.batch)
	if err == nil {
		r.times[s] = append(r.times[s], one)
		return nil
	}
	err = fmt.Errorf("%s, %d texts of %d tokens: %w", c.name, s.batch, s.tokens, err)
	if s.contender == 0 || ctx.Err() != nil {
		return err
	}
	log.Printf("LEFT OUT from here on: %v", err)
	r.gone[s.contender] = true
	return nil
}

// slow reports whether one round is enough.
func slow(times []time.Duration) bool { return len(times) > 0 && times[0] > 5*time.Second }

// measure writes a line in Go's format and returns the time of each call.
func measure(ctx context.Context, file io.Writer, c contender, tokens, batch int) (time.Duration, error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	runs, took, err := c.run(ctx, tokens, batch, *seconds)
	if err != nil {
		return 0, err
	}
	runtime.ReadMemStats(&after)
	one := took / time.Duration(runs)
	fmt.Fprintf(file, "BenchmarkEmbed/embedder=%s/tokens=%d/batch=%d-%d\t%d\t%d ns/op\t%.1f texts/s\t%.0f tokens/s", c.name, tokens, batch,
		runtime.GOMAXPROCS(0), runs, one.Nanoseconds(), float64(batch)/one.Seconds(), float64(batch*tokens)/one.Seconds())
	if c.measured { // one call more than was timed
		fmt.Fprintf(file, "\t%d B/op\t%d allocs/op", (after.TotalAlloc-before.TotalAlloc)/uint64(runs+1), (after.Mallocs-before.Mallocs)/uint64(runs+1))
	}
	fmt.Fprintln(file)
	return one, nil
}

// fieldOfPack is the field for the pack.
func fieldOfPack(ctx context.Context) (all []contender, done func(), err error) {
	procs := runtime.NumCPU()
	done = func() {}
	for _, c := range []struct {
		name  string
		procs int
	}{{"memcore", procs}, {"memcore-1-core", 1}} {
		one, err := fromPack(c.name, *e5Pack, c.procs)
		if err != nil {
			return nil, done, err
		}
		all = append(all, one)
	}
	if *rivalsDir == "" {
		return all, done, nil
	}
	s, err := serve(ctx, *rivalsDir)
	if err != nil {
		return nil, done, err
	}
	done = func() { s.close() }
	return append(all, s.contender("onnxruntime", "e5.onnx", procs), s.contender("onnxruntime-1-thread", "e5.onnx", 1), s.contender("onnxruntime-int8", "e5-int8.onnx", procs)), done, nil
}

// field returns the contenders; the first is compared with the others.
func field(ctx context.Context) (all []contender, done func(), err error) {
	if *e5Pack != "" {
		return fieldOfPack(ctx)
	}
	procs := runtime.NumCPU()
	all = append(all, builtIn("memcore", procs))
	done = func() {}
	if procs > 1 {
		all = append(all, builtIn("memcore-1-core", 1))
	}
	if *rivalsDir != "" {
		s, err := serve(ctx, *rivalsDir)
		if err != nil {
			log.Printf("LEFT OUT: ONNX Runtime: %v", err)
		} else {
			done = func() { s.close() }
			all = append(all, s.contender("onnxruntime", "model.onnx", procs))
			if procs > 1 {
				all = append(all, s.contender("onnxruntime-1-thread", "model.onnx", 1))
			}
			all = append(all, s.contender("onnxruntime-int8", "int8.onnx", procs))
		}
		if h, err := pureGo(*rivalsDir); err != nil {
			log.Printf("LEFT OUT: %v", err)
		} else {
			all = append(all, h)
		}
	}
	if *ollamaAt != "" {
		if o, err := overHTTP(*ollamaAt); err != nil {
			log.Printf("LEFT OUT: %v", err)
		} else {
			all = append(all, o)
		}
	}
	return all, done, nil
}

// print shows medians and their ratio to the first contender's.
func print(contenders []contender, times map[setting][]time.Duration) {
	fmt.Print("| embedder |")
	for _, tokens := range lengths {
		for _, batch := range batches {
			fmt.Printf(" %d tokens × %d |", tokens, batch)
		}
	}
	fmt.Print("\n|---|")
	for range len(lengths) * len(batches) {
		fmt.Print("--:|")
	}
	fmt.Println()
	for i, c := range contenders {
		fmt.Printf("| %s |", c.name)
		for _, tokens := range lengths {
			for _, batch := range batches {
				one, base := median(times[setting{i, tokens, batch}]), median(times[setting{0, tokens, batch}])
				switch {
				case one == 0:
					fmt.Print(" – |")
				case i == 0:
					fmt.Printf(" %s |", milliseconds(one))
				default:
					fmt.Printf(" %s (%.1f×) |", milliseconds(one), float64(one)/float64(base))
				}
			}
		}
		fmt.Println()
	}
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.3g ms", float64(d)/1e6) }

func median(times []time.Duration) time.Duration { return figures.Quantile(slices.Clone(times), .5) }
