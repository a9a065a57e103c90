package app

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/memcore/memcore/store/keyword"
)

// Least share of chunks in languages that the embedder does not know, and number, of which people
// are told.
const (
	minUnknownShare = 0.05
	minUnknown      = 3
)

// UnknownLanguages says which share of chunks is in languages that the embedder does not know, by
// ISO 639-1; "" for few.
func UnknownLanguages(unknown map[string]int, chunks int) string {
	sum := 0
	for _, n := range unknown {
		sum += n
	}
	if sum < minUnknown || float64(sum) < minUnknownShare*float64(chunks) {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(unknown), func(a, b string) int {
		return cmp.Or(cmp.Compare(unknown[b], unknown[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		if name == keyword.Undetermined {
			names[i] = "others"
		}
	}
	if len(names) > 3 {
		names = append(names[:3], "…")
	}
	return fmt.Sprintf("%.0f %% of the chunks are in languages that the model does not know (%s): only their words find them", 100*float64(sum)/float64(chunks), strings.Join(names, ", "))
}
