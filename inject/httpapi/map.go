package httpapi

import (
	"context"
	"time"
)

// States of a map.
const (
	MapReady     = "ready"
	MapComputing = "computing" // points, if any, are rough or those of an earlier index
	MapNoVectors = "no vectors"
	MapNoIndex   = "no index"
)

// A MapRequest asks for the map of a memory.
type MapRequest struct {
	Target
	Known string `json:"known,omitempty" jsonschema:"stamp of the points that the caller has; these are left out of the answer"`
}

// A Map has chunks as points: those that mean something alike are near each other. Its numbers are
// base64 of little-endian integers, in the order of documents and lines.
type Map struct {
	State    string    `json:"state"`
	Progress int       `json:"progress"` // in percent, while computing
	Stamp    string    `json:"stamp"`    // of the points; "" for none
	Rough    bool      `json:"rough"`    // only the two main directions, until the layout is there
	Made     time.Time `json:"made,omitzero"`
	Chunks   int       `json:"chunks"` // of the index
	Points   int       `json:"points"`

	X         string        `json:"x,omitempty"`         // 16 bits a point
	Y         string        `json:"y,omitempty"`         // 16 bits, upwards
	Lines     string        `json:"lines,omitempty"`     // 32 bits: where the chunk begins
	Days      string        `json:"days,omitempty"`      // 16 bits: since 1970-01-01; 0 if not known
	Documents []MapDocument `json:"documents,omitempty"` // of the points
	Sources   []string      `json:"sources,omitempty"`
}

// A MapDocument has the next points.
type MapDocument struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"`
	Source int    `json:"source"` // number in Sources
	Points int    `json:"points"`
}

// Kinds of pairs.
const (
	PairDuplicate  = "duplicate"  // two chunks say nearly the same
	PairCorrection = "correction" // a waiting proposal replaces a statement
)

// Pairs are what a person could tidy up.
type Pairs struct {
	State string `json:"state"` // as of a Map
	Pairs []Pair `json:"pairs"`
}

// A Pair is two texts of which one may be too much.
type Pair struct {
	Kind   string   `json:"kind"`
	Cosine float64  `json:"cosine,omitempty"` // of duplicates
	First  PairSide `json:"first"`
	Second PairSide `json:"second"`
}

// A PairSide is a text and its place.
type PairSide struct {
	Path   string `json:"path,omitempty"` // of an indexed document; "" if it is none
	Line   int    `json:"line,omitempty"`
	Source string `json:"source"` // citation, or who asks
	Text   string `json:"text"`   // shortened
}

// mapOperations returns the routes of the map.
func (s *Server) mapOperations() []operation {
	return []operation{
		post(s, "/v1/map", "Place chunks on a plane by their meaning; the first request begins to compute it", func(ctx context.Context, ws Workspace, r MapRequest) (Map, error) {
			return ws.Map(ctx, r)
		}),
		post(s, "/v1/pairs", "List near duplicates and corrections that wait, as pairs to tidy up", func(ctx context.Context, ws Workspace, _ Target) (Pairs, error) {
			return ws.Pairs(ctx)
		}),
	}
}
