package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// A program is a built memcore with its modules.
type program struct {
	root, binary string
	info         *debug.BuildInfo
	sum          string    // SHA-256 of the file, hexadecimal
	modules      []*module // linked into it, by path; memcore itself is not among them
	model        model
	direct       []string // paths of the modules that memcore imports itself
}

// A module is linked into the program.
type module struct {
	path, version string
	sum           string   // as in go.sum: "h1:" and a hash in base64
	dir           string   // its source in the module cache
	packages      []string // folders of the packages that are linked
	uses          []string // paths of modules whose packages it imports
}

func (p *program) setting(key string) string {
	for _, s := range p.info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// version is as `memcore version` prints it.
func (p *program) version() string {
	return p.info.Main.Version
}

// readProgram reads the modules linked into binary and finds their source, verified by checksum.
func readProgram(root, binary string) (*program, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("read the modules of %s: %w", binary, err)
	}
	file, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	p := &program{root: root, binary: binary, info: info, sum: fmt.Sprintf("%x", sha256.Sum256(file))}
	if p.model, err = readModel(root, file); err != nil {
		return nil, err
	}
	byPath := map[string]*module{}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			return nil, fmt.Errorf("%s: %s is replaced by %s, whose licences are unknown", binary, dep.Path, dep.Replace.Path)
		}
		m := &module{path: dep.Path, version: dep.Version, sum: dep.Sum}
		byPath[m.path] = m
		p.modules = append(p.modules, m)
	}
	if len(p.modules) == 0 {
		return nil, fmt.Errorf("%s is linked with no module: is it memcore?", binary)
	}
	if err := p.locate(byPath); err != nil {
		return nil, err
	}
	return p, p.packages(byPath)
}

// locate finds the folders of the modules and downloads missing ones.
func (p *program) locate(byPath map[string]*module) error {
	args := []string{"mod", "download", "-json"}
	for _, m := range p.modules {
		args = append(args, m.path+"@"+m.version)
	}
	out, err := p.goTool(args...)
	if err != nil {
		return err
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var at struct{ Path, Version, Dir, Sum, Error string }
		if err := decoder.Decode(&at); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("go mod download: %w", err)
		}
		m := byPath[at.Path]
		if m == nil || at.Error != "" {
			return fmt.Errorf("source of %s %s: %s", at.Path, at.Version, at.Error)
		}
		if at.Sum != m.sum {
			return fmt.Errorf("%s %s: the program was linked with source of the sum %s, here it is %s", m.path, m.version, m.sum, at.Sum)
		}
		m.dir = at.Dir
	}
	for _, m := range p.modules {
		if m.dir == "" {
			return fmt.Errorf("source of %s %s: not found", m.path, m.version)
		}
	}
	return nil
}

// packages returns the linked packages for the program's platform and tags.
func (p *program) packages(byPath map[string]*module) error {
	out, err := p.goTool("list", "-deps", "-tags="+p.setting("-tags"), "-json=ImportPath,Dir,Module,Imports", p.info.Path)
	if err != nil {
		return err
	}
	owner := map[string]string{}
	imports := map[string][]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg struct {
			ImportPath, Dir string
			Module          *struct {
				Path, Version string
				Main          bool
			}
			Imports []string
		}
		if err := decoder.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("go list: %w", err)
		}
		if pkg.Module == nil {
			continue // the standard library
		}
		owner[pkg.ImportPath] = pkg.Module.Path
		imports[pkg.ImportPath] = pkg.Imports
		if pkg.Module.Main {
			continue
		}
		m := byPath[pkg.Module.Path]
		if m == nil || m.version != pkg.Module.Version {
			return fmt.Errorf("%s needs %s %s, which %s is not linked with: rebuild it", pkg.ImportPath, pkg.Module.Path, pkg.Module.Version, p.binary)
		}
		m.packages = append(m.packages, pkg.Dir)
	}
	for from, all := range imports {
		for _, to := range all {
			used, ok := owner[to]
			if !ok || used == owner[from] {
				continue
			}
			if m := byPath[owner[from]]; m != nil {
				m.uses = append(m.uses, used)
			} else {
				p.direct = append(p.direct, used)
			}
		}
	}
	p.direct = unique(p.direct)
	for _, m := range p.modules {
		m.uses = unique(m.uses)
		if len(m.packages) == 0 {
			return fmt.Errorf("%s is linked with %s, of which the source needs no package: rebuild it", p.binary, m.path)
		}
	}
	return nil
}

func unique(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}

// goTool runs go in memcore's source for the program's platform.
func (p *program) goTool(args ...string) ([]byte, error) {
	command := exec.Command("go", args...)
	command.Dir = p.root
	command.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
	for _, key := range []string{"GOOS", "GOARCH", "CGO_ENABLED"} {
		command.Env = append(command.Env, key+"="+p.setting(key))
	}
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", strings.Join(args[:min(len(args), 2)], " "), err, stderr.String())
	}
	return out, nil
}

// A model is built in.
type model struct {
	sum    string // SHA-256 of minilm.bin, hexadecimal
	readme string // where it comes from
}

// readModel reads the weights file and checks that the program has it.
func readModel(root string, program []byte) (m model, err error) {
	dir := filepath.Join(root, "embed", "minilm")
	weights, err := os.ReadFile(filepath.Join(dir, "minilm.bin"))
	if err != nil {
		return m, err
	}
	if !bytes.Contains(program, weights) {
		return m, fmt.Errorf("the weights in %s are not those in the program: rebuild it", dir)
	}
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		return m, err
	}
	m = model{sum: fmt.Sprintf("%x", sha256.Sum256(weights)), readme: string(readme)}
	if !strings.Contains(m.readme, m.sum) {
		return m, fmt.Errorf("%s gives another SHA-256 of minilm.bin than %s", filepath.Join(dir, "README.md"), m.sum)
	}
	return m, nil
}
