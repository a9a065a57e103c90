package config

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/viper"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/safefile"
)

// maxConfig limits a configuration file, in bytes.
const maxConfig = 1 << 20

// aliases are other names of settings, in lower case.
var aliases = map[string]string{"filename": "fileNames", "memoryfilename": "fileNames", "maximportdepth": "imports.maxDepth", "default_limit": "defaultLimit"}

func (l *loader) mergeUser() error { return l.mergeFile(l.config.UserFile(), Personal) }

// mergeProject merges the workspace's own file, as far as the user trusts the workspace.
func (l *loader) mergeProject() error {
	own := filepath.Join(l.config.Project, ".beans", "config.yaml")
	if _, err := os.Lstat(own); err != nil || sameFile(own, l.config.UserFile()) {
		return nil
	}
	owner := AnyProject
	if trusted, err := l.trustsProject(); err != nil {
		return err
	} else if trusted || l.supposed {
		owner = TrustedProject
	}
	// An error in a file that others write must not stop the user.
	if err := l.mergeFile(own, owner); err != nil {
		for _, s := range Known {
			if s.hides() && s.Of >= owner {
				l.Unknown[s.Key] = err
			}
		}
		l.mistake("%v; the file is ignored", err)
	}
	return nil
}

// trustsProject reports whether the workspace is trusted by all but its own file.
func (l *loader) trustsProject() (bool, error) {
	without := newLoader(l.config)
	if err := without.mergeUser(); err != nil {
		return false, err
	}
	if err := without.finish(); err != nil {
		return false, err
	}
	root, err := l.config.trustFor(without.Settings).Covering(l.config.Project)
	if err != nil {
		l.ignore("%v", err)
	}
	return root != "", nil
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// mergeFile merges the settings that a file of an owner may set, and reports others. Only --config
// has to exist.
func (l *loader) mergeFile(file string, owner Owner) error {
	if file == "" {
		return nil
	}
	var data []byte
	var err error
	if owner == Personal {
		data, _, err = safefile.ReadPath(file, maxConfig)
	} else { // a link could lead out of the workspace
		data, _, err = safefile.ReadFile(l.config.Project, filepath.Join(".beans", "config.yaml"), maxConfig)
	}
	if errors.Is(err, fs.ErrNotExist) && l.config.Flags.Config != file {
		return nil
	}
	read := viper.New()
	read.SetConfigType("yaml")
	if err == nil {
		err = read.ReadConfig(bytes.NewReader(data))
	}
	if err != nil {
		var path *fs.PathError
		var parse viper.ConfigParseError
		if errors.As(err, &path) {
			err = path.Err // without the path
		} else if errors.As(err, &parse) {
			err = parse.Unwrap()
		}
		return kind.Usagef("configuration %s: %w", file, err)
	}
	if read.IsSet("memory") && read.Sub("memory") == nil {
		return kind.Usagef("configuration %s: memory is %s, want settings below it", file, shown(read.Get("memory")))
	}
	l.Files = append(l.Files, file)
	accepted := viper.New()
	for _, key := range slices.Sorted(slices.Values(read.AllKeys())) {
		if name, ours := strings.CutPrefix(key, "memory."); ours {
			if err := l.accept(accepted, file, name, read, owner); err != nil {
				return err
			}
		} else if wrong, meant := misplaced(key, read.Get(key)); meant != "" { // other programs share the file
			l.mistake("%s: %s is no setting: did you mean %s?", file, wrong, meant)
		}
	}
	return l.merged.MergeConfigMap(accepted.AllSettings())
}

// accept takes the value of a key if it is a setting that the owner of the file may set.
func (l *loader) accept(accepted *viper.Viper, file, name string, read *viper.Viper, owner Owner) error {
	s, written := settingOf(name)
	value := read.Get("memory." + written)
	if written == "" || written != name && value == nil {
		l.mistake("%s: unknown setting memory.%s is ignored%s", file, name, meant(name))
		return nil
	}
	switch {
	case value == nil: // all of it is commented out
		return nil
	case owner == AnyProject && s.Of == TrustedProject:
		l.ignore("%s: memory.%s is ignored: the workspace is not trusted ('memcore trust add')", file, s.Key)
		return nil
	case s.Of < owner:
		l.ignore("%s: memory.%s is ignored: the file comes with the project, and this may only be set in your own configuration", file, s.Key)
		return nil
	}
	parsed, err := s.parse(file+": memory."+s.Key, value)
	if err == nil {
		accepted.Set(s.Key, parsed)
		l.from(s, "memory."+s.Key+" in "+file)
		return nil
	}
	if owner == Personal {
		return err
	}
	// A wrong value in a workspace's file loses only itself.
	if s.hides() {
		l.Unknown[s.Key] = err
	}
	l.mistake("%v; the value is ignored", err)
	return nil
}

// settingOf returns the setting with a name, or with a mapping that has the name, and the
// setting's name in the file; "" for none.
func settingOf(name string) (s Setting, written string) {
	for written = name; written != ""; written = written[:max(strings.LastIndexByte(written, '.'), 0)] {
		key := cmp.Or(aliases[strings.ToLower(written)], written)
		if i := slices.IndexFunc(Known, func(s Setting) bool { return strings.EqualFold(s.Key, key) }); i >= 0 {
			return Known[i], written
		}
	}
	return Setting{}, ""
}
