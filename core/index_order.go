package core

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// perDoubling makes a document newer per doubling of uses.
const perDoubling = 7 * 24 * time.Hour

// pendingDocuments returns documents without vectors, newest first. One use makes one week newer,
// three make two. counts says how often each was used; it may be nil.
func pendingDocuments(known *manifest, counts func() map[string]float64) []string {
	var paths []string
	for path, e := range known.Documents {
		if e.Pending {
			paths = append(paths, path)
		}
	}
	var used map[string]float64
	if counts != nil && len(paths) > 1 {
		used = counts()
	}
	due := map[string]time.Time{}
	for _, path := range paths {
		newer := time.Duration(math.Log2(1+used[path]) * float64(perDoubling))
		due[path] = known.Documents[path].ModTime.Add(newer)
	}
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(due[b].Compare(due[a]), cmp.Compare(a, b))
	})
	return paths
}
