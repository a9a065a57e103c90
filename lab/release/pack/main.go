// Command pack makes of built programs what people install: an archive of each, and for Linux a deb
// and an rpm. The same input gives the same bytes.
//
//	go run ./pack -parts DIR -version VERSION -time SECONDS PROGRAM...
//
// A PROGRAM is DIR/memcore-OS-ARCH or DIR/memcore-lancedb-OS-ARCH, with PROGRAM.THIRD_PARTY_NOTICES,
// PROGRAM.cdx.json and a native library such as PROGRAM.liblancedb_go.so beside it; what is made of
// it gets there too. The parts are what all archives have, as .ci/pack collects them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

func main() {
	var parts, version string
	var seconds int64
	flag.StringVar(&parts, "parts", "", "folder with what all archives have")
	flag.StringVar(&version, "version", "", "version of the programs, as they print it")
	flag.Int64Var(&seconds, "time", 0, "date of all files, in seconds since 1970")
	flag.Parse()
	if parts == "" || version == "" || flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	for _, path := range flag.Args() {
		if err := pack(path, parts, version, time.Unix(seconds, 0).UTC()); err != nil {
			fmt.Fprintf(os.Stderr, "pack: %s: %v\n", path, err)
			os.Exit(1)
		}
	}
}

// A program is a built memcore with what is packed beside it.
type program struct {
	name, path, os, arch string // the name is also that of its packages
	version              string
	date                 time.Time
	files                []file
}

// A file goes into an archive.
type file struct {
	name   string // slash-separated, below the archive's folder
	source string
	mode   os.FileMode
}

var programName = regexp.MustCompile(`^(memcore(?:-lancedb)?)-([a-z0-9]+)-([a-z0-9]+)(?:\.exe)?$`)

func pack(path, parts, version string, date time.Time) error {
	match := programName.FindStringSubmatch(filepath.Base(path))
	if match == nil {
		return errors.New("its name is not memcore-OS-ARCH or memcore-lancedb-OS-ARCH")
	}
	p := program{name: match[1], path: path, os: match[2], arch: match[3], version: version, date: date}
	if err := p.collect(parts); err != nil {
		return err
	}
	if p.os == "windows" {
		return p.write(p.base()+".zip", p.zip)
	}
	if err := p.write(p.base()+".tar.gz", p.tar); err != nil {
		return err
	}
	if p.os != "linux" {
		return nil
	}
	for _, format := range []string{"deb", "rpm"} {
		if err := p.systemPackage(format); err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
	}
	return nil
}

// libraries are the native libraries of LanceDB, which the program finds beside itself.
var libraries = []string{"liblancedb_go.so", "liblancedb_go.dylib"}

// base is the name of the archive without its ending, and of the folder in it.
func (p *program) base() string { return p.name + "-" + p.os + "-" + p.arch }

// collect lists the program and the parts, in a fixed order.
func (p *program) collect(parts string) error {
	binary := "memcore"
	if p.os == "windows" {
		binary = "memcore.exe"
	}
	p.files = []file{
		{binary, p.path, 0o755},
		{"THIRD_PARTY_NOTICES", p.path + ".THIRD_PARTY_NOTICES", 0o644},
		{"memcore.cdx.json", p.path + ".cdx.json", 0o644},
	}
	for _, library := range libraries {
		if _, err := os.Stat(p.path + "." + library); err == nil {
			p.files = append(p.files, file{library, p.path + "." + library, 0o644})
		}
	}
	return filepath.WalkDir(parts, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(parts, path)
		p.files = append(p.files, file{filepath.ToSlash(name), path, 0o644})
		return err
	})
}
