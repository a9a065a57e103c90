//go:build !unix

package static

// notFolder: other systems say that the file does not exist.
func notFolder(error) bool { return false }
