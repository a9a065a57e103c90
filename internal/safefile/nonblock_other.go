//go:build !unix

package safefile

const Nonblock = 0
