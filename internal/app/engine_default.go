//go:build !lancedb

package app

// BuiltEngines are the engines of a build without LanceDB.
var BuiltEngines = []VectorEngine{FlatEngine}
