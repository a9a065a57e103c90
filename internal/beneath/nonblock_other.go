//go:build !unix

package beneath

const Nonblock = 0
