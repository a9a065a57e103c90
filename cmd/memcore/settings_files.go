package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/viper"
)

// maxConfig is the largest configuration file that is read; a project's own may be anything.
const maxConfig = 1 << 20

// mergeFiles takes over the user's configuration, then the workspace's.
func (l *loader) mergeFiles() error {
	a := l.app
	user := a.flags.config
	if user == "" && a.home != "" {
		user = filepath.Join(a.home, ".beans", "config.yaml")
	}
	if err := l.mergeFile(user, personal); err != nil {
		return err
	}
	own := filepath.Join(a.project, ".beans", "config.yaml")
	if _, err := os.Stat(own); err != nil || sameFile(own, user) {
		return nil
	}
	least := anyProject
	if trusted, err := l.trustsProject(); err != nil {
		return err
	} else if trusted {
		least = trustedProject
	}
	return l.mergeFile(own, least)
}

// trustsProject tells whether the workspace is trusted, by what is known before its own file is read.
func (l *loader) trustsProject() (bool, error) {
	early := *l
	early.merged = viper.New()
	for _, s := range knownSettings {
		early.merged.Set(s.key, l.merged.Get(s.key))
	}
	early.origin = map[string]string{}
	if err := early.environment(); err != nil {
		return false, err
	}
	if err := early.merged.UnmarshalExact(&early.settings); err != nil {
		return false, usagef("configuration: %w", err)
	}
	root, err := early.app.trustFor(early.settings).Covering(l.app.project)
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

// mergeFile takes over the settings of a file, of those owners on that may set them there. Those that it may not set, or that do not exist, are
// named and left out. Only a file that was named with --config has to exist.
func (l *loader) mergeFile(file string, least owner) error {
	if file == "" {
		return nil
	}
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && l.app.flags.config != file:
		return nil
	case err != nil:
		return usagef("configuration: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxConfig:
		return usagef("configuration %s is no file, or larger than %d KiB", file, maxConfig>>10)
	}
	l.files = append(l.files, file)
	read := viper.New()
	read.SetConfigFile(file)
	read.SetConfigType("yaml")
	if err := read.ReadInConfig(); err != nil {
		var parse viper.ConfigParseError
		if errors.As(err, &parse) {
			err = parse.Unwrap()
		}
		return usagef("configuration %s: %w", file, err)
	}
	if read.IsSet("memory") && read.Sub("memory") == nil {
		return usagef("configuration %s: memory is %s, want settings below it", file, shown(read.Get("memory")))
	}
	for _, key := range slices.Sorted(slices.Values(read.AllKeys())) {
		if name, ours := strings.CutPrefix(key, "memory."); ours { // other programs share the file
			if err := l.mergeKey(file, name, read.Get(key), least); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *loader) mergeKey(file, name string, value any, least owner) error {
	if other, ok := aliases[strings.ToLower(name)]; ok {
		name = other
	}
	i := slices.IndexFunc(knownSettings, func(s setting) bool { return strings.EqualFold(s.key, name) })
	if i < 0 {
		l.ignore("%s: unknown setting memory.%s is ignored", file, name)
		return nil
	}
	s := knownSettings[i]
	if least == anyProject && s.of == trustedProject {
		l.ignore("%s: memory.%s is ignored: the workspace is not trusted ('memcore trust add')", file, s.key)
		return nil
	}
	if s.of < least {
		l.ignore("%s: memory.%s is ignored: the file comes with the project, and this may only be set in your own configuration", file, s.key)
		return nil
	}
	if err := l.take(s, file+": memory."+s.key, value); err != nil {
		return err
	}
	l.origin[s.key] = "memory." + s.key + " in " + file
	return nil
}

func (l *loader) ignore(format string, args ...any) {
	l.ignored = append(l.ignored, fmt.Sprintf(format, args...))
}
