package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// allowedCrates are the licences that crates may have besides those of modules.
var allowedCrates = []string{"BSL-1.0", "CDLA-Permissive-2.0", "OpenSSL", "Unicode-3.0"}

// A crate is a Rust package in the native library of LanceDB.
type crate struct {
	name, version string
	checksum      string // SHA-256 of its archive; "" for one that the lock file takes from git
	dir           string // its source in cargo's folder
	licence       string // an SPDX expression
}

// crates returns the packages in the lock file of LanceDB's library, with their source, which cargo
// keeps after a build.
func (m *module) crates() ([]crate, error) {
	path := filepath.Join(m.dir, "rust", "Cargo.lock")
	var lock struct {
		Package []struct{ Name, Version, Source, Checksum string }
	}
	if err := readTOML(path, &lock); err != nil {
		return nil, err
	}
	var all []crate
	for _, p := range lock.Package {
		if p.Source == "" {
			continue // the module's own
		}
		c := crate{name: p.Name, version: p.Version, checksum: p.Checksum}
		if err := c.locate(); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	if len(all) < 100 {
		return nil, fmt.Errorf("%s names %d packages, which cannot be all", path, len(all))
	}
	return all, nil
}

// locate finds the source of a crate and reads its licence, which has to be allowed.
func (c *crate) locate() error {
	home := os.Getenv("CARGO_HOME")
	if home == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return err
		}
		home = filepath.Join(user, ".cargo")
	}
	source := filepath.Join(home, "registry", "src", "*", c.name+"-"+c.version)
	found, err := filepath.Glob(source)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("there is no %s, whose licence the notices need; a build of LanceDB's library by cargo brings it", source)
	}
	c.dir = found[0]
	var manifest struct{ Package struct{ License string } }
	if err := readTOML(filepath.Join(c.dir, "Cargo.toml"), &manifest); err != nil {
		return err
	}
	c.licence = slash.ReplaceAllString(manifest.Package.License, " OR ")
	if !isAllowed(c.licence) {
		return fmt.Errorf("%s %s has the licence %q, which is not allowed", c.name, c.version, c.licence)
	}
	return nil
}

func readTOML(path string, to any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := toml.Unmarshal(data, to); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

var slash = regexp.MustCompile(` *\/ *`) // how old manifests say OR

// isAllowed reports whether of each part of an SPDX expression one alternative is allowed. In an
// expression that is nested otherwise nothing is.
func isAllowed(expression string) bool {
	for part := range strings.SplitSeq(expression, " AND ") {
		alternatives := strings.Split(strings.TrimSuffix(strings.TrimPrefix(part, "("), ")"), " OR ")
		if !slices.ContainsFunc(alternatives, func(name string) bool {
			return slices.Contains(allowed, name) || slices.Contains(allowedCrates, name)
		}) {
			return false
		}
	}
	return true
}

// crateNotices writes the licences of all crates; a text that many of them have is written once.
func crateNotices(w io.Writer, all []crate) error {
	fmt.Fprintf(w, "\n%s\nThe native library of LanceDB contains the Rust packages below. The source of one is at https://crates.io/crates/NAME/VERSION.\n",
		strings.Repeat("=", 80))
	first := map[string]string{} // where a text is written
	for _, c := range all {
		fmt.Fprintf(w, "\n%s %s: %s\n", c.name, c.version, c.licence)
		entries, err := os.ReadDir(c.dir)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if !entry.Type().IsRegular() || !isLicence(entry.Name()) {
				continue
			}
			data, err := os.ReadFile(filepath.Join(c.dir, entry.Name()))
			if err != nil {
				return err
			}
			text := strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n"))
			if where := first[text]; where != "" {
				fmt.Fprintf(w, "--- %s: as that of %s\n", entry.Name(), where)
				continue
			}
			first[text] = c.name + " " + c.version
			fmt.Fprintf(w, "--- %s\n\n%s\n\n", entry.Name(), text)
		}
	}
	return nil
}
