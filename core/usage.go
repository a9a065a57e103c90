package core

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/memcore/memcore/internal/jsonfile"
)

const (
	usageFile = "usage.json"
	// usageLimit is how many documents the record of use has at most.
	usageLimit = 1000
	// usageHalf is the time in which a use comes to count half.
	usageHalf = 30 * 24 * time.Hour
	// usageEvery is after how many answers the record is written, and Close writes it, too.
	usageEvery = 100
)

// usage is how often documents were among the hits: it decides what is embedded first, nothing else. It
// holds no query and no text. A process that dies loses what it has not written yet, and two that write
// at once may lose one's part; it is a hint.
type usage struct {
	file    string
	mu      sync.Mutex
	fresh   map[string]float64 // not written yet
	answers int
}

// A use is what the record has of a document.
type use struct {
	Count float64   `json:"count"` // as of Last
	Last  time.Time `json:"last"`
}

func (u use) now(at time.Time) float64 {
	return u.Count * math.Exp2(-max(at.Sub(u.Last), 0).Hours()/usageHalf.Hours())
}

func newUsage(folder string) *usage {
	return &usage{file: filepath.Join(folder, usageFile), fresh: map[string]float64{}}
}

// note counts the documents of an answer.
func (u *usage) note(hits []MemoryHit) {
	if len(hits) == 0 {
		return
	}
	u.mu.Lock()
	seen := map[string]bool{}
	for _, hit := range hits {
		if !seen[hit.Path] {
			seen[hit.Path] = true
			u.fresh[hit.Path]++
		}
	}
	u.answers++
	full := u.answers >= usageEvery
	u.mu.Unlock()
	if full {
		u.flush()
	}
}

// flush adds what was counted to the file. A record that cannot be written is no reason to bother
// anybody.
func (u *usage) flush() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.fresh) == 0 {
		return
	}
	if _, err := os.Stat(filepath.Dir(u.file)); err != nil {
		return // the index is gone
	}
	now := time.Now().UTC().Truncate(time.Second)
	all := u.read()
	for path, n := range u.fresh {
		all[path] = use{Count: all[path].now(now) + n, Last: now}
	}
	if data, err := json.Marshal(most(all, now)); err == nil {
		_ = jsonfile.Write(u.file, data)
	}
	u.fresh, u.answers = map[string]float64{}, 0
}

// most are the most used documents, as many as the file may have.
func most(all map[string]use, now time.Time) map[string]use {
	if len(all) <= usageLimit {
		return all
	}
	paths := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b].now(now), all[a].now(now)), cmp.Compare(a, b))
	})
	for _, path := range paths[usageLimit:] {
		delete(all, path)
	}
	return all
}

// read returns what the file has; nothing if there is none, or it cannot be read.
func (u *usage) read() map[string]use {
	all := map[string]use{}
	if data, err := os.ReadFile(u.file); err == nil && json.Unmarshal(data, &all) != nil {
		return map[string]use{}
	}
	return all
}

// counts are how often documents were used, older uses counting less.
func (u *usage) counts() map[string]float64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	counts := maps.Clone(u.fresh)
	for path, use := range u.read() {
		counts[path] += use.now(now)
	}
	return counts
}
