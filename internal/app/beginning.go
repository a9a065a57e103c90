package app

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/app/guard"
	"github.com/memcore/memcore/internal/paths"
)

// SessionStart returns loaded curated memory and the reference; with an error, what could be read.
func (s *Service) SessionStart(ctx context.Context, current *session.Session, loaded curated.Memory) (string, error) {
	elsewhere := askContext(ctx, s)
	reference, _, _, err := s.reference(ctx, current, 0)
	own := formatter.Join(formatter.Curated(loaded), RemoteOf(s.Workspace).contextIn(elsewhere(), 0))
	return hook.Beginning{Curated: own, Reference: reference}.Text(), err
}

// askContext asks the memory service for its curated memory, and returns a function that waits for
// it. If the service fails, that returns the last copy or nothing.
func askContext(ctx context.Context, s *Service) func() string {
	var text string
	var err error
	var asking sync.WaitGroup
	asking.Go(func() { text, err = RemoteOf(s.Workspace).Context(ctx) })
	return func() string {
		asking.Wait()
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("curated memory of the memory service is missing, or as it was last", "error", err)
		}
		return text
	}
}

// beginning returns what a session of an agent begins with in a folder: curated memory without what
// the agent loads itself, and the reference. room limits the characters, a quarter of them for the
// reference; 0 is no limit. With an error it returns what could be read.
func (s *Service) beginning(ctx context.Context, folder string, current *session.Session, agent loading, room int) (b hook.Beginning, err error) {
	if !s.Settings.Enabled {
		return b, nil
	}
	elsewhere := askContext(ctx, s)
	var failed error
	b.Reference, b.Overview, b.Standing, failed = s.reference(ctx, current, room/4)
	if room > 0 && b.Reference != "" {
		room = max(room-utf8.RuneCountInString(b.Reference)-len("\n\n"), 1)
	}
	b.Curated, b.Stamps, b.Versions, err = s.curatedText(ctx, folder, agent, room)
	text := elsewhere()
	if own := utf8.RuneCountInString(b.Curated); room > 0 && own > 0 {
		room = max(room-own-len("\n\n"), 1)
	}
	b.Curated = formatter.Join(b.Curated, RemoteOf(s.Workspace).contextIn(text, room))
	return b, errors.Join(failed, err)
}

// beginningText logs errors, except ctx's.
func (s *Service) beginningText(ctx context.Context, folder string, current *session.Session) (string, error) {
	b, err := s.beginning(ctx, folder, current, loading{}, 0)
	if err != nil && ctx.Err() == nil {
		s.Log.Warn("not all that a session begins with can be read", "workspace", s.Project, "error", err)
	}
	return b.Text(), ctx.Err()
}

// reference returns the index of memory files, what the user said and the overview, framed and
// guarded, a stamp of the overview, and what the user said. room limits its characters; 0 is no
// limit.
func (s *Service) reference(ctx context.Context, current *session.Session, room int) (text, stamp string, said []core.Statement, err error) {
	files, err := s.Notes().files()
	if err != nil {
		return "", "", nil, err
	}
	items, failed := s.listed(ctx, files)
	overview, stamp, err := s.overviewOf(ctx, current)
	err = errors.Join(failed, err)

	standing, failed := s.standing(ctx)
	err = errors.Join(failed, err)

	failing, failed := s.failing(ctx)
	err = errors.Join(failed, err)

	dir, where := s.Names().Of(s.DataDir()), ""
	if current != nil {
		where = s.Names().Of(current.OverviewPath())
	}
	for left := room; ; {
		ofIndex, ofOverview := notes.IndexRoom, session.OverviewRoom
		if left > 0 {
			ofIndex = min(ofIndex, left)
			if overview != "" {
				ofIndex = min(ofIndex, left/2)
			}
		}
		waiting := s.unconfirmed(ctx, files, ofIndex/2)
		index := notes.Index(items, ofIndex-utf8.RuneCountInString(waiting), files.Item)
		index = strings.Trim(index+"\n"+waiting, "\n")
		if left > 0 {
			ofOverview = min(ofOverview, left-utf8.RuneCountInString(index))
		}
		if left == 1 {
			standing, failing = nil, nil // their length is given
		}
		text = formatter.Reference(formatter.Start{Index: index, ReadAt: dir, Standing: standing, Failing: failing, Overview: session.Excerpt(overview, where, ofOverview)})
		over := utf8.RuneCountInString(text) - room
		if room == 0 || over <= 0 || left == 1 {
			return text, stamp, standing, err
		}
		left = max(left-over, 1) // the frame and quotes take room, too
	}
}

// listed returns the memory files that each session is told of. In a folder that nobody trusts they
// are those that memcore made: files that came with it are found when they matter, and what they
// say is judged.
func (s *Service) listed(ctx context.Context, files guard.Files) ([]notes.Item, error) {
	items, err := s.Notes().unguarded(files.Data).List(ctx)
	if err != nil || s.Places != nil || s.Trusted() || !config.IsInside(s.Project, s.DataDir()) {
		return items, err
	}
	journal, err := s.Notes().Journal()
	if err != nil {
		return nil, err
	}
	made, err := journal.Made()
	dir := paths.Resolve(s.DataDir())
	return slices.DeleteFunc(items, func(i notes.Item) bool { return !made[filepath.Join(dir, filepath.FromSlash(i.Path))] }), err
}

// standing returns what the user said for all later work.
func (s *Service) standing(ctx context.Context) ([]core.Statement, error) {
	if s.Manager == nil {
		return nil, nil
	}
	all, err := s.Manager.Standing(ctx, core.MaxStanding, core.MaxStandingTokens)
	if err != nil {
		return nil, fmt.Errorf("what the user said in earlier sessions: %w", err)
	}
	return all, nil
}

