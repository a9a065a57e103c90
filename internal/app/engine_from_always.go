//go:build lancedbalways

package app

// LanceDBFrom lets tests run everything on LanceDB (.ci/lancedb), also what starts processes of its
// own, which ignore its environment.
const LanceDBFrom = 0
