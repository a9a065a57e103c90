package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/memcore/memcore/core"
)

// progress shows a bar on a terminal, else a line now and then.
func (t *terminal) progress() (show func(core.Progress), done func()) {
	if t.quiet || t.json && !isTerminal(t.stderr) {
		return nil, func() {}
	}
	if !isTerminal(t.stderr) {
		return t.plainProgress(time.Now), func() {}
	}
	return t.barProgress()
}

// A pace measures the speed of a stage.
type pace struct {
	started time.Time
	first   int // done at the start
}

// of returns 0 while the pace is unknown.
func (p pace) of(now core.Progress, at time.Time) (perSecond float64, left time.Duration) {
	took := at.Sub(p.started).Seconds()
	if took < 0.2 || now.Done <= p.first {
		return 0, 0
	}
	perSecond = float64(now.Done-p.first) / took
	return perSecond, time.Duration(float64(now.Total-now.Done) / perSecond * float64(time.Second))
}

func (p pace) text(now core.Progress, at time.Time, short bool) string {
	perSecond, left := p.of(now, at)
	unit := unitOf(now.Stage, now.Total)
	switch {
	case perSecond == 0 && short:
		return ""
	case perSecond == 0:
		return unit
	case short:
		return fmt.Sprintf("%.0f/s %v", perSecond, left.Round(time.Second))
	}
	return fmt.Sprintf("%s, %.0f/s, %v left", unit, perSecond, left.Round(time.Second))
}

// An outlook says once that embedding goes on from an earlier run, and once how long it will take.
type outlook struct {
	continues, foretold bool
}

// longIndex is the time from which on it is worth saying beforehand.
const longIndex = 15 * time.Second

// text returns what is to be said now, or "".
func (o *outlook) text(p core.Progress, going pace, at time.Time) string {
	if p.Stage != "embed" {
		return ""
	}
	if p.Kept > 0 && !o.continues {
		o.continues = true
		return fmt.Sprintf("going on from an earlier run, which has embedded %d of %d chunks", p.Kept, p.Kept+p.Total)
	}
	perSecond, left := going.of(p, at)
	if perSecond == 0 || o.foretold {
		return ""
	}
	o.foretold = true
	if left < longIndex {
		return ""
	}
	return fmt.Sprintf("this takes about %s; words are searchable now, and Ctrl-C keeps what is done", roundly(left))
}

// narrow is the width, in columns, below which a bar has no words.
const narrow = 80

func (t *terminal) barProgress() (show func(core.Progress), done func()) {
	var bar *progressbar.ProgressBar
	stage := ""
	var going pace
	var ahead outlook
	finish := func() {
		if bar != nil {
			bar.Exit() // an interrupted run does not show 100 %
			fmt.Fprintln(t.stderr)
			bar = nil
		}
	}
	return func(p core.Progress) {
		if p.Stage == "compact" {
			finish() // a note may follow
		}
		if p.Total == 0 {
			return
		}
		if p.Stage != stage {
			finish()
			stage, going = p.Stage, pace{time.Now(), p.Done}
			bar = t.bar(p)
		}
		if bar == nil {
			return
		}
		if text := ahead.text(p, going, time.Now()); text != "" {
			bar.Clear()
			t.note("%s", text)
		}
		short := t.width() < narrow
		bar.Describe(strings.TrimSpace(verbOf(stage, short) + " " + going.text(p, time.Now(), short)))
		bar.ChangeMax(p.Total)
		bar.Set(p.Done)
	}, finish
}

func (t *terminal) bar(p core.Progress) *progressbar.ProgressBar {
	return progressbar.NewOptions(p.Total, progressbar.OptionSetWriter(t.stderr.raw), progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionEnableColorCodes(os.Getenv("NO_COLOR") == ""), progressbar.OptionSetWidth(max(min(t.width()/4, 40), 5)))
}

// width is the width in columns; 80 if it is unknown.
func (t *terminal) width() int {
	if f := fileOf(t.stderr); f != nil {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 80
}

// plainEvery is the interval of progress lines.
const plainEvery = 10 * time.Second

func (t *terminal) plainProgress(now func() time.Time) func(core.Progress) {
	stage := ""
	var going pace
	var ahead outlook
	var said time.Time
	return func(p core.Progress) {
		if p.Total == 0 {
			return
		}
		at := now()
		if p.Stage != stage {
			stage, going, said = p.Stage, pace{at, p.Done}, at
			t.note("%s %d %s", strings.ToLower(verbOf(stage, false)), p.Total, unitOf(stage, p.Total))
		}
		if text := ahead.text(p, going, at); text != "" {
			t.note("%s", text)
		}
		if at.Sub(said) >= plainEvery && p.Done < p.Total {
			said = at
			t.note("%s: %d of %d %s", strings.ToLower(verbOf(stage, false)), p.Done, p.Total, going.text(p, at, false))
		}
	}
}

func verbOf(stage string, short bool) string {
	switch {
	case stage == fetchStage:
		return "Fetching"
	case stage == "embed" && short:
		return "Embed"
	case stage == "embed":
		return "Embedding"
	case short:
		return "Read"
	}
	return "Reading"
}

func unitOf(stage string, n int) string {
	switch {
	case stage == fetchStage:
		return "KB"
	case stage == "embed" && n == 1:
		return "chunk"
	case stage == "embed":
		return "chunks"
	case n == 1:
		return "document"
	}
	return "documents"
}

// noteWaiting reports that indexing waits for another process, or that compaction takes long.
func (t *terminal) noteWaiting(show func(core.Progress)) (_ func(core.Progress), stop func()) {
	waiting := t.noteIfSlow("waiting for another process that is indexing this memory")
	compacting := func() bool { return false }
	return func(p core.Progress) {
			waiting()
			if show != nil {
				show(p)
			}
			if p.Stage == "compact" {
				compacting()
				compacting = t.noteIfSlow("making the index fast again after many changes")
			}
		}, func() {
			waiting()
			compacting()
		}
}

// noteIfSlow prints a note unless stop is called soon.
func (t *terminal) noteIfSlow(text string) (stop func() bool) {
	return time.AfterFunc(waitBefore, func() { t.note("%s", text) }).Stop
}

// waitBefore is the time before such a note.
const waitBefore = time.Second
