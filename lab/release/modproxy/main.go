// Command modproxy writes what a module proxy would serve of a commit, as files, so that
// "go install" can be tried without publishing anything:
//
//	go run ./modproxy DIR VERSION
//	GOPROXY=file://DIR,... go install github.com/memcore/memcore/cmd/memcore@latest
//
// It fails if a proxy would refuse the module: too large, or with names that no zip may have.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: modproxy DIR VERSION")
		os.Exit(2)
	}
	if err := publish(filepath.Join("..", ".."), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "modproxy:", err)
		os.Exit(1)
	}
}

// publish writes the commit that is checked out in root.
func publish(root, dir, version string) error {
	data, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	file, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return err
	}
	if n := len(file.Replace) + len(file.Exclude); n > 0 {
		return fmt.Errorf("go.mod has %d replace or exclude directives, and go install refuses those", n)
	}
	if err := module.Check(file.Module.Mod.Path, version); err != nil {
		return err
	}
	dir = filepath.Join(dir, filepath.FromSlash(file.Module.Mod.Path), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Now().UTC()})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"list": []byte(version + "\n"), version + ".info": info, version + ".mod": data} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	out, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		return err
	}
	err = zip.CreateFromVCS(out, module.Version{Path: file.Module.Mod.Path, Version: version}, root, "HEAD", "")
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	size, err := os.Stat(out.Name())
	if err == nil {
		fmt.Printf("%s %s: %.1f MB of %d MB\n", file.Module.Mod.Path, version, float64(size.Size())/1e6, zip.MaxZipFile>>20)
	}
	return err
}
