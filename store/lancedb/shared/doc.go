// Package shared lets memories on several machines share their records through a LanceDB table, in a
// folder or on object storage such as s3://bucket/prefix.
//
// It is empty unless built with the tag lancedb (see docs/lancedb.md).
//
// The table memory_entries has a row for each record of each owner. An owner writes its own rows only,
// so writers never touch the same row, and Lance orders their commits. A batch is one append, with the
// owner's next number: what is put, and a row that says so for each record that is withdrawn. Only then
// are the rows deleted which that replaces; a crash before leaves rows with lower numbers, which
// readers pass over and the owner's next batch deletes. Appending a batch twice does no harm either.
package shared
