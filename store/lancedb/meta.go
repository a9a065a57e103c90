//go:build lancedb

package lancedb

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/memcore/memcore/store"
)

const metaFile = "meta"

// metaFormat changes when an index of an earlier release cannot be used any more.
//
//	1: first.
const metaFormat = 1

// A meta is what a generation says of its table.
type meta struct {
	Format    int `json:"format"`
	Dimension int `json:"dimension"`
	// Database is the folder of the table in the generation. Its name is new with every commit, so
	// that a native call which outlasts a cancelled commit writes where nobody looks.
	Database  string    `json:"database"`
	Append    int64     `json:"append"` // number of the last append
	Compacted time.Time `json:"compacted,omitzero"`
	// Appends are those whose rows are in the table, by the fragments they are in.
	Appends map[uint64]int64 `json:"appends"`
}

func readMeta(folder string) (m meta, err error) {
	file := filepath.Join(folder, metaFile)
	data, err := os.ReadFile(file)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("%w: %s: %v", store.ErrCorrupt, file, err)
	}
	switch {
	case m.Format != metaFormat:
		return m, store.OtherFormat(file, m.Format, metaFormat)
	case m.Database == "" || strings.ContainsAny(m.Database, `/\.`):
		return m, fmt.Errorf("%w: %s names the database %q", store.ErrCorrupt, file, m.Database)
	}
	return m, nil
}

func (m meta) write(folder string) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, metaFile), append(data, '\n'), 0o600)
}
