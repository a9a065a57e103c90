package core

import (
	"time"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/store"
)

// IndexOptions configure Index.
type IndexOptions struct {
	// Rebuild replaces the indexes by complete new ones, with cached embeddings.
	Rebuild bool
	// KeepEngine makes Index fail with ErrEngine rather than move the vectors to another engine. A
	// caller that has chosen the index's engine may be overtaken by another process.
	KeepEngine bool
	// Purge also takes off the disk what was deleted, as Forget does, and makes Index fail if it
	// cannot.
	Purge bool
	// Progress, if set, is called from one goroutine at a time.
	Progress func(Progress)
}

// A Progress is how far a run of indexing is.
type Progress struct {
	Stage string // "scan", "read" (documents into the keyword index), "share" (with other memories), "embed" (chunks into vectors), "compact"
	Done  int    // documents or chunks so far
	Total int    // of how many; 0 while unknown
	Path  string // the current document, if any
	// Kept counts the chunks that an earlier run has embedded, if that was interrupted.
	Kept int
}

// An IndexReport is the result of a run of indexing.
type IndexReport struct {
	Documents int `json:"documents"` // there are now
	Unchanged int `json:"unchanged"` // cost a stat
	Added     int `json:"added"`
	Changed   int `json:"changed"`
	Removed   int `json:"removed"`
	LogsGone  int `json:"logsGone,omitempty"` // logs whose files are gone since the last run; they stay

	Chunks   int `json:"chunks"`   // there are now
	Written  int `json:"written"`  // chunks added or replaced
	Deleted  int `json:"deleted"`  // chunks removed
	Embedded int `json:"embedded"` // chunks whose vectors were stored by this run
	Pending  int `json:"pending"`  // chunks still without a vector
	// SetAside are chunks without a vector that this run set aside.
	SetAside []SetAside `json:"setAside,omitempty"`

	// Unreadable counts documents without read permission.
	Unreadable int `json:"unreadable,omitempty"`
	// Skipped are files; SkippedLines counts lines, and parts of lines, by reason, and SkippedAt
	// cites the first of them. Neither they nor Warnings end the run.
	Skipped      []source.Skip     `json:"skipped,omitempty"`
	SkippedLines map[string]int    `json:"skippedLines,omitempty"`
	SkippedAt    map[string]string `json:"skippedAt,omitempty"`
	Warnings     []string          `json:"warnings,omitempty"`
	// Unknown are records of logs that were passed over, if their kind, at that version of the
	// agent, was not there before this run.
	Unknown []UnknownRecords `json:"unknown,omitempty"`
	// Redacted cites the lines of removed secrets by kind, such as "github-pat": one for each.
	Redacted map[string][]string `json:"redacted,omitempty"`
	// Degraded says why chunks are pending, such as an embedding model that does not answer.
	Degraded string `json:"degraded,omitempty"`
	// Rebuilt says why the index was rebuilt; "" if it was not.
	Rebuilt string        `json:"rebuilt,omitempty"`
	Took    time.Duration `json:"took"`
}

// A Status is what a memory holds and what is wrong with it.
type Status struct {
	State     State          `json:"state"`
	Folder    string         `json:"folder"`         // of the index
	Engine    string         `json:"engine"`         // of the vectors
	Sources   []string       `json:"sources"`        // what is indexed
	Documents map[string]int `json:"documents"`      // by kind
	Logs      *LogsStatus    `json:"logs,omitempty"` // of agents; nil if there are none
	Chunks    int            `json:"chunks"`
	Embedded  int            `json:"embedded"` // chunks that have a vector
	Pending   int            `json:"pending"`  // chunks that wait for one
	// SetAside are chunks that get no vector.
	SetAside  []SetAside `json:"setAside,omitempty"`
	Embedder  string     `json:"embedder"` // fingerprint the index was made with
	Dimension int        `json:"dimension"`
	// Unknown counts chunks in languages unknown to the embedder (ISO 639-1), which only keywords
	// find.
	Unknown  map[string]int `json:"unknown,omitempty"`
	Updated  time.Time      `json:"updated,omitzero"` // last change of the index
	Vectors  store.Stats    `json:"vectors"`
	Keywords store.Stats    `json:"keywords"`
	Stale    *Staleness     `json:"stale,omitempty"`
	// Unread are files and folders that could not be read.
	Unread   []source.Skip `json:"unread,omitempty"`
	Problems []string      `json:"problems,omitempty"` // what is wrong, and what to do
	// Uncompared means that Stale is unknown, for lack of time.
	Uncompared bool `json:"uncompared,omitempty"`
}
