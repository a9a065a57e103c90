package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/memcore/memcore/core"
)

// A log of a run shows now and then its speed and the time left, not every step.
func TestPlainProgress(t *testing.T) {
	var out bytes.Buffer
	a := &terminal{stderr: newScreen(&out)}
	now := time.Unix(1000, 0)
	show := a.plainProgress(func() time.Time { return now })
	show(core.Progress{Stage: "scan"})
	show(core.Progress{Stage: "read", Done: 0, Total: 20})
	show(core.Progress{Stage: "read", Done: 20, Total: 20})
	for i := range 30 {
		show(core.Progress{Stage: "embed", Done: 100 * i, Total: 3000, Kept: 500})
		now = now.Add(time.Second)
	}
	show(core.Progress{Stage: "embed", Done: 3000, Total: 3000})
	const want = `memcore: reading 20 documents
memcore: embedding 3000 chunks
memcore: going on from an earlier run, which has embedded 500 of 3500 chunks
memcore: this takes about 29 seconds; words are searchable now, and Ctrl-C keeps what is done
memcore: embedding: 1000 of 3000 chunks, 100/s, 20s left
memcore: embedding: 2000 of 3000 chunks, 100/s, 10s left
`
	if out.String() != want {
		t.Errorf("progress in a log:\n%s\nwant:\n%s", &out, want)
	}
}

func TestPace(t *testing.T) {
	start := time.Unix(0, 0)
	for _, tt := range []struct {
		name        string
		first, done int
		after       time.Duration
		short       bool
		want        string
	}{
		{"too early to tell", 0, 10, 100 * time.Millisecond, false, "chunks"},
		{"too early, no room", 0, 10, 100 * time.Millisecond, true, ""},
		{"nothing done", 50, 50, time.Minute, false, "chunks"},
		{"what was there before does not count", 500, 600, 10 * time.Second, false, "chunks, 10/s, 40s left"},
		{"no room", 0, 600, 10 * time.Second, true, "60/s 7s"},
		{"at the end", 0, 1000, 10 * time.Second, false, "chunks, 100/s, 0s left"},
	} {
		got := pace{start, tt.first}.text(core.Progress{Stage: "embed", Done: tt.done, Total: 1000}, start.Add(tt.after), tt.short)
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
