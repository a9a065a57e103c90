//go:build !lancedbalways

package app

// LanceDBFrom is the number of chunks from which on "auto" is LanceDB: up to there the flat file is
// the faster one (docs/dev/benchmarks.md).
const LanceDBFrom = 1_000_000
