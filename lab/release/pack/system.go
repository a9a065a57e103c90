package main

import (
	"compress/gzip"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
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
}

// systemPackage makes a deb or an rpm. It depends on nothing: the program is static.
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
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "memcore", Arch: p.arch, Platform: p.os, Version: p.version, Release: "1",
		Section: "utils", Priority: "optional", Maintainer: "The memcore authors <memcore@users.noreply.github.com>",
		Description: "Memory for AI agents\nIndexes Markdown files and agents' conversations, and finds the few passages\n" +
			"that matter for each turn.",
		Homepage: "https://github.com/memcore/memcore", License: "Apache-2.0", MTime: p.date,
		DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			Contents: contents,
			RPM:      nfpm.RPM{BuildHost: "memcore", Summary: "Memory for AI agents", Packager: "The memcore authors"},
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
