// Package plain says for people which languages the embedder does not know. It also gives the names
// of internal/text/plain to files that still import them from here.
package plain

import "github.com/memcore/memcore/internal/text/plain"

// The functions of internal/text/plain.
var (
	Shorten   = plain.Shorten
	Thousands = plain.Thousands
	Address   = plain.Address
	Waits     = plain.Waits
	Count     = plain.Count
	Member    = plain.Member
	OneLine   = plain.OneLine
	Line      = plain.Line
	Bytes     = plain.Bytes
)
