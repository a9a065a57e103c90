package userdir

import "io/fs"

const hasModes = false

// IsOwn returns true: access lists protect the user's profile.
func IsOwn(fs.FileInfo) bool { return true }

func ownerOf(fs.FileInfo) string { return unknown }
