package hook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/internal/jsonfile"
)

// Records is a folder with a small file a session, for several processes; the zero Records keeps
// nothing.
type Records struct{ Dir string }

// A Record says what a session got.
type Record struct {
	// Dir is the folder that the session began in.
	Dir   string `json:"dir,omitempty"`
	Begun bool   `json:"begun,omitempty"` // the session has curated memory
	// Until then a start may still give that, or the first prompt may have given it.
	Starting  time.Time `json:"starting,omitzero"`
	Prompting time.Time `json:"prompting,omitzero"`
	// Stamps, by path, are of documents it has whole.
	Stamps map[string]string `json:"stamps,omitempty"`
	// Overview is the stamp of the last overview.
	Overview string `json:"overview,omitempty"`
	// Rules are versions by path.
	Rules map[string]string `json:"rules,omitempty"`
	Spent int               `json:"spent,omitempty"` // bytes of curated memory and rules
	Hits  map[string]bool   `json:"hits,omitempty"`  // by hitKey
	// Prompts counts those in the agent's history.
	Prompts int `json:"prompts,omitempty"`
	// Dropped is when the agent dropped its history.
	Dropped time.Time `json:"dropped,omitzero"`
}

// keepFor is how long an unused record stays.
const keepFor = 14 * 24 * time.Hour

// Load returns a zero Record for an unknown session.
func (r Records) Load(e Event) (Record, error) {
	file := r.file(e)
	if file == "" {
		return Record{}, nil
	}
	record, err := jsonfile.LoadDerived[Record](file)
	return record, wrapRecord(err)
}

// Add adds a receipt to its session's record.
func (r Records) Add(ctx context.Context, receipt Receipt) error {
	if len(receipt.Hits) == 0 && len(receipt.Rules) == 0 && !receipt.Begun && receipt.Dir == "" && receipt.Overview == "" && !receipt.Prompt {
		return nil
	}
	e := Event{Agent: receipt.Agent, Session: receipt.Session, Sub: receipt.Sub}
	return r.change(ctx, e, func(record *Record) {
		if receipt.Begun {
			record.Begun, record.Starting = true, time.Time{}
		}
		if receipt.Prompt && receipt.Empty { // a start gives what there is by then
			record.Prompting = time.Time{}
		}
		record.Overview = cmp.Or(receipt.Overview, record.Overview)
		record.Dir = cmp.Or(receipt.Dir, record.Dir)
		record.Stamps = merged(record.Stamps, receipt.Stamps)
		record.Rules = merged(record.Rules, receipt.Rules)
		record.Spent += receipt.Spent
		if receipt.Prompt {
			record.Prompts++
		}
		for _, key := range receipt.Hits {
			record.Hits = merged(record.Hits, map[string]bool{key: true})
		}
	})
}

// Forget empties the record, and removes those long unused.
func (r Records) Forget(ctx context.Context, e Event) error {
	file := r.file(e)
	if file == "" {
		return nil
	}
	r.removeOld()
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) && e.Kind != Compact {
		return nil
	}
	return r.change(ctx, e, func(record *Record) { *record = Record{Dropped: time.Now().UTC()} })
}

// start empties the record of a session that starts, and reports whether the start shall give what
// the session begins with: agents may send the first prompt meanwhile. An answer comes within a
// time.
func (r Records) start(ctx context.Context, e Event, within time.Duration) (begins bool, err error) {
	r.removeOld()
	err = r.change(ctx, e, func(record *Record) {
		now := time.Now().UTC()
		if begins = record.Prompts > 1 || !now.Before(record.Prompting); begins {
			*record = Record{Dropped: now, Starting: now.Add(within)}
		}
	})
	return begins || err != nil || !r.keeps(e), err
}

// prompt is start for a prompt of a session that has not begun.
func (r Records) prompt(ctx context.Context, e Event, within time.Duration) (begins bool, err error) {
	err = r.change(ctx, e, func(record *Record) {
		now := time.Now().UTC()
		if begins = !record.Begun && !now.Before(record.Starting); begins {
			record.Prompting = now.Add(within)
		}
	})
	return begins || err != nil || !r.keeps(e), err
}

func (r Records) change(ctx context.Context, e Event, change func(*Record)) error {
	file := r.file(e)
	if file == "" {
		return nil
	}
	_, err := jsonfile.ChangeDerived(ctx, file, func(record *Record) error { change(record); return nil })
	return wrapRecord(err)
}

// keeps reports whether there is a record for the session of an event.
func (r Records) keeps(e Event) bool { return r.file(e) != "" }

// file returns the path of the record; "" for none.
func (r Records) file(e Event) string {
	if r.Dir == "" || e.Session == "" {
		return ""
	}
	name := e.Agent + "\x00" + e.Session
	if e.Sub != "" {
		name += "\x00" + e.Sub // a subagent has a history of its own
	}
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(r.Dir, hex.EncodeToString(sum[:12])+".json")
}

func wrapRecord(err error) error {
	if err != nil {
		return fmt.Errorf("record of the session: %w", err)
	}
	return nil
}

// removeOld is tried again after errors.
func (r Records) removeOld() {
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > keepFor {
			_ = os.Remove(filepath.Join(r.Dir, entry.Name()))
		}
	}
}

// fresh returns the hits that the session lacks.
func (r Record) fresh(hits []core.MemoryHit) (fresh []core.MemoryHit) {
	for _, hit := range hits {
		if !r.Hits[hitKey(hit)] {
			fresh = append(fresh, hit)
		}
	}
	return fresh
}

// hitKey names a hit; it changes with the text.
func hitKey(hit core.MemoryHit) string {
	sum := sha256.Sum256([]byte(hit.ID + "\x00" + hit.Text))
	return hex.EncodeToString(sum[:8])
}

// merged returns a map with the entries of both.
func merged[V any](a, b map[string]V) map[string]V {
	all := maps.Clone(a)
	if all == nil {
		return b
	}
	maps.Copy(all, b)
	return all
}
