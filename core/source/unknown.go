package source

import (
	"fmt"
	"slices"

	"github.com/memcore/memcore/internal/text/excerpt"
)

// UnknownRecords are records of a log whose kind its format does not know: a newer agent writes
// them. They are passed over.
type UnknownRecords struct {
	Version string `json:"version,omitempty"` // of the agent; "" if the log does not say it
	Kind    string `json:"kind"`              // such as `type "teleport"`
	Records int    `json:"records"`
	Line    int    `json:"line"` // of the first
}

const (
	// maxUnknown bounds the kinds of a log that are counted apart, so that a log of something else
	// cannot fill the state.
	maxUnknown = 16
	// maxKind bounds what a kind quotes, in bytes.
	maxKind = 40
)

// otherKinds counts what is above maxUnknown.
const otherKinds = "more types"

// passOver counts a record of which a property, such as its type, is not known. If the record has
// none, it says so instead.
func (c *conversation) passOver(line int, property, value string) (skipped string) {
	if value == "" {
		return "no " + property
	}
	u := UnknownRecords{c.version, fmt.Sprintf("%s %q", property, excerpt.Of(value, maxKind)), 1, line}
	same := func(other UnknownRecords) bool { return other.Version == u.Version && other.Kind == u.Kind }
	at := slices.IndexFunc(c.unknown, same)
	if at < 0 && len(c.unknown) >= maxUnknown {
		u.Version, u.Kind = "", otherKinds
		at = slices.IndexFunc(c.unknown, same)
	}
	c.unknown = slices.Clone(c.unknown) // marks keep the old one
	if at < 0 {
		c.unknown = append(c.unknown, u)
	} else {
		c.unknown[at].Records++
	}
	return ""
}
