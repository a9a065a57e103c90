// Command plugins makes what package managers and agents install, from the archives of a release:
//
//	go -C lab run ./plugins -release DIR -out DIR    all of it
//	go -C lab run ./plugins -plugins ..              plugin folders only, as in the repository
//	go -C lab run ./plugins -root DIR -out FILE      image of a root folder that a script .ci/image makes
//
// A release is a folder with archives named memcore-OS-ARCH.tar.gz or
// memcore-VERSION-OS-ARCH.tar.gz (or .zip) and their SHA256SUMS. The same release gives the same
// bytes. Only platforms of the release are in what is made.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	var o options
	flag.StringVar(&o.release, "release", "", "`folder` of the archives and their SHA256SUMS")
	flag.StringVar(&o.out, "out", "", "empty `folder` for what is made")
	flag.StringVar(&o.base, "base", "", "`URL` of the archives (default: the release of the version at GitHub)")
	flag.StringVar(&o.root, "root", "", "`folder` that is the root of an image")
	flag.StringVar(&o.version, "version", "dev", "`version` of that image")
	flag.StringVar(&o.plugins, "plugins", "", "write only the plugin folders, without a version, below this `folder`")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "plugins:", err)
		os.Exit(1)
	}
}

type options struct{ release, out, base, plugins, root, version string }

func (o options) run() error {
	if flag.NArg() > 0 {
		return fmt.Errorf("got the arguments %q, want flags only", flag.Args())
	}
	if o.plugins != "" {
		return writePlugins(o.plugins, "")
	}
	if o.root != "" && o.out != "" {
		return writeRootImage(o.root, o.out, o.version)
	}
	if o.release == "" || o.out == "" {
		return errors.New("-release and -out are needed, or -plugins: name the folders")
	}
	r, err := readRelease(o.release)
	if err != nil {
		return err
	}
	r.base = strings.TrimSuffix(o.base, "/")
	if r.base == "" {
		r.base = repository + "/releases/download/" + r.tag()
	}
	if left, err := os.ReadDir(o.out); err == nil && len(left) > 0 {
		return fmt.Errorf("%s is not empty: name a new folder", o.out)
	}
	for _, make := range []struct {
		name string
		do   func(r *release, folder string) error
	}{
		{"npm", writeNPM},
		{"mcpb", writeBundles},
		{"plugins", func(r *release, folder string) error { return writePlugins(folder, r.semver()) }},
		{"gemini", writeExtensions},
		{"homebrew", writeFormula},
		{"scoop", writeScoop},
		{"oci", writeImage},
	} {
		if err := make.do(r, filepath.Join(o.out, make.name)); err != nil {
			return fmt.Errorf("%s: %w", make.name, err)
		}
	}
	return nil
}
