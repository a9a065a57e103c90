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

// progress shows a bar on a terminal; elsewhere a line when a stage begins, and one now and then.
func (a *app) progress() (show func(core.Progress), done func()) {
	if a.flags.quiet || a.flags.json && !isTerminal(a.stderr) {
		return nil, func() {}
	}
	if !isTerminal(a.stderr) {
		return a.plainProgress(time.Now), func() {}
	}
	return a.barProgress()
}

// A pace is how fast a stage goes.
type pace struct {
	started time.Time
	first   int // done when it started
}

// perSecond and left are 0 until there is something to tell them by.
func (p pace) of(now core.Progress, at time.Time) (perSecond float64, left time.Duration) {
	took := at.Sub(p.started).Seconds()
	if took < 0.2 || now.Done <= p.first {
		return 0, 0
	}
	perSecond = float64(now.Done-p.first) / took
	return perSecond, time.Duration(float64(now.Total-now.Done) / perSecond * float64(time.Second))
}

// text is how fast it goes, and how long that will take.
func (p pace) text(now core.Progress, at time.Time, short bool) string {
	perSecond, left := p.of(now, at)
	unit := unitOf(now.Stage)
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

// narrow is the width below which a bar has no room for words.
const narrow = 80

func (a *app) barProgress() (show func(core.Progress), done func()) {
	var bar *progressbar.ProgressBar
	stage := ""
	var going pace
	finish := func() {
		if bar != nil {
			bar.Exit() // as it stands: an interrupted run is not at its end
			fmt.Fprintln(a.stderr)
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
			bar = a.bar(p)
		}
		if bar == nil {
			return
		}
		short := a.width() < narrow
		bar.Describe(strings.TrimSpace(verbOf(stage, short) + " " + going.text(p, time.Now(), short)))
		bar.ChangeMax(p.Total)
		bar.Set(p.Done)
	}, finish
}

func (a *app) bar(p core.Progress) *progressbar.ProgressBar {
	return progressbar.NewOptions(p.Total, progressbar.OptionSetWriter(a.stderr), progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionEnableColorCodes(os.Getenv("NO_COLOR") == ""), progressbar.OptionSetWidth(max(min(a.width()/4, 40), 5)))
}

// width is the terminal's, in columns; 80 if it does not tell.
func (a *app) width() int {
	if f, ok := a.stderr.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 80
}

// plainEvery is how often a run that is not watched says that it is alive.
const plainEvery = 10 * time.Second

func (a *app) plainProgress(now func() time.Time) func(core.Progress) {
	stage := ""
	var going pace
	var said time.Time
	return func(p core.Progress) {
		if p.Total == 0 {
			return
		}
		at := now()
		if p.Stage != stage {
			stage, going, said = p.Stage, pace{at, p.Done}, at
			a.note("%s %d %s", strings.ToLower(verbOf(stage, false)), p.Total, unitOf(stage))
			return
		}
		if at.Sub(said) >= plainEvery && p.Done < p.Total {
			said = at
			a.note("%s: %d of %d %s", strings.ToLower(verbOf(stage, false)), p.Done, p.Total, going.text(p, at, false))
		}
	}
}

func verbOf(stage string, short bool) string {
	switch {
	case stage == "embed" && short:
		return "Embed"
	case stage == "embed":
		return "Embedding"
	case short:
		return "Read"
	}
	return "Reading"
}

func unitOf(stage string) string {
	if stage == "embed" {
		return "chunks"
	}
	return "documents"
}
