// Package lancedb keeps vectors in a LanceDB table: on disk, larger than memory, with an
// approximate index if there are many.
//
// It is empty without the build tag lancedb, which needs cgo and a native library
// (docs/lancedb.md).
//
// An index is a folder of generations (package generation). Each holds the Lance table
// memory_entries, a manifest with what the table lacks, and, for exact searches, a view of it
// without its approximate index. Lance writes files once, so generations share them by hard link. A
// commit changes the next generation's table and publishes all of it: no crash and no reader sees
// half.
//
// Every append makes a fragment, which searches read. Commit merges small ones; Compact, slower,
// large ones, and makes the approximate index. The binding cannot compact, so rows are appended
// again.
package lancedb
