// Package wheel reads files of published Python packages, which are zip archives.
package wheel

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"path"
)

// Files returns the files with these base names.
func Files(archive string, names ...string) (map[string][]byte, error) {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", archive, err)
	}
	defer z.Close()
	files := map[string][]byte{}
	for _, f := range z.File {
		for _, name := range names {
			if path.Base(f.Name) == name {
				if files[name], err = read(f); err != nil {
					return nil, fmt.Errorf("read %s in %s: %w", f.Name, archive, err)
				}
			}
		}
	}
	for _, name := range names {
		if files[name] == nil {
			return nil, fmt.Errorf("%s holds no %s", archive, name)
		}
	}
	return files, nil
}

func read(f *zip.File) (data []byte, err error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return io.ReadAll(r)
}
