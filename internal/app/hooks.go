package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/text/plain"
)

// A hookMemory implements hook.Memory for an agent that works in a folder.
type hookMemory struct {
	*Service
	folder string
	agent  loading
	told   *[]string // by Notice: events, as in httpapi.HookReply
}

// RetrieveRelevant implements hook.Memory.
func (s hookMemory) RetrieveRelevant(ctx context.Context, request string, o core.RetrieveOptions) (core.Result, error) {
	return s.Manager.RetrieveRelevant(ctx, request, o)
}

// Beginning implements hook.Memory. While the session has no overview, the model is told how to
// write one.
func (s hookMemory) Beginning(ctx context.Context, e hook.Event, room int) (hook.Beginning, error) {
	current, failed := s.Sessions().ofEvent(e)
	b, err := s.beginning(ctx, s.folder, current, s.agent, room)
	if agent, _ := agents.Named(e.Agent); b.Overview == "" && e.Session != "" && (e.Kind == hook.SessionStart || agent.BeginsAtPrompt || b.Text() != "") {
		told := b
		told.Reference = formatter.Join(b.Reference, formatter.WorkingMemory(sessionMount+"/"+SessionID(e)))
		if room == 0 || utf8.RuneCountInString(told.Text()) <= room {
			b = told
		}
	}
	return b, errors.Join(failed, err)
}

// Overview implements hook.Memory.
func (s hookMemory) Overview(ctx context.Context, e hook.Event, known string) (text, stamp string, err error) {
	current, err := s.Sessions().ofEvent(e)
	if current == nil || err != nil {
		return "", "", err
	}
	overview, stamp, err := s.overviewOf(ctx, current)
	if stamp == known || err != nil {
		return "", "", err
	}
	return formatter.Reference(formatter.Start{Overview: session.Excerpt(overview, s.Names().Of(current.OverviewPath()), session.OverviewRoom)}), stamp, nil
}

// Now implements hook.Memory. Calls share only the files read.
func (s hookMemory) Now(ctx context.Context, began string, at curated.Moment) (hook.Applied, error) {
	if !s.Settings.Enabled {
		return hook.Applied{}, nil
	}
	o := s.workIn(s.curatedOptions(), s.FolderWithin(began))
	s.agent.set(&o)
	at.Named, at.Touched = absolute(s.folder, at.Named), absolute(s.folder, at.Touched)
	layer := curated.New(o)
	memory, err := layer.Now(ctx, at)
	if err != nil {
		return hook.Applied{}, fmt.Errorf("rules: %w", err)
	}
	s.keepPrivate(layer, memory)
	applied := hook.Applied{Text: formatter.Now(memory), Versions: memory.Versions(), Stamps: s.stampsOf(memory)}
	for _, path := range memory.Gone() {
		applied.Rules = append(applied.Rules, journal.Rule{Path: path, Why: "it no longer applies"})
	}
	for _, f := range memory.Files {
		_, applies := memory.Versions()[f.File]
		switch {
		case slices.Contains(memory.Gone(), f.Path):
		case applies && f.Reason == "":
			applied.Rules = append(applied.Rules, journal.Rule{Path: f.Path, Given: true, Why: f.Applies})
		case applies || f.Has || f.Untrusted && (f.Kind == curated.Rule || f.Tier == curated.Directory):
			applied.Rules = append(applied.Rules, journal.Rule{Path: f.Path, Why: f.Reason})
		}
	}
	return applied, nil
}

// Unchanged implements hook.Memory.
func (s hookMemory) Unchanged(stamps map[string]string) (same []string) {
	for path, stamp := range stamps {
		if file, then, ok := strings.Cut(stamp, "|"); ok && stampOf(file) == then {
			same = append(same, path)
		}
	}
	return same
}

// FailedBefore implements hook.Memory.
func (s hookMemory) FailedBefore(ctx context.Context, e hook.Event) (before core.Failing, ok bool, err error) {
	if !s.Settings.Enabled || s.Manager == nil || e.Failed == nil {
		return core.Failing{}, false, nil
	}
	before, ok, err = s.Manager.FailedBefore(ctx, *e.Failed, e.Session)
	if err != nil {
		return core.Failing{}, false, fmt.Errorf("what failed in earlier sessions: %w", err)
	}
	return before, ok, nil
}

// Note implements hook.Memory. It appends to the session, or notes where the agent's own log is.
func (s hookMemory) Note(ctx context.Context, e hook.Event, role, text string) error {
	current, err := s.Sessions().openOrNew(ctx, e)
	if current == nil || err != nil {
		return err
	}
	if agent, _ := agents.Named(e.Agent); agent.KeepsLog {
		logged, err := isLogged(ctx, current, e)
		if err != nil {
			return err
		}
		if logged {
			return current.SetLog(e.Transcript)
		}
		if err := current.SetLog(""); err != nil { // what is noted here is no copy
			return err
		}
	}
	_, err = current.Append(ctx, session.Message{Role: role, Content: text}, session.AppendOptions{})
	return err
}

