//go:build !linux

// Package stand runs memcore as processes for tests of load, on Linux only: it needs /proc.
package stand
