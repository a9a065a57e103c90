package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

// Values of the setting engine.
const (
	engineAuto    = "auto"
	engineFlat    = "flat"
	engineLanceDB = "lancedb"
)

// A vectorEngine is what keeps vectors. Which ones this build has is in builtEngines, its default
// first; keywords are in Bleve segments with each of them.
type vectorEngine struct {
	name string
	open func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error)
}

var flatEngine = vectorEngine{engineFlat, func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
	return flat.Open(ctx, dir, dimension)
}}

func openKeywords(ctx context.Context, dir string) (store.KeywordIndex, error) {
	return keyword.Open(ctx, dir)
}

// engineNames are those of this build, its default first.
func engineNames() []string {
	var names []string
	for _, e := range builtEngines {
		names = append(names, e.name)
	}
	return names
}

// engineNamed returns an engine; one that this build does not have opens no vectors and says why, so
// that keywords answer alone.
func engineNamed(name string) store.Engine {
	engine := store.Engine{Name: name, Keywords: openKeywords}
	for _, built := range builtEngines {
		if built.name == name {
			engine.Vectors = built.open
			return engine
		}
	}
	engine.Vectors = func(context.Context, string, int) (store.VectorIndex, error) {
		return nil, fmt.Errorf("vectors are kept by %s: %w", name, notBuilt(name))
	}
	return engine
}

// notBuilt is the error of an engine that this build does not have, and says how to get it.
func notBuilt(name string) error {
	if name == engineLanceDB {
		return errors.New("this build of memcore has no LanceDB; 'make lancedb' in its source builds one that has")
	}
	return fmt.Errorf("this build of memcore has no engine %q, only %s", name, strings.Join(engineNames(), " and "))
}

func isBuilt(name string) bool { return slices.Contains(engineNames(), name) }

// An engineChoice says which engine keeps the vectors of a memory, and why. Queries use the one that
// the index was made with, whatever is configured: only indexing moves vectors.
type engineChoice struct {
	indexed string // that of the index there is; "" if there is none, or one without vectors

	inUse, reason    string // for queries
	next, nextReason string // for indexing
}

const asIndexed = "as the index was made with"

// chooseEngine decides by the setting and where it stands, the engine of the index there is, and
// those of this build, the default first.
func chooseEngine(setting, origin, indexed string, built []string) engineChoice {
	c := engineChoice{indexed: indexed, next: setting, nextReason: origin}
	if setting == engineAuto {
		switch {
		case indexed == "":
			c.next, c.nextReason = built[0], "the default of this build"
		case slices.Contains(built, indexed):
			c.next, c.nextReason = indexed, asIndexed
		default:
			c.next, c.nextReason = built[0], "the default of this build, which does not have "+indexed
		}
	}
	c.inUse, c.reason = c.next, c.nextReason
	if indexed != "" && indexed != c.next {
		c.inUse, c.reason = indexed, asIndexed
	}
	return c
}

// moves tells whether indexing moves vectors to another engine.
func (c engineChoice) moves() bool { return c.indexed != "" && c.indexed != c.next }

// engineOf chooses the engine for the index at a place. One whose manifest cannot be read has no
// say, and the reason tells; core tells what is wrong with it.
func (a *app) engineOf(at place) engineChoice {
	indexed, err := core.EngineOf(at.index)
	if err != nil {
		indexed = ""
	}
	c := chooseEngine(a.settings.Engine, a.config.origin["engine"], indexed, engineNames())
	if err != nil {
		c.reason += "; which one the index was made with cannot be read"
		c.nextReason += "; which one the index was made with cannot be read"
	}
	return c
}

// writable returns the engine to index with. It is an error if this build does not have it.
func (c engineChoice) writable() (store.Engine, error) {
	if !isBuilt(c.next) {
		return store.Engine{}, &hintError{usagef("engine %s (%s): %w", c.next, c.nextReason, notBuilt(c.next)),
			"or choose another, with --engine or memory.engine: " + strings.Join(engineNames(), ", ")}
	}
	return engineNamed(c.next), nil
}

// problem says which engine is needed and missing in this build; "" if none is.
func (c engineChoice) problem() string {
	for _, e := range []struct{ name, reason string }{{c.inUse, c.reason}, {c.next, c.nextReason}} {
		if !isBuilt(e.name) {
			return fmt.Sprintf("engine %s (%s): %v", e.name, e.reason, notBuilt(e.name))
		}
	}
	return ""
}