// isLogged reports whether an agent, which keeps logs that memcore reads, keeps one of the session.
// At the first prompt it may not have begun it.
func isLogged(ctx context.Context, current *session.Session, e hook.Event) (bool, error) {
	if !filepath.IsAbs(e.Transcript) {
		return false, nil
	}
	err := source.CheckLog(ctx, e.Transcript)
	return err == nil || e.Kind == hook.Prompt && errors.Is(err, fs.ErrNotExist) && !current.HasMessages(), ctx.Err()
}

// Compacted implements hook.Memory.
func (s hookMemory) Compacted(ctx context.Context, e hook.Event) error {
	current, err := s.Sessions().ofEvent(e)
	if current == nil || err != nil || !filepath.IsAbs(e.Transcript) {
		return err
	}
	return current.KeepSummary(ctx, e.Transcript)
}

// CompactedAt implements hook.Memory.
func (s hookMemory) CompactedAt(ctx context.Context, e hook.Event) (time.Time, error) {
	if !filepath.IsAbs(e.Transcript) {
		return time.Time{}, nil
	}
	return session.Compacted(ctx, e.Transcript)
}

// Ended implements hook.Memory.
func (s hookMemory) Ended(ctx context.Context, e hook.Event) error {
	current, err := s.Sessions().ofEvent(e)
	if current == nil || err != nil || !s.Settings.Enabled {
		return err
	}
	if s.Settings.Reflect.Auto {
		err = current.Queue()
	}
	if err == nil {
		err = s.Notes().lookThrough(ctx, current)
	}
	return err
}

// absolute returns absolute paths.
func absolute(folder string, all []string) []string {
	all = slices.Clone(all)
	for i, path := range all {
		if !filepath.IsAbs(path) {
			all[i] = filepath.Join(folder, path)
		}
	}
	return all
}

// DirOf is an event's folder, if it has one.
func DirOf(e hook.Event, otherwise string) string {
	if filepath.IsAbs(e.Dir) {
		return e.Dir
	}
	return otherwise
}

// Hook implements httpapi.Workspace.
func (s *Service) Hook(ctx context.Context, r httpapi.HookRequest) (httpapi.HookReply, error) {
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
	e.Dir = DirOf(e, r.Workspace)
	within := ctx
	if r.Within > 0 {
		var stop context.CancelFunc
		within, stop = context.WithTimeout(ctx, time.Duration(r.Within)*time.Millisecond)
		defer stop()
	}
	e.ID, e.Cut = r.ID, r.Cut
	answer := s.HookReply(within, e)
	if ctx.Err() != nil {
		return httpapi.HookReply{}, ctx.Err() // the hook no longer waits
	}
	return answer, nil
}

// HookReply answers an event and puts it into the journal. notes are for a person who reads that.
func (s *Service) HookReply(ctx context.Context, e hook.Event, notes ...string) (answer httpapi.HookReply) {
	defer s.hooks.begin()()
	if (FirstIndex{s.Workspace, s.at}).wanted(e) {
		answer.Index = s.Project
	}
	if !s.Settings.Enabled {
		if e.Kind == hook.Prompt || e.Kind == hook.SessionStart {
			e.ID = cmp.Or(e.ID, journal.NewID())
			answer.Entry = e.ID
			s.Record(e, journal.Entry{Answer: journal.Answer{Reason: TurnedOff, Notes: append(notes, s.notices.take()...)}})
		}
		return answer
	}
	e.Dir = DirOf(e, s.Dir)
	budget := s.Settings.Hook.Budget
	o := hook.Options{Retrieve: s.RetrieveOptions(), Journal: s.at.Journal(), NoLog: !s.Settings.Hook.Log, Within: budget, BeginWithin: budget / 3}
	o.Notes = func() []string { return append(notes, s.notices.take()...) }
	var told []string
	memory := hookMemory{Service: s, folder: s.FolderWithin(e.Dir), told: &told}
	memory.agent = s.loadingOf(ctx, e.Agent, memory.folder)
	o.Retrieve.Has = slices.Concat(o.Retrieve.Has, memory.agent.names, memory.agent.files)
	o.Open = OpenByName
	reply, entry, recorded := hook.Handle(ctx, e, memory, o)
	if answer.Reply = string(reply); reply != nil {
		answer.Told = told
	}
	if recorded {
		answer.Entry = entry.ID
	}
	return answer
}

// Record adds to the journal what is known of an event that was not answered. It ignores errors.
func (w *Workspace) Record(e hook.Event, known journal.Entry) {
	if w.Project == "" && w.Prepare() != nil {
		return
	}
	at, err := w.Folders()
	if err != nil {
		return
	}
	entry := e.Entry(time.Now(), w.Settings.Hook.Log)
	known.Head, known.Event = entry.Head, entry.Event
	ctx, stop := context.WithTimeout(context.Background(), maxRecord) // even if time is up
	defer stop()
	_ = at.Journal().Append(ctx, known)
}

// maxRecord is how long the record of an event waits for other processes. One that was stopped while
// it wrote would otherwise keep all later ones, each asking for the lock forever.
const maxRecord = 5 * time.Second

