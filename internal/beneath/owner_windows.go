package beneath

import (
	"io/fs"
	"os"
)

// keepOwner leaves the owner: a folder's access list says who may what.
func keepOwner(_ *os.Root, _ string, like fs.FileInfo) fs.FileMode { return like.Mode().Perm() }
