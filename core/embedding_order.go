package core

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// perDoubling is how much newer a document counts as for each doubling of how often it was found.
const perDoubling = 7 * 24 * time.Hour

// pendingDocuments are the paths of documents whose vectors are behind, in the order in which they are
// embedded: newest and most used first. One that was found once counts as a week newer than it is, three
// times as two weeks, seven times as three.
func (w *writer) pendingDocuments() []string {
	used := w.m.usage.counts()
	var paths []string
	due := map[string]time.Time{}
	for path, e := range w.manifest.Documents {
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
