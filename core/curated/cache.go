package curated

import (
	"sync"
	"time"
)

// A Cache keeps files and folder listings while sizes and times are equal. Layers may share it
// concurrently.
type Cache struct {
	mu      sync.Mutex
	files   map[string]*parsed  // by real path
	folders map[string]*listing // by path
	count   CacheStats
}

// CacheStats count a cache's files.
type CacheStats struct {
	Files   int   `json:"files"`
	Bytes   int64 `json:"bytes"`
	Folders int   `json:"folders"`
	// Hits were not read, Same were unchanged, Misses changed.
	Hits   int `json:"hits"`
	Same   int `json:"same"`
	Misses int `json:"misses"`
	// Cleared is when the cache was emptied last.
	Cleared time.Time `json:"cleared,omitzero"`
}

func (c *Cache) stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.count
	s.Files, s.Folders = len(c.files), len(c.folders)
	for _, f := range c.files {
		s.Bytes += f.info.Size()
	}
	return s
}

func (c *Cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files, c.folders = nil, nil
	c.count.Cleared = time.Now()
}

func (c *Cache) file(real string) *parsed {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.files[real]
}

// store also counts the file in figure.
func (c *Cache) store(f *parsed, figure *int) *parsed {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = map[string]*parsed{}
	}
	c.files[f.real] = f
	*figure++
	return f
}

func (c *Cache) folder(dir string) *listing {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.folders[dir]
}

func (c *Cache) storeFolder(dir string, l *listing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.folders == nil {
		c.folders = map[string]*listing{}
	}
	c.folders[dir] = l
}
