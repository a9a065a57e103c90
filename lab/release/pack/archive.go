package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"io"
	"os"
	"path"
	"path/filepath"
)

// write makes a file beside the program.
func (p *program) write(name string, content func(io.Writer) error) error {
	out, err := os.Create(filepath.Join(filepath.Dir(p.path), name))
	if err != nil {
		return err
	}
	err = content(out)
	if closed := out.Close(); err == nil {
		err = closed
	}
	return err
}

func (p *program) tar(w io.Writer) error {
	packed := gzip.NewWriter(w)
	out := tar.NewWriter(packed)
	for _, f := range p.files {
		info, err := os.Stat(f.source)
		if err != nil {
			return err
		}
		header := &tar.Header{
			Name: path.Join(p.base(), f.name), Mode: int64(f.mode), Size: info.Size(), ModTime: p.date,
			Typeflag: tar.TypeReg, Format: tar.FormatUSTAR,
		}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if err := copyFile(out, f.source); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return packed.Close()
}

func (p *program) zip(w io.Writer) error {
	out := zip.NewWriter(w)
	for _, f := range p.files {
		header := &zip.FileHeader{Name: path.Join(p.base(), f.name), Method: zip.Deflate, Modified: p.date}
		header.SetMode(f.mode)
		part, err := out.CreateHeader(header)
		if err != nil {
			return err
		}
		if err := copyFile(part, f.source); err != nil {
			return err
		}
	}
	return out.Close()
}

func copyFile(w io.Writer, name string) error {
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(w, in)
	return err
}
