//go:build !lancedb

package main

// builtEngines are those of a build that needs no C compiler.
var builtEngines = []vectorEngine{flatEngine}
