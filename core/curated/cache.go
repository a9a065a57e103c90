package curated

import "sync"

// A Cache keeps files and folder listings while sizes and times are equal. Layers may share it
// concurrently.
type Cache struct {
	mu      sync.Mutex
	files   map[string]*parsed  // by real path
	folders map[string]*listing // by path
}

func (c *Cache) file(real string) *parsed {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.files[real]
}

func (c *Cache) store(f *parsed) *parsed {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = map[string]*parsed{}
	}
	c.files[f.real] = f
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
