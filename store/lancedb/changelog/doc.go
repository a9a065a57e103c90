// Package changelog keeps a store.Changelog in a LanceDB table, in a folder or on object storage.
//
// It is empty without the build tag lancedb.
//
// A row is a revision. Lance commits one append after the other, with conditional puts on object
// storage, and numbers the fragments that they make. A writer puts the number that its fragment
// should get into its rows. They count only if they stand in that fragment, that is, if nobody else
// has appended since the writer read the log; otherwise it tries again. So the log has one order,
// whatever the clocks of its writers say, and a write whose answer was lost counts once.
//
// Compact appends the rows that count again, as one fragment, marked as copies with their first
// place, and deletes the others.
package changelog
