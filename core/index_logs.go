package core

import (
	"maps"
	"time"

	"github.com/memcore/memcore/core/source"
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
	all := LogsStatus{LeftOut: map[string]int{}}
	for _, e := range m.Documents {
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
	if all.Turns == 0 {
		return nil
	}
	return &all
}