const (
	// maxFailing and maxFailingRunes bound what a session begins with of what fails again and
	// again.
	maxFailing      = 5
	maxFailingRunes = 700
	// oftenFailing is in how many sessions a command must have failed if nothing is known to work.
	oftenFailing = 3
)

// failing returns commands that fail again and again.
func (s *Service) failing(ctx context.Context) (some []core.Failing, err error) {
	if s.Manager == nil {
		return nil, nil
	}
	all, err := s.Manager.Failing(ctx, 10*maxFailing)
	if err != nil {
		return nil, fmt.Errorf("what failed in earlier sessions: %w", err)
	}
	room := maxFailingRunes
	for _, f := range all {
		if f.Cure == "" && f.Sessions < oftenFailing {
			continue
		}
		if room -= utf8.RuneCountInString(formatter.FailingLine(f)); room < 0 || len(some) == maxFailing {
			break
		}
		some = append(some, f)
	}
	return some, nil
}

const (
	// maxUnconfirmed limits the proposals in the reference.
	maxUnconfirmed = 5
	// maxUnconfirmedText limits the characters of each.
	maxUnconfirmedText = 200
)

// unconfirmed lists the newest proposals of earlier sessions, in room characters; "" with an index,
// since retrieval finds them.
func (s *Service) unconfirmed(ctx context.Context, files guard.Files, room int) string {
	if _, err := os.Stat(s.at.Index); err == nil {
		return ""
	}
	all, err := s.Notes().Proposals().Waiting()
	if err != nil {
		s.Log.Warn("proposals cannot be read", "workspace", s.Project, "error", err)
	}
	var lines []string
	for _, p := range slices.Backward(all) {
		text := "- said by the user, not confirmed: " + strings.TrimPrefix(p.Text, "- ")
		switch {
		case p.Kind == notes.ProposedFix:
			_, text, _ = strings.Cut(p.Text, "- Date: ")
			text = "- solved before, not confirmed: " + text
		case p.Kind == notes.ProposedSave:
			text = "- saved by a model, not confirmed: " + strings.TrimPrefix(p.Text, "- ")
		case !p.AboutUser:
			continue
		}
		if text = files.Line(text); utf8.RuneCountInString(text) > maxUnconfirmedText {
			text = string([]rune(text)[:maxUnconfirmedText-1]) + "…"
		}
		if room -= utf8.RuneCountInString(text) + 1; room < 0 || len(lines) == maxUnconfirmed {
			break
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}

// overviewOf returns a session's overview for a model, and its stamp.
func (s *Service) overviewOf(ctx context.Context, current *session.Session) (text, stamp string, err error) {
	if current == nil {
		return "", "", nil
	}
	text, err = current.Overview(ctx)
	if text = session.FilledIn(text); text == "" || err != nil {
		return "", "", err
	}
	files, err := s.Notes().files()
	if err != nil {
		return "", "", err
	}
	sum := fnv.New64a()
	sum.Write([]byte(text))
	return files.Text(text), fmt.Sprintf("%x", sum.Sum64()), nil
}

// curatedText returns the curated memory of a folder, without what the agent loads, the stamps, by
// path, of the documents that it gives whole, and the versions of all.
func (s *Service) curatedText(ctx context.Context, folder string, agent loading, room int) (text string, stamps, versions map[string]string, err error) {
	if !s.Settings.Enabled {
		return "", nil, nil, nil
	}
	o := s.workIn(s.curatedOptions(), folder)
	o.Names = slices.DeleteFunc(slices.Clone(o.Names), func(name string) bool { return slices.Contains(agent.names, name) })
	if len(o.Names) == 0 {
		return "", nil, nil, nil
	}
	o.Limits.Runes = room
	agent.set(&o)
	layer := curated.New(o)
	memory, err := layer.Load(ctx)
	if err != nil {
		return "", nil, nil, fmt.Errorf("curated memory: %w", err)
	}
	s.keepPrivate(layer, memory)
	return formatter.Curated(memory), s.stampsOf(memory), memory.Versions(), nil
}

// A loading is what an agent loads itself: files of these names, and with what they import these
// files, by absolute path.
type loading struct {
	agent        string
	names, files []string
}

// set leaves out what the agent loads, and what is for another agent alone.
func (l loading) set(o *curated.Options) {
	o.Loaded, o.Has = l.names, l.files
	o.Others = slices.DeleteFunc(slices.Clone(o.Others), func(name string) bool { return name == l.agent })
}

// loadingOf returns what an agent loads for a folder, trusted or not.
func (s *Service) loadingOf(ctx context.Context, name, folder string) loading {
	agent, _ := agents.Named(name)
	l := loading{agent: name, names: agent.OwnFiles}
	if !agent.FollowsImports {
		return l
	}
	o := s.workIn(s.curatedOptions(), folder)
	o.Names, o.Plugins, o.Mounts, o.Limits, o.Trust = agent.OwnFiles, []string{""}, nil, curated.NoLimits, trustsAll{}
	if memory, err := curated.New(o).Load(ctx); err == nil { // else something may come twice
		l.files = memory.Given()
	}
	return l
}

// trustsAll is the trust of an agent in its own files.
type trustsAll struct{}

// Covering implements curated.Trust.
func (trustsAll) Covering(folder string) (string, error) { return folder, nil }

// stampsOf returns stamps, by path, of documents given whole.
func (w *Workspace) stampsOf(memory curated.Memory) map[string]string {
	names := w.Names()
	stamps := map[string]string{}
	for _, file := range memory.Given() {
		if stamp := stampOf(file); stamp != "" {
			stamps[names.Of(file)] = file + "|" + stamp
		}
	}
	return stamps
}
