// Command pack makes of built programs what people install: an archive of each, and for Linux a deb
// and an rpm. The same input gives the same bytes.
//
//	go run ./pack -parts DIR -version VERSION -time SECONDS PROGRAM...
//
// A PROGRAM is DIR/memcore-OS-ARCH, with PROGRAM.THIRD_PARTY_NOTICES and PROGRAM.cdx.json beside
// it; what is made of it gets there too. The parts are what all archives have, as .ci/pack collects
// them.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	path, os, arch string
	version        string
	date           time.Time
	files          []file
}

// A file goes into an archive.
type file struct {
	name   string // slash-separated, below the archive's folder
	source string
	mode   os.FileMode
}

func pack(path, parts, version string, date time.Time) error {
	name := strings.Split(strings.TrimSuffix(filepath.Base(path), ".exe"), "-")
	if len(name) != 3 || name[0] != "memcore" {
		return fmt.Errorf("its name is not memcore-OS-ARCH")
	}
	p := program{path: path, os: name[1], arch: name[2], version: version, date: date}
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

// base is the name of the archive without its ending, and of the folder in it.
func (p *program) base() string { return "memcore-" + p.os + "-" + p.arch }

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
	return filepath.WalkDir(parts, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(parts, path)
		p.files = append(p.files, file{filepath.ToSlash(name), path, 0o644})
		return err
	})
}
