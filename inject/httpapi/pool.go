package httpapi

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/memcore/memcore/core"
)

// A pool keeps workspaces open between requests.
type pool struct {
	open        func(ctx context.Context, folder string) (Workspace, error)
	workspaceOf func(folder string) (string, error)
	publish     func(Event)
	most        int
	idle        time.Duration

	mu     sync.Mutex
	known  map[string]*kept
	closed bool
	work   sync.WaitGroup // watches, and workspaces that are being closed
}

// A kept workspace is open, or being opened.
type kept struct {
	folder string
	ready  chan struct{} // closed when it is open, or cannot be
	ws     Workspace
	err    error
	users  int
	stop   context.CancelFunc // of the watch
	gone   bool               // it is no longer in the pool

	info Opened
}

// use keeps the workspace open while do runs.
func (p *pool) use(ctx context.Context, folder string, do func(Workspace) error) error {
	k, err := p.acquire(ctx, folder)
	if err != nil {
		return err
	}
	defer p.release(k)
	return do(k.ws)
}

func (p *pool) acquire(ctx context.Context, folder string) (*kept, error) {
	if !filepath.IsAbs(folder) {
		return nil, &Error{400, fmt.Sprintf("workspace is %q, want an absolute path", folder)}
	}
	workspace, err := p.workspaceOf(folder)
	if err != nil {
		return nil, &Error{404, fmt.Sprintf("workspace %s: %v", folder, err)}
	}
	for {
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return nil, ErrClosed
		}
		k := p.known[workspace]
		if k == nil {
			k = &kept{folder: workspace, ready: make(chan struct{}), info: Opened{Workspace: workspace, Since: time.Now()}}
			p.known[workspace] = k
			p.work.Add(1)
			go p.begin(k)
		}
		k.users++
		k.info.Requests++
		k.info.Used = time.Now()
		p.mu.Unlock()
		select {
		case <-k.ready:
		case <-ctx.Done():
			p.release(k)
			return nil, ctx.Err()
		}
		if k.err != nil {
			p.release(k)
			return nil, k.err
		}
		if !k.ws.Outdated() {
			p.closeUnused(p.most)
			return k, nil
		}
		p.remove(k)
		p.release(k)
	}
}

// begin opens a workspace and watches it.
func (p *pool) begin(k *kept) {
	defer p.work.Done()
	ctx, stop := context.WithCancel(context.Background())
	ws, err := p.open(ctx, k.folder)
	p.mu.Lock()
	k.ws, k.err, k.stop = ws, err, stop
	if err != nil {
		k.ws, k.gone = nil, true  // there is nothing to close
		delete(p.known, k.folder) // the next request tries again
	} else {
		k.info.Watching = true
	}
	p.mu.Unlock()
	close(k.ready)
	if err != nil {
		stop()
		return
	}
	p.publish(Event{Workspace: k.folder, Kind: "opened", At: time.Now()})
	err = ws.Watch(ctx, func(report core.IndexReport, err error) {
		if err != nil {
			p.problem(k, err)
		} else if report.Written+report.Deleted+report.Embedded > 0 {
			p.publish(Event{Workspace: k.folder, Kind: "indexed", At: time.Now(), Index: &report})
		}
	}, func(problem error) {
		p.mu.Lock()
		k.info.Problem = ""
		if problem != nil {
			k.info.Problem = problem.Error()
		}
		p.mu.Unlock()
		if problem != nil {
			p.problem(k, problem)
		}
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	k.info.Watching = false
	if ctx.Err() == nil && err != nil {
		k.info.Problem = err.Error()
		p.problem(k, err)
	}
}

func (p *pool) problem(k *kept, err error) {
	p.publish(Event{Workspace: k.folder, Kind: "problem", At: time.Now(), Text: err.Error()})
}

// release ends a use. The last one closes a removed workspace.
func (p *pool) release(k *kept) {
	p.mu.Lock()
	k.users--
	last := k.users == 0 && k.gone && k.ws != nil
	if last {
		p.work.Add(1)
	}
	p.mu.Unlock()
	if last {
		p.end(k)
	}
}

// remove leaves closing to the last use.
func (p *pool) remove(k *kept) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k.gone {
		return
	}
	k.gone = true
	delete(p.known, k.folder)
	if k.stop != nil {
		k.stop()
	}
	if k.users == 0 && k.ws != nil {
		p.work.Add(1)
		go p.end(k)
	}
}

func (p *pool) end(k *kept) {
	defer p.work.Done()
	k.stop()
	if err := k.ws.Close(); err != nil {
		p.problem(k, err)
	}
	p.publish(Event{Workspace: k.folder, Kind: "closed", At: time.Now()})
}

// closeUnused closes idle workspaces, and the longest unused over most.
func (p *pool) closeUnused(most int) {
	p.mu.Lock()
	var unused []*kept
	for _, k := range p.known {
		if k.ws != nil && k.users == 0 {
			unused = append(unused, k)
		}
	}
	slices.SortFunc(unused, func(a, b *kept) int { return a.info.Used.Compare(b.info.Used) })
	over := len(p.known) - most
	for i, k := range unused {
		if i >= over && time.Since(k.info.Used) <= p.idle {
			unused = unused[:i]
			break
		}
	}
	p.mu.Unlock()
	for _, k := range unused {
		p.remove(k)
	}
}

// opened returns the open workspaces, last used first.
func (p *pool) opened() []Opened {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := []Opened{}
	for _, k := range p.known {
		all = append(all, k.info)
	}
	slices.SortFunc(all, func(a, b Opened) int { return b.Used.Compare(a.Used) })
	return all
}

// close closes all workspaces after their requests.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	var all []*kept
	for _, k := range p.known {
		all = append(all, k)
	}
	p.mu.Unlock()
	for _, k := range all {
		<-k.ready
		p.remove(k)
	}
	p.work.Wait()
}
