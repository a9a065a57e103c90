package main

import (
	_ "embed"
	"path"
	"path/filepath"
)

//go:embed memcore.js
var wrapper []byte

// A nodePackage is a package.json.
type nodePackage struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	Keywords             []string          `json:"keywords,omitempty"`
	Homepage             string            `json:"homepage"`
	Repository           map[string]string `json:"repository"`
	License              string            `json:"license"`
	Bin                  map[string]string `json:"bin,omitempty"`
	Files                []string          `json:"files"`
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	Engines              map[string]string `json:"engines,omitempty"`
	PreferUnplugged      bool              `json:"preferUnplugged,omitempty"`
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
}

// writeNPM writes a package for each platform, and one that needs them and runs the program of its
// platform. No package has an install script.
func writeNPM(r *release, folder string) error {
	about := nodePackage{Version: r.semver(), Description: summary, Homepage: repository,
		Repository: map[string]string{"type": "git", "url": "git+" + repository + ".git"}, License: licenceName}
	main := about
	main.Name, main.Keywords = "memcore", keywords
	main.Bin, main.Files = map[string]string{"memcore": "memcore.js"}, []string{"memcore.js"}
	main.Engines, main.OptionalDependencies = map[string]string{"node": ">=18"}, map[string]string{}
	for _, a := range r.archives {
		platform, cpu := a.node()
		one := about
		one.Name = "@memcore/" + platform + "-" + cpu
		one.Description = "memcore for " + platform + " on " + cpu + "; install memcore instead"
		one.OS, one.CPU, one.PreferUnplugged = []string{platform}, []string{cpu}, true
		for _, f := range append([]file{a.program}, a.texts...) {
			one.Files = append(one.Files, f.name)
		}
		main.OptionalDependencies[one.Name] = r.semver()
		files := append([]file{jsonFile("package.json", one), a.program}, a.texts...)
		if err := write(filepath.Join(folder, path.Base(one.Name)), files...); err != nil {
			return err
		}
	}
	readme := "# memcore\n\n" + summary + ".\n\n```sh\nnpm install -g memcore\nmemcore init\n```\n\n" + repository + "\n"
	files := []file{jsonFile("package.json", main), {"memcore.js", wrapper, 0o755}, {"README.md", []byte(readme), 0o644}}
	return write(filepath.Join(folder, "memcore"), append(files, r.archives[0].texts...)...)
}
