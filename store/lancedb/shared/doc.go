// Package shared shares records between machines through a LanceDB table, in a folder or on object
// storage such as s3://bucket/prefix.
//
// It is empty without the build tag lancedb (see docs/lancedb.md).
//
// The table memory_entries has a row for each record of each owner. Owners write only their own,
// and Lance orders commits. A batch is one append under the owner's next number: a row for each
// record put or withdrawn. Then replaced rows are deleted. After a crash before that, readers skip
// rows with lower numbers, and the next batch deletes them. A repeated batch does no harm.
package shared
