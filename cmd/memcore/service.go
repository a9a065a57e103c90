package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/static"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/paths"
)

// A service is the memory of a workspace for the roads by which it reaches agents. It is safe for concurrent use.
type service struct {
	*app
	*core.Manager
	at place
	// Of one that is kept open:
	opened  string // the stamp of what it was made of
	engine  string // that which it was opened with
	indexed *core.EngineReader
	tools   []notes.Tool
}

// withService opens the memory of the workspace, does something and closes it.
func (a *app) withService(ctx context.Context, do func(*service) error) error {
	at, err := a.place()
	if err != nil {
		return err
	}
	return a.withMemory(ctx, func(m *core.Manager) error { return do(&service{app: a, Manager: m, at: at}) })
}

// Curated implements hook.Memory.
func (s *service) Curated(ctx context.Context, not []string) (text string, stamps map[string]string, err error) {
	if !s.settings.Enabled {
		return "", nil, nil
	}
	o := s.staticOptions(s.trust())
	o.Names = slices.DeleteFunc(slices.Clone(o.Names), func(name string) bool { return slices.Contains(not, name) })
	if len(o.Names) == 0 {
		return "", nil, nil
	}
	memory, err := static.New(o).Load(ctx)
	if err != nil {
		return "", nil, fmt.Errorf("curated memory: %w", err)
	}
	names := paths.NewNames(s.project, s.home)
	stamps = map[string]string{}
	for _, file := range memory.Given() {
		if stamp := stampOf(file); stamp != "" {
			stamps[names.Of(file)] = file + "|" + stamp
		}
	}
	return formatter.StaticLayer(memory), stamps, nil
}

// stampOf changes with a file; "" if there is none.
func stampOf(file string) string {
	info, err := os.Stat(file)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
}

// Unchanged implements hook.Memory.
func (s *service) Unchanged(stamps map[string]string) (same []string) {
	for path, stamp := range stamps {
		if file, then, ok := strings.Cut(stamp, "|"); ok && stampOf(file) == then {
			same = append(same, path)
		}
	}
	return same
}

// Note implements hook.Memory: what agents say goes to a session of their own in working memory.
func (s *service) Note(ctx context.Context, e hook.Event, role, text string) error {
	session, err := s.sessionOf(e)
	if session == nil || err != nil {
		return err
	}
	_, err = session.Append(ctx, notes.Message{Role: role, Content: text}, notes.AppendOptions{})
	return err
}

// Ended implements hook.Memory.
func (s *service) Ended(ctx context.Context, e hook.Event) error {
	if !s.settings.Reflect.Auto {
		return nil
	}
	session, err := s.sessionOf(e)
	if session == nil || err != nil {
		return err
	}
	return session.Queue()
}

