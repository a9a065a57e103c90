package address

import "os"

// shared returns the user's folder for temporary files.
func shared() string { return os.TempDir() }

// Owned trusts the folder's access lists.
func Owned(string) error { return nil }
