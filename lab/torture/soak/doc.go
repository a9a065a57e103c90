// Package soak runs memcore for a long time under every kind of use at once, and checks that its
// resources do not grow: memory, goroutines, descriptors, threads, processes, files. It reads
// /proc, so it needs Linux. MEMCORE_TORTURE_SOAK names a file for figures, which `daemonbench
// -soak` plots to docs/dev/soak.svg.
package soak
