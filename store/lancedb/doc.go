// Package lancedb keeps vectors in a LanceDB table: on disk beyond memory, found by an approximate
// index when there are many.
//
// It is empty unless built with the tag lancedb, which needs cgo and LanceDB's native library (see
// docs/lancedb.md).
//
// An index is a folder of generations (package generation). Each holds the Lance table memory_entries,
// a file meta that says what the table itself does not, and, once the table has an approximate index, a
// view of the same data without it, for searches that have to be exact. Lance writes its files once,
// so a generation shares those that are still alive with the one before by hard link; a commit deletes
// and appends in the next generation's table and publishes it whole. Neither a crash nor a reader sees
// half of it, and versions that nobody reads any more leave no files behind.
//
// Every append makes a fragment, and a search looks into each. Commit merges small ones as they come;
// Compact does what takes longer: it merges large ones, drops dead rows, and makes the approximate
// index. The binding cannot compact, so both read rows and append them again.
package lancedb
