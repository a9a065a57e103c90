package core

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core/digest"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/injection"
)

// A Failing is a command that failed in sessions of agents, each time of the same program and with
// the same error.
type Failing struct {
	// Key names the program and the error.
	Key     string `json:"key"`
	Program string `json:"program"`
	// Command and Shown are of the last time: data, not yet made safe.
	Command string `json:"command"`
	Shown   string `json:"shown"`
	// Cure is what worked after it and never failed so itself; "" if nothing did. Tried is the form
	// that it replaced.
	Cure  string `json:"cure,omitempty"`
	Tried string `json:"tried,omitempty"`
	// Source cites where the cure was found, or without one the last failure.
	Source   string    `json:"source"`
	Path     string    `json:"path"`
	Sessions int       `json:"sessions"` // in how many it failed
	Last     time.Time `json:"last,omitzero"`
}

// maxBrief is the length in bytes up to which a command that failed is given whole.
const maxBrief = 80

// A failed is a failure with its place.
type failed struct {
	digest.Failure
	path string
}

func (f failed) session() string { return cmp.Or(f.Session, f.path) }

func failureKey(f digest.Failure) string {
	sum := sha256.Sum256([]byte(f.Program + "\x00" + f.Error))
	return "failure-" + hex.EncodeToString(sum[:6])
}

// failuresIn returns what failed in logs, by key, oldest first. Logs may repeat what others say,
// when an agent continues a session in a new log.
func failuresIn(logs map[string]Said, wanted func(digest.Failure) bool) map[string][]failed {
	all := map[string][]failed{}
	for path, log := range logs {
		for _, f := range log.Failures {
			if wanted(f) {
				all[failureKey(f)] = append(all[failureKey(f)], failed{f, path})
			}
		}
	}
	for key, some := range all {
		slices.SortFunc(some, func(a, b failed) int {
			return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Command, b.Command), strings.Compare(a.path, b.path), cmp.Compare(a.Line, b.Line))
		})
		all[key] = slices.CompactFunc(some, func(a, b failed) bool {
			return !a.Time.IsZero() && a.Time.Equal(b.Time) && a.Command == b.Command
		})
	}
	return all
}

// failingOf sums up failures of one key, oldest first. Of several cures it takes the newest, or
// with a command that of the failure most like it.
func failingOf(some []failed, command string) Failing {
	last := some[len(some)-1]
	f := Failing{Key: failureKey(last.Failure), Program: last.Program, Command: last.Command, Shown: last.Shown,
		Source: paths.Citation(last.path, last.Line, last.Line), Path: last.path, Last: last.Time}
	sessions, best := map[string]bool{}, 0.0
	for _, one := range slices.Backward(some) {
		sessions[one.session()] = true
		failedToo := func(other failed) bool { return other.Command == one.Cure }
		if one.Cure == "" || slices.ContainsFunc(some, failedToo) {
			continue
		}
		if alike := digest.Alike(one.Command, command); f.Cure == "" || alike > best {
			f.Cure, f.Tried, f.Source, f.Path, best = one.Cure, one.Command, paths.Citation(one.path, one.Line, one.Line), one.path, alike
		}
	}
	f.Sessions = len(sessions)
	for _, command := range []*string{&f.Command, &f.Tried, &f.Cure} {
		*command = digest.Brief(*command, f.Program, maxBrief)
	}
	return f
}

// Failing returns what failed in at least two sessions, at most max: what failed in most first,
// then the newest.
func (m *Manager) Failing(ctx context.Context, max int) (all []Failing, err error) {
	logs, err := m.Said(ctx)
	if err != nil {
		return nil, err
	}
	for _, some := range failuresIn(logs, func(digest.Failure) bool { return true }) {
		if f := failingOf(some, ""); f.Sessions > 1 {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b Failing) int {
		return cmp.Or(cmp.Compare(b.Sessions, a.Sessions), b.Last.Compare(a.Last), strings.Compare(a.Key, b.Key))
	})
	kept := all[:0]
	for _, f := range all {
		if len(kept) == max {
			break
		}
		if !m.suspects(f) {
			kept = append(kept, f)
		}
	}
	return kept, nil
}

// FailedBefore returns what failed in other sessions as f did now: the same program with the same
// error. ok is false if nothing did, or nothing is known to work that was not just tried.
func (m *Manager) FailedBefore(ctx context.Context, f digest.Failure, session string) (before Failing, ok bool, err error) {
	logs, err := m.Said(ctx)
	if err != nil {
		return Failing{}, false, err
	}
	before, ok = failedBefore(logs, f, session)
	return before, ok && !m.suspects(before), nil
}

func failedBefore(logs map[string]Said, f digest.Failure, session string) (before Failing, ok bool) {
	some := failuresIn(logs, func(other digest.Failure) bool {
		return other.Program == f.Program && other.Error == f.Error && (session == "" || other.Session != session)
	})[failureKey(f)]
	if len(some) == 0 {
		return Failing{}, false
	}
	for i := range some {
		if some[i].Cure == f.Command {
			some[i].Cure = ""
		}
	}
	before = failingOf(some, f.Command)
	return before, before.Cure != ""
}

// suspects reports whether a failure reads like instructions to a model: what a command writes may
// come from anywhere.
func (m *Manager) suspects(f Failing) bool {
	return m.injections.Judge(strings.Join([]string{f.Command, f.Shown, f.Tried, f.Cure, Sentence(f.Path)}, "\n"), injection.Foreign).Flagged
}
