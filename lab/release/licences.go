package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	classifier "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
)

// allowed are free licences, by SPDX name. MPL-2.0 requires the source of its own files only, which
// the notices name.
var allowed = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MPL-2.0", "Unlicense", "Zlib"}

// chosen are modules with a choice of licences or code that is not Go.
var chosen = map[string]struct{ kind, file, says string }{
	"github.com/golang/freetype":     {"FTL", "licenses/ftl.txt", "The FreeType Project LICENSE"},
	"github.com/apache/arrow/go/v17": {"Apache-2.0", "LICENSE.txt", "Apache License"}, // and those of its C++ and Python
}

type licence struct {
	name  string // relative to the module's folder, with slashes
	text  string
	kinds []string // SPDX names; empty for a file that only has notices or grants more
}

type licenceReader struct{ classifier *classifier.Classifier }

func newLicenceReader() (licenceReader, error) {
	c, err := assets.DefaultClassifier()
	return licenceReader{c}, err
}

// of returns the licences of a module and their kinds. A missing or forbidden licence is an error.
func (r licenceReader) of(m *module) (files []licence, kinds []string, err error) {
	choice, free := chosen[m.path]
	for _, dir := range m.foldersOfLicences() {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, nil, err
		}
		for _, entry := range entries {
			if entry.IsDir() || !isLicence(entry.Name()) {
				continue
			}
			file, err := r.read(m.dir, filepath.Join(dir, entry.Name()))
			if err != nil {
				return nil, nil, err
			}
			if len(file.kinds) == 0 && !free && !grantsNothing(entry.Name()) {
				return nil, nil, fmt.Errorf("%s %s: %s is an unknown licence", m.path, m.version, file.name)
			}
			files = append(files, file)
			kinds = append(kinds, file.kinds...)
		}
	}
	if free {
		file, err := r.read(m.dir, filepath.Join(m.dir, filepath.FromSlash(choice.file)))
		if err == nil && !strings.Contains(file.text, choice.says) {
			err = errors.New("its text says otherwise")
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s %s: %s is not the licence %s: %w", m.path, m.version, choice.file, choice.kind, err)
		}
		if !slices.ContainsFunc(files, func(known licence) bool { return known.name == file.name }) {
			files = append(files, file)
		}
		return files, []string{choice.kind}, nil
	}
	kinds = unique(kinds)
	if len(kinds) == 0 {
		return nil, nil, fmt.Errorf("%s %s has no known licence (%d files in %s)", m.path, m.version, len(files), m.dir)
	}
	for _, kind := range kinds {
		if !slices.Contains(allowed, kind) {
			return nil, nil, fmt.Errorf("%s %s has the licence %s, which is not allowed", m.path, m.version, kind)
		}
	}
	return files, kinds, nil
}

// foldersOfLicences returns the folders of the module and its linked packages, and those between.
func (m *module) foldersOfLicences() []string {
	all := []string{m.dir}
	for _, dir := range m.packages {
		for ; len(dir) > len(m.dir); dir = filepath.Dir(dir) {
			all = append(all, dir)
		}
	}
	return unique(all)
}

func isLicence(name string) bool {
	name = strings.ToLower(name)
	if slices.Contains([]string{".go", ".s", ".c", ".h"}, filepath.Ext(name)) {
		return false
	}
	for _, start := range []string{"license", "licence", "copying", "copyright", "unlicense", "notice", "patents"} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}

// grantsNothing reports whether a file is a notice or a grant of patents.
func grantsNothing(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "notice") || strings.HasPrefix(name, "patents")
}

func (r licenceReader) read(dir, path string) (licence, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return licence{}, err
	}
	name, err := filepath.Rel(dir, path)
	if err != nil {
		return licence{}, err
	}
	file := licence{name: filepath.ToSlash(name), text: string(text)}
	for _, match := range r.classifier.Match(text).Matches {
		if match.MatchType == "License" {
			file.kinds = append(file.kinds, match.Name)
		}
	}
	file.kinds = unique(file.kinds)
	return file, nil
}

// standardLibrary returns Go's own code as a module.
func (p *program) standardLibrary() (*module, error) {
	out, err := p.goTool("env", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	root, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if version != p.info.GoVersion {
		return nil, fmt.Errorf("%s was built with %s, here is %s", p.binary, p.info.GoVersion, version)
	}
	return &module{path: "std", version: strings.TrimPrefix(version, "go"), dir: root}, nil
}

// notices writes all licences of the linked code.
func (p *program) notices(w io.Writer) error {
	reader, err := newLicenceReader()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "memcore %s contains the model and the modules below, each under its own licence.\nThe source of a module is at https://pkg.go.dev/NAME@VERSION.\n", p.version())
	fmt.Fprintf(w, "\n%s\nembed/minilm: %s\n", strings.Repeat("=", 80), "sentence-transformers/all-MiniLM-L6-v2, Apache-2.0, changed as embed/minilm/README.md says")
	rules, err := os.ReadFile(filepath.Join(p.root, "internal", "text", "secret", "gitleaks", "LICENSE"))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s\ninternal/text/secret/gitleaks: rules of gitleaks, MIT\n\n--- LICENSE\n\n%s\n", strings.Repeat("=", 80), strings.TrimSpace(string(rules)))
	fmt.Fprintf(w, "\n%s\nstore/keyword/stopwords: lists of Snowball, Jacques Savoy and Lucene; BSD-3-Clause, Apache-2.0\n", strings.Repeat("=", 80))
	std, err := p.standardLibrary()
	if err != nil {
		return err
	}
	var problems []error
	for _, m := range append([]*module{std}, p.modules...) {
		files, kinds, err := reader.of(m)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		fmt.Fprintf(w, "\n%s\n%s %s: %s\n", strings.Repeat("=", 80), m.path, m.version, strings.Join(kinds, ", "))
		for _, file := range files {
			fmt.Fprintf(w, "\n--- %s\n\n%s\n", file.name, strings.TrimSpace(strings.ReplaceAll(file.text, "\r\n", "\n")))
		}
		if m.path == lancedb {
			crates, err := m.crates()
			if err == nil {
				err = crateNotices(w, crates)
			}
			if err != nil {
				problems = append(problems, err)
			}
		}
	}
	return errors.Join(problems...)
}
