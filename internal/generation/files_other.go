//go:build !windows

package generation

func transient(error) bool { return false }
