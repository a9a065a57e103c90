// Package changelog keeps a store.Changelog in a LanceDB table, in a folder or on object storage.
//
// Without the build tag lancedb it only says so.
//
// A row is a revision. Each append has the sequence number after the one that its writer has read.
// Lance commits one append after the other, with conditional puts on object storage; of those with
// one number, the first counts and the others do not, for any reader. So the log has one order
// whatever the clocks of its writers say, one of several writers always gets on, and an append
// whose answer was lost counts at most once.
//
// Compact appends the rows that count again, marked as copies, and deletes the others. Later rows
// with a number that was copied do not count.
package changelog
