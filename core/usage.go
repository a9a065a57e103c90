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
	"github.com/memcore/memcore/internal/safefile"
)

const (
	usageFile  = "usage.json"
	usageLimit = 1000
	// usageHalf is the age at which a use counts half.
	usageHalf = 30 * 24 * time.Hour
	// usageEvery is how often answers write at most; Close writes, too.
	usageEvery = time.Minute
)

// usage counts how often documents were hits, to embed those first. It has no texts. Crashes and
// concurrent processes may lose counts.
type usage struct {
	file    string
	index   string // folder of the index
	mu      sync.Mutex
	fresh   map[string]float64 // not written yet
	written time.Time          // or tried
}

type use struct {
	Count float64   `json:"count"` // as of Last
	Last  time.Time `json:"last"`
}

func (u use) now(at time.Time) float64 {
	return u.Count * math.Exp2(-max(at.Sub(u.Last), 0).Hours()/usageHalf.Hours())
}

func newUsage(o Options) *usage {
	file := cmp.Or(o.Usage, filepath.Join(o.Folder, usageFile))
	return &usage{file: file, index: o.Folder, fresh: map[string]float64{}, written: time.Now()}
}

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
	due := time.Since(u.written) >= usageEvery
	u.mu.Unlock()
	if due {
		u.flush()
	}
}

// flush adds the counts to the file. It ignores errors.
func (u *usage) flush() {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now().UTC().Truncate(time.Second)
	u.written = now
	if len(u.fresh) == 0 {
		return
	}
	if _, err := os.Stat(u.index); err != nil {
		return // the index is gone
	}
	if err := safefile.MkdirAll(filepath.Dir(u.file), 0o700); err != nil {
		return
	}
	all := u.read()
	for path, n := range u.fresh {
		all[path] = use{Count: all[path].now(now) + n, Last: now}
	}
	if data, err := json.Marshal(most(all, now)); err == nil {
		_ = jsonfile.Write(u.file, data)
	}
	u.fresh = map[string]float64{}
}

// most returns the usageLimit most used documents.
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

// read returns the record, empty if it cannot be read.
func (u *usage) read() map[string]use {
	all := map[string]use{}
	if data, err := os.ReadFile(u.file); err == nil && json.Unmarshal(data, &all) != nil {
		return map[string]use{}
	}
	return all
}

// counts weighs older uses less.
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
