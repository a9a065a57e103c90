package curated

import (
	"context"
	"fmt"
	"sync"
)

// A Layer reads the curated memory of one folder. Callers keep what belongs to a session (Moment).
// It is safe for concurrent use.
type Layer struct {
	options Options

	mu    sync.Mutex
	start *Memory // of the last Load
	key   string  // of the files that start was made of
}

// New reads nothing yet.
func New(o Options) *Layer { return &Layer{options: o.withDefaults()} }

// Load returns the memory for a session's start. It reads only changed files. Their problems are
// Warnings; errors are ctx's.
func (l *Layer) Load(ctx context.Context) (Memory, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := newReader(ctx, l.options)
	found, err := r.discover()
	if err == nil {
		err = r.read(found)
	}
	if err != nil {
		return Memory{}, err
	}
	if key := r.key(found); l.start == nil || l.key != key {
		m := r.assemble(found, l.options.Limits, nil, func(c candidate) string { return c.conditional() })
		m.versions = map[string]string{}
		for _, c := range found {
			if c.parsed != nil && c.head.Enabled && c.conditional() == "" {
				r.addVersions(m.versions, c)
			}
		}
		if err := ctx.Err(); err != nil {
			return Memory{}, err
		}
		l.start, l.key = &m, key
		l.logProvenance(m)
	}
	return *l.start, nil
}

func (l *Layer) logProvenance(m Memory) {
	log := l.options.Log
	log.Debug("curated memory is loaded", "files", m.Usage.Files, "tokens", m.Usage.Tokens, "project", m.Project, "trusted", m.Trusted)
	for _, s := range m.Segments {
		log.Debug("provenance", "source", s.Path, "tier", s.Tier, "importedFrom", s.ImportedFrom, "lines", fmt.Sprintf("%d-%d", s.FirstLine, s.LastLine), "tokens", s.Tokens, "hash", s.Hash)
	}
}

// Limits returns the limits with their defaults.
func (l *Layer) Limits() Limits { return l.options.Limits }

// Project returns the root of the project.
func (l *Layer) Project() string { return projectOf(l.options) }
