// Package remote repeats steps with a table on storage that can be away, and explains why it
// refuses one.
//
// It is empty without the build tag lancedb.
package remote
