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
// three make two.
func pendingDocuments(known *manifest, used map[string]float64) []string {
	var paths []string
	due := map[string]time.Time{}
	for path, e := range known.Documents {
		if e.Pending {
			paths = append(paths, path)
			due[path] = e.ModTime.Add(time.Duration(math.Log2(1+used[path]) * float64(perDoubling)))
		}
	}
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(due[b].Compare(due[a]), cmp.Compare(a, b))
	})
	return paths
}
