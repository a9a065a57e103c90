// Package doctor checks what memory needs, and says how to fix it.
package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/userdir"
)

// States of a check.
const (
	StateOK      = "ok"
	StateWarning = "warning" // memory works, but not as well as it could
	StateProblem = "problem" // memory does not work, or not all of it
)

// A Check is the result of one check.
type Check struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Text  string `json:"text"`         // what was found
	Do    string `json:"do,omitempty"` // what helps
}

// A Diagnosis is the result of all checks.
type Diagnosis struct {
	OK     bool    `json:"ok"` // no problem
	Checks []Check `json:"checks"`
}

// Problems counts the checks that found a problem.
func (d Diagnosis) Problems() int {
	n := 0
	for _, c := range d.Checks {
		if c.State == StateProblem {
			n++
		}
	}
	return n
}

// Examine makes all possible checks of a workspace. It finds the workspace and reads the
// configuration itself.
func Examine(ctx context.Context, w *app.Workspace, version string) Diagnosis {
	d := &doctor{w: w, version: version}
	d.examine(ctx)
	diagnosis := Diagnosis{Checks: d.checks}
	diagnosis.OK = diagnosis.Problems() == 0
	return diagnosis
}

// A doctor collects checks.
type doctor struct {
	w       *app.Workspace
	version string // of this program
	checks  []Check
}

func (d *doctor) ok(name, format string, args ...any) { d.add(name, StateOK, "", format, args...) }

func (d *doctor) warn(name, do, format string, args ...any) {
	d.add(name, StateWarning, do, format, args...)
}

func (d *doctor) problem(name, do, format string, args ...any) {
	d.add(name, StateProblem, do, format, args...)
}

func (d *doctor) add(name, state, do, format string, args ...any) {
	d.checks = append(d.checks, Check{Name: name, State: state, Text: fmt.Sprintf(format, args...), Do: do})
}

func (d *doctor) examine(ctx context.Context) {
	configured := d.configuration()
	if !configured {
		d.warn("the rest", "correct the configuration first", "not checked: it depends on the configuration")
		return
	}
	layer := d.w.Curated().Layer()
	m, err := layer.Load(ctx)
	if err != nil {
		return // ctx has ended
	}
	d.layer(ctx, layer, m)
	at, err := d.w.Folders()
	if err != nil {
		do := "set HOME"
		if errors.Is(err, userdir.ErrForeign) {
			do = config.ForeignHint
		}
		d.problem("folders", do, "%v", err)
		return
	}
	failed := d.sources(ctx, at)
	d.service(ctx)
	d.folder(at)
	d.state(at)
	d.private()
	d.memory(ctx, at, failed)
	d.agents(at)
	d.daemon(ctx)
}
