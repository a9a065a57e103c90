package main

import (
	"compress/gzip"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
	"golang.org/x/mod/semver"
)

// places says where Linux wants the files of an archive. What has no place is left out.
var places = map[string]string{
	"memcore":                  "/usr/bin/memcore",
	"LICENSE":                  "/usr/share/doc/memcore/copyright",
	"THIRD_PARTY_NOTICES":      "/usr/share/doc/memcore/THIRD_PARTY_NOTICES",
	"CHANGELOG.md":             "/usr/share/doc/memcore/CHANGELOG.md",
	"completions/memcore.bash": "/usr/share/bash-completion/completions/memcore",
	"completions/_memcore":     "/usr/share/zsh/vendor-completions/_memcore",
	"completions/memcore.fish": "/usr/share/fish/vendor_completions.d/memcore.fish",
	"liblancedb_go.so":         "/usr/lib/memcore/liblancedb_go.so",
}

// systemPackage makes a deb or an rpm. It depends on nothing, as the program is static, unless that is
// linked with LanceDB. Such a package takes the place of the other.
func (p *program) systemPackage(format string) error {
	scratch, err := os.MkdirTemp("", "memcore-pack")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	contents, err := p.contents(format, scratch)
	if err != nil {
		return err
	}
	needs, err := p.needs(format)
	if err != nil {
		return err
	}
	description := "Memory for AI agents\nIndexes Markdown files and agents' conversations, and finds the few passages\n" +
		"that matter for each turn."
	var instead []string
	if p.name != "memcore" {
		description += " This build can keep vectors in LanceDB."
		instead = []string{"memcore"}
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: p.name, Arch: p.arch, Platform: p.os, Version: p.version, Release: "1",
		Section: "utils", Priority: "optional", Maintainer: "The memcore authors <memcore@users.noreply.github.com>",
		Description: description, Homepage: "https://github.com/memcore/memcore", License: "Apache-2.0", MTime: p.date,
		DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			Contents: contents, Depends: needs, Provides: instead, Conflicts: instead, Replaces: instead,
			RPM: nfpm.RPM{BuildHost: "memcore", Summary: "Memory for AI agents", Packager: "The memcore authors"},
		},
	})
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	return p.write(packager.ConventionalFileName(info), func(w io.Writer) error { return packager.Package(info, w) })
}

// needs returns the packages, or for rpm their libraries, that a program with a native library needs:
// glibc in the version of the newest symbol that the two use, and GCC's.
func (p *program) needs(format string) ([]string, error) {
	i := slices.IndexFunc(p.files, func(f file) bool { return slices.Contains(libraries, f.name) })
	if i < 0 {
		return nil, nil
	}
	newest := ""
	for _, path := range []string{p.path, p.files[i].source} {
		f, err := elf.Open(path)
		if err != nil {
			return nil, err
		}
		symbols, err := f.ImportedSymbols()
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, s := range symbols {
			version, ok := strings.CutPrefix(s.Version, "GLIBC_")
			if ok && semver.Compare("v"+version, "v"+newest) > 0 {
				newest = version
			}
		}
	}
	if format == "deb" {
		return []string{"libc6 (>= " + newest + ")", "libgcc-s1"}, nil
	}
	return []string{"libc.so.6(GLIBC_" + newest + ")(64bit)", "libgcc_s.so.1()(64bit)"}, nil
}

// contents maps the files to their places. Manual pages are compressed in a scratch folder.
func (p *program) contents(format, scratch string) (all files.Contents, err error) {
	for _, f := range p.files {
		place, source := places[f.name], f.source
		if format == "rpm" {
			place = strings.Replace(place, "/zsh/vendor-completions/", "/zsh/site-functions/", 1)
		}
		if strings.HasPrefix(f.name, "man/") {
			place = "/usr/share/" + f.name + ".gz"
			source = filepath.Join(scratch, path.Base(f.name))
			if err := compress(source, f.source); err != nil {
				return nil, err
			}
		}
		if place == "" {
			continue
		}
		all = append(all, &files.Content{
			Source: source, Destination: place,
			FileInfo: &files.ContentFileInfo{Mode: f.mode, MTime: p.date, Owner: "root", Group: "root"},
		})
	}
	return all, nil
}

func compress(to, from string) error {
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	packed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := copyFile(packed, from); err != nil {
		return err
	}
	return packed.Close()
}