// Shown implements hook.Memory. It tells of memory files that agents do not get as long as nobody
// has decided about their folder, and of secrets in others; of each once.
func (s hookMemory) Shown(ctx context.Context, e hook.Event) string {
	if s.NotCurated() != nil {
		return ""
	}
	m, err := curated.New(s.workIn(s.curatedOptions(), s.folder)).Load(ctx)
	if err != nil {
		return ""
	}
	var texts, about []string
	for _, w := range m.Warnings {
		if w.Secret {
			texts, about = append(texts, "memcore: "+plain.OneLine(w.String())), append(about, "secret in "+w.Path)
		}
	}
	if unused := s.undecided(ctx, m); len(unused) > 0 {
		texts = append(texts, fmt.Sprintf("memcore does not use %s here, since nobody has trusted this folder: 'memcore trust list .' shows what they are, 'memcore trust add' trusts them.", plain.Count(len(unused), "memory file")))
		about = append(about, unused...)
	}
	if len(about) == 0 {
		return ""
	}
	known := true
	_, err = jsonfile.ChangeDerived(ctx, s.at.Told(), func(told *[]string) error {
		known = !slices.ContainsFunc(about, func(one string) bool { return !slices.Contains(*told, one) })
		if !known {
			*told = about
		}
		return nil
	})
	if known || err != nil {
		return ""
	}
	return strings.Join(texts, "\n")
}

// undecided returns the memory files that the agent does not get since nobody has decided about
// their folder.
func (s hookMemory) undecided(ctx context.Context, m curated.Memory) (files []string) {
	if _, decided, err := s.Trust().Of(m.Project); m.Trusted || decided || err != nil {
		return nil
	}
	for _, f := range s.Curated().Untrusted(ctx, m) {
		if !slices.Contains(s.agent.names, filepath.Base(f.File)) {
			files = append(files, f.File)
		}
	}
	return files
}

// Notice implements hook.Memory. It saves what a prompt asks to remember, decides as a prompt says,
// and reports once what waits: at a session's start how much, and later what models ask for.
func (s hookMemory) Notice(ctx context.Context, e hook.Event, begins bool) string {
	if !s.Settings.Enabled {
		return ""
	}
	did, none, err := s.Notes().decide(ctx, e.Prompt)
	r, failed := s.Notes().remember(ctx, e.Prompt)
	if err = errors.Join(err, failed); err != nil {
		s.Log.Warn("what a prompt asked of memory is not done", "workspace", s.Project, "error", err)
	}
	said := formatter.Join(did, r.saved())
	earlier := s.untold(ctx, e, said, did != "" || r.isNew)
	if earlier != "" {
		none = "" // another process may have decided about it for the same prompt
	}
	return formatter.Join(earlier, said, none, r.withheld(), s.waiting(ctx, e, begins))
}

// untold returns what was done at earlier events and the agent was not told of, beside what is said
// now. If that is new, it is kept until it is told. Nobody says of events without an ID whether
// they are answered.
func (s hookMemory) untold(ctx context.Context, e hook.Event, said string, isNew bool) string {
	if e.ID == "" {
		return ""
	}
	proposals := s.Notes().Proposals()
	untold, err := proposals.Untold(SessionID(e))
	if isNew {
		// What is done is kept even if time is up.
		own, stop := context.WithTimeout(context.WithoutCancel(ctx), recordWait)
		defer stop()
		err = errors.Join(err, proposals.Keep(own, notes.Deed{Event: e.ID, Session: SessionID(e), Text: said}))
		*s.told = append(*s.told, e.ID)
	}
	if err != nil {
		s.Log.Warn("what was done for a prompt may be told twice or not", "workspace", s.Project, "error", err)
	}
	var texts []string
	for _, d := range untold {
		*s.told = append(*s.told, d.Event)
		if d.Text != said && !slices.Contains(texts, d.Text) {
			texts = append(texts, d.Text)
		}
	}
	return formatter.Join(texts...)
}

// waiting says what waits for the person, once.
func (s hookMemory) waiting(ctx context.Context, e hook.Event, begins bool) string {
	of := notes.Proposal.Asked
	if begins {
		of = func(notes.Proposal) bool { return true }
		short, stop := context.WithTimeout(ctx, s.Settings.Hook.Budget/earlierShare)
		if err := s.Notes().LookThroughEarlier(short, SessionID(e), maxEarlier); err != nil && short.Err() == nil {
			s.Log.Warn("earlier sessions were not looked through", "error", err)
		}
		stop()
	}
	fresh, err := s.Notes().Proposals().Report(ctx, of)
	if err != nil || len(fresh) == 0 {
		return ""
	}
	if begins {
		all, _ := s.Notes().Proposals().Waiting()
		return fmt.Sprintf("memcore: %s for the user's yes or no, from earlier sessions. Tell them once: 'memcore memory pending' shows what.", plain.Waits(len(all)))
	}
	text, err := s.Notes().pendingText(fresh)
	if err != nil {
		return ""
	}
	return "memcore: waits for the user's yes or no. Tell them once, with the text; they answer \"accept " + fresh[0].ID + "\" or \"decline " + fresh[0].ID + "\":\n" + formatter.Frame(text)
}
