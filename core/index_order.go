package core

import (
	"cmp"
	"slices"
)

// pendingDocuments returns documents without vectors, newest first.
func pendingDocuments(known *manifest) []string {
	var paths []string
	for path, e := range known.Documents {
		if e.Pending {
			paths = append(paths, path)
		}
	}
	slices.SortFunc(paths, func(a, b string) int {
		newer := known.Documents[b].ModTime.Compare(known.Documents[a].ModTime)
		return cmp.Or(newer, cmp.Compare(a, b))
	})
	return paths
}
