// Package compaction kills processes that write to the storage of a service, and breaks their
// connections: at each of their requests, or of their writing system calls on a folder.
//
// Nothing acknowledged may be lost, nothing may be there twice, and the next process goes on. It
// needs the build tag lancedb, on Linux for folders, and MinIO for object storage.
package compaction
