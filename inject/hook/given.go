package hook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/internal/jsonfile"
)

// A Given keeps what sessions were given, in a folder, one small file a session: IDs of hits, no text. The zero Given keeps nothing. It is safe for
// concurrent use, also by several processes.
type Given struct{ Dir string }

// session is what a file has.
type session struct {
	Begun bool            `json:"begun,omitempty"` // curated memory was given
	Hits  map[string]bool `json:"hits,omitempty"`  // by ID and text
	// Dropped is when the agent dropped its history, to make room.
	Dropped time.Time `json:"dropped,omitzero"`
	// Stamps are of the documents that it was made of.
	Stamps map[string]string `json:"stamps,omitempty"`
}

// keptFor is how long a file of a session that is not used stays.
const keptFor = 14 * 24 * time.Hour

func (g Given) file(e Event) string {
	if g.Dir == "" || e.Session == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(e.Agent + "\x00" + e.Session))
	return filepath.Join(g.Dir, hex.EncodeToString(sum[:12])+".json")
}

// load returns what is noted of a session; the zero session if nothing is, or with an error.
func (g Given) load(e Event) (session, error) {
	file := g.file(e)
	if file == "" {
		return session{}, nil
	}
	s, err := jsonfile.LoadDerived[session](file)
	if err != nil {
		return session{}, err
	}
	return s, nil
}

// Begun tells whether a session was given curated memory.
func (g Given) Begun(e Event) bool {
	s, _ := g.load(e)
	return s.Begun
}

// Stamps are of the documents that the curated memory of a session was made of.
func (g Given) Stamps(e Event) map[string]string {
	s, _ := g.load(e)
	return s.Stamps
}

// Fresh returns the hits that a session was not given before, and how many others there are.
func (g Given) Fresh(e Event, hits []core.MemoryHit) (fresh []core.MemoryHit, repeated int, err error) {
	s, err := g.load(e)
	if err != nil {
		return hits, 0, fmt.Errorf("what the session was given: %w", err) // said twice is better than not at all
	}
	for _, hit := range hits {
		if s.Hits[hitKey(hit)] {
			repeated++
		} else {
			fresh = append(fresh, hit)
		}
	}
	return fresh, repeated, nil
}

// Note notes what a session was given.
func (g Given) Note(ctx context.Context, r Receipt) error {
	if len(r.Hits) == 0 && !r.Begun {
		return nil
	}
	return g.change(ctx, Event{Agent: r.Agent, Session: r.Session}, func(s *session) {
		if r.Begun {
			s.Begun, s.Stamps = true, r.Stamps
		}
		for _, key := range r.Hits {
			if s.Hits == nil {
				s.Hits = map[string]bool{}
			}
			s.Hits[key] = true
		}
	})
}

// hitKey is another one if the text of a chunk has changed.
func hitKey(hit core.MemoryHit) string {
	sum := sha256.Sum256([]byte(hit.ID + "\x00" + hit.Text))
	return hex.EncodeToString(sum[:8])
}

// Forget notes that a session has nothing any more of what it was given. It also removes files of sessions that nobody has used for long.
func (g Given) Forget(ctx context.Context, e Event) error {
	file := g.file(e)
	if file == "" {
		return nil
	}
	g.tidy()
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) && e.Kind != Compact {
		return nil
	}
	return g.change(ctx, e, func(s *session) { *s = session{Dropped: time.Now().UTC()} })
}

// Dropped returns when the agent dropped the history of a session; zero if it did not.
func (g Given) Dropped(e Event) time.Time {
	s, _ := g.load(e)
	return s.Dropped
}

func (g Given) change(ctx context.Context, e Event, change func(*session)) error {
	file := g.file(e)
	if file == "" {
		return nil
	}
	_, err := jsonfile.ChangeDerived(ctx, file, func(s *session) error { change(s); return nil })
	if err != nil {
		return fmt.Errorf("what the session was given: %w", err)
	}
	return nil
}

// tidy removes old files. One that cannot be removed is no reason to bother anybody.
func (g Given) tidy() {
	entries, err := os.ReadDir(g.Dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > keptFor {
			_ = os.Remove(filepath.Join(g.Dir, entry.Name()))
		}
	}
}
