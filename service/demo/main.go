// Command demo shows a memory service at work, and checks it: nodes on one PostgreSQL behind a load
// balancer, on this machine. It prints what it does and what is answered, and fails if an answer is
// not what it should be. Run it with make demo.
//
// Everything it starts and writes is in a temporary folder, and gone afterwards.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

var (
	memcore  = flag.String("memcore", "bin/memcore", "`path` of the memcore of a laptop")
	program  = flag.String("service", "bin/memcore-service", "`path` of memcore-service")
	postgres = flag.String("postgres", "", "`folder` of the programs of a PostgreSQL with pgvector")
	balancer = flag.String("balancer", "auto", "load balancer: haproxy or nginx as the files of deploy configure them, go for one of a few lines, or auto")
	configs  = flag.String("configs", "deploy", "`folder` of haproxy.cfg and nginx.conf")
	keep     = flag.Bool("keep", false, "keep the temporary folder, with all logs")
)

// drain is what the nodes are started with.
const drain = 3 * time.Second

func main() {
	flag.Parse()
	signal.Ignore(syscall.SIGPIPE) // all that was started ends, also if nobody reads on
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo: FAILED:", err)
		os.Exit(1)
	}
}

// A failure ends the demonstration.
type failure struct{ error }

// check ends the demonstration unless ok.
func check(ok bool, format string, args ...any) {
	if !ok {
		panic(failure{fmt.Errorf(format, args...)})
	}
}

func must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

func run(ctx context.Context) (err error) {
	began := time.Now()
	scratch, err := os.MkdirTemp("", "memcore-service-demo-")
	if err != nil {
		return err
	}
	d := &demo{ctx: ctx, scratch: scratch}
	if os.Geteuid() == 0 {
		d.as = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	defer func() {
		if p := recover(); p != nil {
			f, ok := p.(failure)
			if !ok {
				panic(p)
			}
			err = f.error
		}
		d.endAll()
		switch {
		case *keep:
			fmt.Println("\nkept:", scratch)
		case err != nil:
			d.showLogs(os.Stderr)
			fallthrough
		default:
			_ = os.RemoveAll(scratch)
		}
	}()
	if d.memcore, err = filepath.Abs(*memcore); err != nil {
		return err
	}
	if d.service, err = filepath.Abs(*program); err != nil {
		return err
	}
	for _, step := range steps {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Printf("\n== %s\n", step.title)
		step.do(d)
	}
	fmt.Printf("\nall of it is as it should be (%.0f s)\n", time.Since(began).Seconds())
	return nil
}
