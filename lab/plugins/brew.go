package main

import (
	"bytes"
	_ "embed"
	"strings"
	"text/template"
)

//go:embed memcore.rb.tmpl
var formula string

// writeFormula writes a formula of Homebrew that takes the program from the archives.
func writeFormula(r *release, folder string) error {
	t, err := template.New("memcore.rb").Parse(formula)
	if err != nil {
		return err
	}
	type download struct{ URL, Sum string }
	type platform struct {
		Name       string
		ARM, Intel *download
	}
	of := func(os, arch string) *download {
		if a := r.find(os, arch); a != nil {
			return &download{r.base + "/" + a.name, a.sum}
		}
		return nil
	}
	var platforms []platform
	for _, name := range []string{"macos", "linux"} {
		os := strings.Replace(name, "macos", "darwin", 1)
		if p := (platform{name, of(os, "arm64"), of(os, "amd64")}); p.ARM != nil || p.Intel != nil {
			platforms = append(platforms, p)
		}
	}
	var buf bytes.Buffer
	err = t.Execute(&buf, map[string]any{
		"Summary": summary, "Home": repository, "Version": r.semver(), "Licence": licenceName, "Platforms": platforms,
	})
	if err != nil {
		return err
	}
	return write(folder, file{"memcore.rb", buf.Bytes(), 0o644})
}
