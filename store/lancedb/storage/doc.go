// Package storage reaches tables of LanceDB in a folder or on object storage.
//
// It is empty without the build tag lancedb.
package storage
