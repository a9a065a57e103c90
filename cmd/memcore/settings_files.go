package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/viper"

	"github.com/memcore/memcore/internal/beneath"
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
	if _, err := os.Lstat(own); err != nil || sameFile(own, user) {
		return nil
	}
	trusted, err := l.trustsProject()
	if err != nil {
		return err
	}
	if trusted {
		return l.mergeFile(own, trustedProject)
	}
	// A stranger's file may be anything: what is wrong with it costs nobody anything.
	before := l.configuration
	before.origin, before.files = maps.Clone(l.origin), slices.Clone(l.files)
	values := l.merged.AllSettings()
	if err := l.mergeFile(own, anyProject); err != nil {
		before.ignored = l.ignored
		l.configuration, l.merged = before, viper.New()
		if restoring := l.merged.MergeConfigMap(values); restoring != nil {
			return restoring
		}
		l.ignore("%v; the file is ignored", err)
	}
	return nil
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
	data, err := l.readConfig(file, least)
	if err != nil {
		return usagef("configuration %s: %w", file, err)
	}
	l.files = append(l.files, file)
	read := viper.New()
	read.SetConfigType("yaml")
	if err := read.ReadConfig(bytes.NewReader(data)); err != nil {
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

// readConfig reads a configuration file; a project's own only if it is no link and lies where it seems to.
func (l *loader) readConfig(file string, least owner) ([]byte, error) {
	if least == personal {
		return os.ReadFile(file)
	}
	opened, _, err := beneath.Open(l.app.project, filepath.Join(".beans", "config.yaml"))
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	return io.ReadAll(io.LimitReader(opened, maxConfig))
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
