package core

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/plain"
)

// A LogsStatus is how much of agents' logs is indexed.
type LogsStatus struct {
	Turns int `json:"turns"`
	Kept  int `json:"kept"` // turns that can be found
	// LeftOut counts the others by reason: "request", "announcement", "short", "unknown", "code",
	// "pasted", "summary" or "tool calls".
	LeftOut map[string]int `json:"leftOut"`
	// Gone counts the logs that their agents have deleted; what was kept of them takes GoneBytes on
	// disk. GoneSince is when the oldest was last written.
	Gone      int       `json:"gone,omitempty"`
	GoneBytes int64     `json:"goneBytes,omitempty"`
	GoneSince time.Time `json:"goneSince,omitzero"`
	// Unknown are the records that were passed over.
	Unknown []UnknownRecords `json:"unknown,omitempty"`
}

// UnknownRecords are records of agents' logs whose kind memcore does not know, as a newer agent
// writes them. They are passed over.
type UnknownRecords struct {
	Format  string `json:"format"`            // of the logs, such as "claude-code"
	Version string `json:"version,omitempty"` // of the agent; "" if the logs do not say it
	Kind    string `json:"kind"`              // such as `type "teleport"`
	Records int    `json:"records"`
	At      string `json:"at"` // cites one of them
}

// String is for people.
func (u UnknownRecords) String() string {
	version := ""
	if u.Version != "" {
		version = " " + u.Version
	}
	return fmt.Sprintf("%s%s: %s with %s (%s)", u.Format, version, plain.Count(u.Records, "record"), u.Kind, u.At)
}

func unknownRecords(doc source.Document, content source.Content) (all []UnknownRecords) {
	for _, u := range content.Unknown {
		all = append(all, UnknownRecords{doc.Format, u.Version, u.Kind, u.Records, paths.Citation(doc.Path, u.Line, u.Line)})
	}
	return all
}

// unknownRecords adds up those of all logs.
func (m *manifest) unknownRecords() (all []UnknownRecords) {
	type kind struct{ format, version, kind string }
	index := map[kind]int{}
	for _, path := range m.paths() {
		for _, u := range m.of(path).Unknown {
			k := kind{u.Format, u.Version, u.Kind}
			if i, ok := index[k]; ok {
				all[i].Records += u.Records
				continue
			}
			index[k] = len(all)
			all = append(all, u)
		}
	}
	slices.SortStableFunc(all, func(a, b UnknownRecords) int {
		return cmp.Or(cmp.Compare(a.Format, b.Format), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}

// newUnknown returns the records whose kind and version are not in before: those have been
// reported.
func (m *manifest) newUnknown(before []UnknownRecords) []UnknownRecords {
	return slices.DeleteFunc(m.unknownRecords(), func(u UnknownRecords) bool {
		return slices.ContainsFunc(before, func(b UnknownRecords) bool {
			return b.Format == u.Format && b.Version == u.Version && b.Kind == u.Kind
		})
	})
}

// countTurns counts an agent's turns; known has earlier ones.
func (e *entry) countTurns(content source.Content, leftOut []string, known entry) {
	e.Turns, e.TurnsBefore = map[string]int{}, map[string]int{}
	if content.From > 1 {
		maps.Copy(e.Turns, known.TurnsBefore)
		maps.Copy(e.TurnsBefore, known.TurnsBefore)
	}
	for i, reason := range leftOut {
		e.Turns[reason]++
		if content.Turns[i].Line <= content.Resume.Line {
			e.TurnsBefore[reason]++
		}
	}
}

func (m *manifest) logs() *LogsStatus {
	all := LogsStatus{LeftOut: map[string]int{}, Unknown: m.unknownRecords()}
	for _, e := range m.all() {
		if e.Gone {
			all.Gone++
			all.GoneBytes += e.Kept.Bytes
			if all.GoneSince.IsZero() || e.ModTime.Before(all.GoneSince) {
				all.GoneSince = e.ModTime
			}
		}
		for reason, n := range e.Turns {
			all.Turns += n
			if reason == "" {
				all.Kept += n
			} else {
				all.LeftOut[reason] += n
			}
		}
	}
	if all.Turns == 0 && len(all.Unknown) == 0 {
		return nil
	}
	return &all
}
