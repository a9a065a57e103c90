// Package storage tells LanceDB where object storage is.
//
// It is empty without the build tag lancedb.
package storage
