package tenants

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memcore/memcore/service/store"
	"github.com/memcore/memcore/service/store/storetest"
)

// memoryObjects are store.Objects in memory, with faults of Put, Fetch and Replace.
type memoryObjects struct {
	mu      sync.Mutex
	all     map[string]string
	changed map[string]time.Time
	fetched map[string]int // calls of Fetch by name

	faults
}

func newMemoryObjects() *memoryObjects {
	return &memoryObjects{all: map[string]string{}, changed: map[string]time.Time{}, fetched: map[string]int{}}
}

func (m *memoryObjects) put(name string, data []byte) {
	m.all[name], m.changed[name] = string(data), time.Now()
}

func (m *memoryObjects) Put(ctx context.Context, name string, data []byte) error {
	return m.call(ctx, &m.mu, "put", func() error {
		m.put(name, data)
		return nil
	})
}

func (m *memoryObjects) Get(ctx context.Context, name string) ([]byte, error) {
	data, _, err := m.Fetch(ctx, name, "")
	return data, err
}

func (m *memoryObjects) Fetch(ctx context.Context, name, known string) (data []byte, tag string, err error) {
	err = m.call(ctx, &m.mu, "fetch", func() error {
		m.fetched[name]++
		text, ok := m.all[name]
		if !ok {
			return fs.ErrNotExist
		}
		if tag = tagOf(text); tag != known {
			data = []byte(text)
		}
		return nil
	})
	return data, tag, err
}

func tagOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func (m *memoryObjects) Replace(ctx context.Context, name string, data []byte, tag string) (next string, err error) {
	err = m.call(ctx, &m.mu, "replace", func() error {
		if text, ok := m.all[name]; ok != (tag != "") || ok && tagOf(text) != tag {
			return store.ErrBehind
		}
		m.put(name, data)
		next = tagOf(string(data))
		return nil
	})
	return next, err
}

func (m *memoryObjects) List(_ context.Context, folder string) iter.Seq2[store.Object, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []store.Object
	for _, name := range slices.Sorted(maps.Keys(m.all)) {
		if strings.HasPrefix(name, folder+"/") {
			found = append(found, store.Object{Name: name, Changed: m.changed[name]})
		}
	}
	return func(yield func(store.Object, error) bool) {
		for _, object := range found {
			if !yield(object, nil) {
				return
			}
		}
	}
}

func (m *memoryObjects) Remove(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, name)
	return nil
}

func (m *memoryObjects) RemoveAll(_ context.Context, folder string) (left int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.all, func(name, _ string) bool { return strings.HasPrefix(name, folder+"/") })
	return 0, nil
}

// find returns an object with a text.
func (m *memoryObjects) find(text string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, has := range m.all {
		if strings.Contains(has, text) {
			return fmt.Sprintf("object %s", name)
		}
	}
	return ""
}

func TestMemoryObjectsAreObjects(t *testing.T) {
	all := newMemoryObjects()
	storetest.TestObjects(t, func(*testing.T) store.Objects { return all })
}
