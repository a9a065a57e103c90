package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

// A VectorEngine keeps vectors, beside the same keyword index.
type VectorEngine struct {
	Name string
	Open func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error)
}

var FlatEngine = VectorEngine{config.EngineFlat, func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
	return flat.Open(ctx, dir, dimension)
}}

func openKeywords(ctx context.Context, dir string) (store.KeywordIndex, error) {
	return keyword.Open(ctx, dir)
}

// EngineNames returns the engines of this build, the default first.
func EngineNames() []string {
	var names []string
	for _, e := range BuiltEngines {
		names = append(names, e.Name)
	}
	return names
}

// EngineNamed returns an engine; with none, only keywords answer.
func EngineNamed(name string) store.Engine {
	engine := store.Engine{Name: name, Keywords: openKeywords}
	for _, built := range BuiltEngines {
		if built.Name == name {
			engine.Vectors = built.Open
			return engine
		}
	}
	engine.Vectors = func(context.Context, string, int) (store.VectorIndex, error) {
		return nil, fmt.Errorf("vectors are kept by %s: %w", name, NotBuilt(name))
	}
	return engine
}

// builtEngine returns an engine of this build.
func builtEngine(name string) (store.Engine, bool) { return EngineNamed(name), IsBuilt(name) }

// NotBuilt is the error for an engine that this build lacks.
func NotBuilt(name string) error {
	if name == config.EngineLanceDB {
		return errors.New("this build of memcore has no LanceDB; 'install.sh --lancedb' of a release installs one that has")
	}
	return fmt.Errorf("this build of memcore has no engine %q, only %s", name, strings.Join(EngineNames(), " and "))
}

func IsBuilt(name string) bool { return slices.Contains(EngineNames(), name) }

// An EngineChoice is an engine, and why. Only indexing moves vectors.
type EngineChoice struct {
	Indexed string // of the index; "" without vectors

	InUse, Reason    string // for queries
	Next, NextReason string // for indexing
}

const asIndexed = "as the index was made with"

// ChooseEngine chooses by the setting and its origin, the index's engine ("" for none) and chunks,
// and the engines of the build, the default first.
func ChooseEngine(setting, origin, indexed string, chunks int, built []string) EngineChoice {
	c := EngineChoice{Indexed: indexed, Next: setting, NextReason: origin}
	if setting == config.EngineAuto {
		c.Next, c.NextReason = automatic(indexed, chunks, built)
	}
	c.InUse, c.Reason = c.Next, c.NextReason
	if indexed != "" && indexed != c.Next {
		c.InUse, c.Reason = indexed, asIndexed
	}
	return c
}

// automatic chooses by size. A small index stays with LanceDB: moving it would gain milliseconds.
func automatic(indexed string, chunks int, built []string) (name, reason string) {
	hasLanceDB := slices.Contains(built, config.EngineLanceDB)
	switch size := fmt.Sprintf("%d chunks or more", LanceDBFrom); {
	case indexed != config.EngineLanceDB && hasLanceDB && chunks >= LanceDBFrom:
		return config.EngineLanceDB, "the index has " + size
	case indexed != "" && !slices.Contains(built, indexed):
		return built[0], "the default of this build, which does not have " + indexed
	case indexed != config.EngineLanceDB && hasLanceDB:
		return config.EngineFlat, "lancedb is for " + size
	case indexed == "":
		return built[0], "the default of this build"
	}
	return indexed, asIndexed
}

// Moves reports whether indexing moves vectors to another engine.
func (c EngineChoice) Moves() bool { return c.Indexed != "" && c.Indexed != c.Next }

// Engine chooses for the index, ignoring an unreadable manifest.
func (x Index) Engine(at config.Folders) EngineChoice { return x.engine(core.EngineOf(at.Index)) }

func (x Index) engine(indexed string, chunks int, err error) EngineChoice {
	if err != nil {
		indexed, chunks = "", 0
	}
	c := ChooseEngine(x.w.Settings.Engine, x.w.Loaded.Origin["engine"], indexed, chunks, EngineNames())
	if err != nil {
		c.Reason += "; which one the index was made with cannot be read"
		c.NextReason += "; which one the index was made with cannot be read"
	}
	return c
}

// Writable returns the engine to index with.
func (c EngineChoice) Writable() (store.Engine, error) {
	if !IsBuilt(c.Next) {
		return store.Engine{}, kind.Hint(kind.Usagef("engine %s (%s): %w", c.Next, c.NextReason, NotBuilt(c.Next)),
			"or choose another, with --engine or memory.engine: "+strings.Join(EngineNames(), ", "))
	}
	return EngineNamed(c.Next), nil
}

// Problem names a needed engine not in this build, or "".
func (c EngineChoice) Problem() string {
	for _, e := range []struct{ name, reason string }{{c.InUse, c.Reason}, {c.Next, c.NextReason}} {
		if !IsBuilt(e.name) {
			return fmt.Sprintf("engine %s (%s): %v", e.name, e.reason, NotBuilt(e.name))
		}
	}
	return ""
}
