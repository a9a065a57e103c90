package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/semver"
)

// What all packages say of memcore.
const (
	repository  = "https://github.com/memcore/memcore"
	summary     = "Memory for AI agents, from your Markdown files and past sessions"
	licenceName = "Apache-2.0"
)

var keywords = []string{"memory", "agents", "mcp", "search", "markdown"}

// A release is a folder of archives of one version.
type release struct {
	version  string // as in the names of the archives, or else in the programs
	base     string // URL of the folder
	archives []archive
}

// An archive holds the program for one platform.
type archive struct {
	name, sum string
	os, arch  string // as Go names them
	program   file
	folder    string // of the program in the archive; "" for its top
	texts     []file // licence and notices
}

// A file is a name and its content.
type file struct {
	name string
	data []byte
	mode os.FileMode
}

var archiveName = regexp.MustCompile(`^memcore(?:-(.+))?-(linux|darwin|windows)-(amd64|arm64)\.(?:tar\.gz|zip)$`)

const sumsFile = "SHA256SUMS"

// readRelease reads all archives that the sums name, and checks them.
func readRelease(folder string) (*release, error) {
	sums, err := os.ReadFile(filepath.Join(folder, sumsFile))
	if err != nil {
		return nil, fmt.Errorf("the sums of the release: %w", err)
	}
	r := &release{}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		name = strings.TrimLeft(name, " *")
		match := archiveName.FindStringSubmatch(name)
		if match == nil || strings.HasPrefix(name, "memcore-lancedb-") { // what is made here has no native library
			continue
		}
		if len(r.archives) > 0 && r.version != match[1] {
			return nil, fmt.Errorf("%s has archives of the versions %q and %q, want one", folder, r.version, match[1])
		}
		r.version = match[1] // "" in all names or in none
		a := archive{name: name, sum: sum, os: match[2], arch: match[3]}
		if err := a.read(filepath.Join(folder, name)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r.archives = append(r.archives, a)
	}
	if len(r.archives) == 0 {
		return nil, fmt.Errorf("%s names no archive such as memcore-linux-amd64.tar.gz", filepath.Join(folder, sumsFile))
	}
	if r.version == "" {
		r.version = r.programVersion()
	}
	return r, nil
}

// programVersion returns the version that Go put into the programs; 0.0.0 if it knows none.
func (r *release) programVersion() string {
	for _, a := range r.archives {
		info, err := buildinfo.Read(bytes.NewReader(a.program.data))
		if err == nil && semver.IsValid(info.Main.Version) {
			return info.Main.Version
		}
	}
	return "0.0.0"
}

func (a *archive) read(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != a.sum {
		return fmt.Errorf("its SHA-256 is %x, %s says %s", got, sumsFile, a.sum)
	}
	if strings.HasSuffix(a.name, ".zip") {
		err = a.readZip(data)
	} else {
		err = a.readTar(data)
	}
	if err == nil && a.program.data == nil {
		err = fmt.Errorf("it has no %s", a.programName())
	}
	return err
}

func (a *archive) readTar(data []byte) error {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	for t := tar.NewReader(z); ; {
		header, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag == tar.TypeReg {
			if err := a.take(header.Name, t); err != nil {
				return err
			}
		}
	}
}

func (a *archive) readZip(data []byte) error {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	for _, entry := range z.File {
		r, err := entry.Open()
		if err != nil {
			return err
		}
		err = errors.Join(a.take(entry.Name, r), r.Close())
		if err != nil {
			return err
		}
	}
	return nil
}

// take keeps the program and texts on licences.
func (a *archive) take(name string, r io.Reader) error {
	base := path.Base(name)
	isText := strings.HasPrefix(base, "LICENSE") || strings.HasPrefix(base, "THIRD_PARTY_NOTICES")
	if base != a.programName() && !isText {
		return nil
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if isText {
		a.texts = append(a.texts, file{base, data, 0o644})
		return nil
	}
	a.program = file{base, data, 0o755}
	a.folder = strings.Trim(path.Dir(path.Clean("/"+name)), "/")
	return nil
}

func (a *archive) programName() string {
	if a.os == "windows" {
		return "memcore.exe"
	}
	return "memcore"
}

// node returns the names that Node.js has for the platform.
func (a *archive) node() (platform, cpu string) {
	platform, cpu = a.os, a.arch
	if platform == "windows" {
		platform = "win32"
	}
	if cpu == "amd64" {
		cpu = "x64"
	}
	return platform, cpu
}

// tag returns the version as git names it.
func (r *release) tag() string {
	return "v" + r.semver()
}

// semver returns the version as package managers want it. A commit without a tag precedes all.
func (r *release) semver() string {
	if v := "v" + strings.TrimPrefix(r.version, "v"); semver.IsValid(v) {
		return strings.TrimPrefix(semver.Canonical(v), "v") // npm forgets "+dirty"
	}
	return "0.0.0-g" + regexp.MustCompile(`[^0-9A-Za-z-]`).ReplaceAllString(r.version, "-")
}

// find returns the archive of a platform, or nil.
func (r *release) find(os, arch string) *archive {
	for i := range r.archives {
		if a := &r.archives[i]; a.os == os && a.arch == arch {
			return a
		}
	}
	return nil
}

// write writes files below a folder.
func write(folder string, files ...file) error {
	for _, f := range files {
		path := filepath.Join(folder, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.data, f.mode); err != nil {
			return err
		}
	}
	return nil
}