// sessionOf is the working memory of an agent's session; nil if the event names none.
func (s *service) sessionOf(e hook.Event) (*notes.Session, error) {
	if e.Session == "" || !s.settings.Enabled {
		return nil, nil
	}
	return notes.NewSession(s.sessions(), e.Agent+"-"+strings.Map(func(r rune) rune {
		if r <= ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, e.Session))
}

// hookOptions are those that the configuration asks for.
func (s *service) hookOptions(e hook.Event) hook.Options {
	o := hook.Options{Retrieve: s.retrieveOptions(queryFlags{}), Given: hook.Given{Dir: s.at.hooks()}, NoLog: !s.settings.Hook.Log}
	o.Retrieve.Not = append(o.Retrieve.Not, hook.OwnFiles(e.Agent)...)
	return o
}

// answer answers a hook, and leaves a trace of it.
func (s *service) answer(ctx context.Context, e hook.Event) (reply []byte, receipt hook.Receipt, trace hook.Trace) {
	if !s.settings.Enabled {
		return nil, receipt, hook.Trace{Event: e, At: time.Now(), Reason: turnedOff}
	}
	return hook.Handle(ctx, e, s, s.hookOptions(e))
}

// dirOf is the folder that an event is about.
func dirOf(e hook.Event, otherwise string) string {
	if filepath.IsAbs(e.Dir) {
		return e.Dir
	}
	return otherwise
}

// openService makes a service of a folder's workspace, for a process that keeps it open.
func (a *app) openService(ctx context.Context, folder string) (*service, error) {
	here, err := a.in(folder)
	if err != nil {
		return nil, err
	}
	at, err := here.place()
	if err != nil {
		return nil, err
	}
	s := &service{app: here, at: at, indexed: core.NewEngineReader(at.index)}
	s.opened = s.stamp() // of before it is opened, so that no change goes by
	s.engine = here.engineOf(at).inUse
	m, err := here.open(ctx, at, engineNamed(s.engine))
	if err != nil {
		return nil, fmt.Errorf("open memory: %w", err)
	}
	s.Manager = m
	files, err := here.shownFiles()
	if err == nil {
		s.tools, err = s.modelTools(files)
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return s, nil
}

// stamp changes with what the memory was made of: configuration, trust, registered paths, the engine of the index.
func (s *service) stamp() string {
	files := append([]string{s.at.sources, s.trustFile(), filepath.Join(s.project, ".beans", "config.yaml")}, s.config.files...)
	if s.home != "" {
		files = append(files, filepath.Join(s.home, ".beans", "config.yaml"))
	}
	var b strings.Builder
	for _, file := range files {
		if stamp := stampOf(file); stamp != "" {
			fmt.Fprintf(&b, "%s %s\n", file, stamp)
		}
	}
	engine, _ := s.indexed.Engine()
	return b.String() + engine
}

// Outdated implements httpapi.Workspace.
func (s *service) Outdated() bool {
	now := s.stamp()
	// The first index of a workspace names an engine where there was none: that of this memory.
	return now != s.opened && now != s.opened+s.engine
}

// Retrieve implements httpapi.Workspace.
func (s *service) Retrieve(ctx context.Context, r httpapi.RetrieveRequest) (httpapi.Retrieved, error) {
	o, err := s.retrieveOptionsFor(r)
	if err != nil {
		return httpapi.Retrieved{}, &httpapi.Error{Status: 400, Message: err.Error()}
	}
	if !s.settings.Enabled {
		return httpapi.Retrieved{Result: core.Result{State: core.StateReady, Hits: []core.MemoryHit{}}}, nil
	}
	result, err := s.RetrieveRelevant(ctx, r.Query, o)
	if err != nil {
		return httpapi.Retrieved{}, err
	}
	out := httpapi.Retrieved{Result: result}
	out.Block, out.Findings = formatter.BlockBeside(result.Hits, result.Withheld)
	return out, nil
}

// Find implements httpapi.Workspace.
func (s *service) Find(ctx context.Context, r httpapi.SearchRequest) (core.Result, error) {
	o, err := searchOptions(r)
	if err != nil {
		return core.Result{}, &httpapi.Error{Status: 400, Message: err.Error()}
	}
	return s.Search(ctx, r.Query, o)
}

// Context implements httpapi.Workspace.
func (s *service) Context(ctx context.Context, r httpapi.ContextRequest) (httpapi.TextReply, error) {
	if !s.settings.Enabled {
		return httpapi.TextReply{}, nil
	}
	if r.Request == "" && len(r.Paths) == 0 {
		memory, err := s.layer().Load(ctx) // not of the Manager, which others ask as well and would not be given it again
		return httpapi.TextReply{Text: formatter.StaticLayer(memory)}, err
	}
	var parts []static.Memory
	for _, path := range r.Paths {
		memory, err := s.LoadFor(ctx, path)
		if err != nil {
			return httpapi.TextReply{}, err
		}
		parts = append(parts, memory)
	}
	rules, err := s.Rules(ctx, r.Request, r.Paths)
	return httpapi.TextReply{Text: formatter.StaticLayer(append(parts, rules)...)}, err
}

// Reindex implements httpapi.Workspace.
func (s *service) Reindex(ctx context.Context, r httpapi.IndexRequest) (core.IndexReport, error) {
	return s.Index(ctx, core.IndexOptions{Rebuild: r.Rebuild, KeepEngine: !r.Rebuild})
}

// Report implements httpapi.Workspace.
func (s *service) Report(ctx context.Context) (core.Status, error) { return s.Status(ctx) }

// Hook implements httpapi.Workspace.
func (s *service) Hook(ctx context.Context, r httpapi.HookRequest) (httpapi.HookReply, error) {
	event := []byte(r.Event)
	var text string
	if json.Unmarshal(event, &text) == nil {
		event = []byte(text)
	}
	e, err := hook.Parse(r.Agent, event)
	if err != nil {
		return httpapi.HookReply{}, err
	}
	if e.Kind == hook.Other {
		return httpapi.HookReply{}, nil
	}
	reply, receipt, trace := s.answer(ctx, e)
	if ctx.Err() != nil {
		return httpapi.HookReply{}, ctx.Err() // the hook has gone on without this
	}
	s.traceHook(trace)
	return httpapi.HookReply{Reply: string(reply), Receipt: receipt, Given: s.at.hooks()}, nil
}

// Tools implements httpapi.Workspace.
func (s *service) Tools() []notes.Tool { return s.tools }

// backgroundEvery is how often a service looks for what can wait: vectors of working memory, and sessions that are queued for reflection.
const backgroundEvery = 30 * time.Second

// Watch implements httpapi.Workspace.
func (s *service) Watch(ctx context.Context, indexed func(core.IndexReport, error), problem func(error)) error {
	var background sync.WaitGroup
	defer background.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	background.Go(func() {
		ticker := time.NewTicker(backgroundEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if err := s.inBackground(ctx); err != nil && ctx.Err() == nil {
					s.log.Warn("work in the background", "workspace", s.project, "error", err)
				}
			}
		}
	})
	if err := s.untilIndexed(ctx); err != nil {
		return err
	}
	return s.Manager.Watch(ctx, core.WatchOptions{Indexed: indexed, Problem: problem})
}

// untilIndexed waits until there is an index: a hook in some folder is no wish to have all of it read.
func (s *service) untilIndexed(ctx context.Context) error {
	for {
		engine, err := s.indexed.Engine()
		if _, missing := os.Stat(filepath.Join(s.at.index, "CURRENT")); missing == nil && err == nil || engine != "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func (s *service) inBackground(ctx context.Context) error {
	if err := s.embedSessions(ctx); err != nil {
		return err
	}
	if !s.settings.Reflect.Auto || s.settings.Reflect.Model == "" {
		return nil
	}
	queued, err := s.toReflect("", true)
	if err != nil {
		return err
	}
	data, err := s.data()
	if err != nil {
		return err
	}
	for _, session := range queued {
		said, err := session.Said(ctx)
		if err != nil {
			return err
		}
		if err := s.reflect(ctx, data, said, true, false); err != nil {
			return fmt.Errorf("reflect upon session %s: %w", session.ID, err)
		}
		if err := session.Unqueue(); err != nil {
			return err
		}
	}
	return nil
}
