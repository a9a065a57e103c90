package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/internal/app/kind"
	"github.com/memcore/memcore/internal/safefile"
)

// maxConfig limits a configuration file, in bytes.
const maxConfig = 1 << 20

// mergeFiles merges the user's configuration, then the workspace's.
func (l *loader) mergeFiles() error {
	a := l.config
	user := a.UserFile()
	if err := l.mergeFile(user, Personal); err != nil {
		return err
	}
	own := filepath.Join(a.Project, ".beans", "config.yaml")
	if _, err := os.Lstat(own); err != nil || sameFile(own, user) {
		return nil
	}
	trusted, err := l.trustsProject()
	if err != nil {
		return err
	}
	least := AnyProject
	if trusted || l.supposed {
		least = TrustedProject
	}
	// An error in a file that others write must not stop the user.
	if err := l.mergeFile(own, least); err != nil {
		for _, s := range Known {
			if s.hides() && s.Of >= least {
				l.Unknown[s.Key] = err
			}
		}
		l.mistake("%v; the file is ignored", err)
	}
	return nil
}

// trustsProject reports whether the workspace is trusted, without its own file.
func (l *loader) trustsProject() (bool, error) {
	early := *l
	early.merged = viper.New()
	for _, s := range Known {
		early.merged.Set(s.Key, l.merged.Get(s.Key))
	}
	early.Origin = map[string]string{}
	if err := early.environment(); err != nil {
		return false, err
	}
	if err := early.merged.UnmarshalExact(&early.Settings); err != nil {
		return false, kind.Usagef("configuration: %w", err)
	}
	root, err := early.config.trustFor(early.Settings).Covering(l.config.Project)
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

// mergeFile merges the settings that a file may set, and reports others. Only --config has to
// exist.
func (l *loader) mergeFile(file string, least Owner) error {
	if file == "" {
		return nil
	}
	data, err := l.readConfig(file, least)
	switch {
	case errors.Is(err, fs.ErrNotExist) && l.config.Flags.Config != file:
		return nil
	case err != nil:
		if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
			err = failed.Err // without the path
		}
		return kind.Usagef("configuration %s: %w", file, err)
	}
	read := viper.New()
	read.SetConfigType("yaml")
	if err := read.ReadConfig(bytes.NewReader(data)); err != nil {
		var parse viper.ConfigParseError
		if errors.As(err, &parse) {
			err = parse.Unwrap()
		}
		return kind.Usagef("configuration %s: %w", file, err)
	}
	if read.IsSet("memory") && read.Sub("memory") == nil {
		return kind.Usagef("configuration %s: memory is %s, want settings below it", file, shown(read.Get("memory")))
	}
	l.Files = append(l.Files, file)
	var document yaml.Node
	if yaml.Unmarshal(data, &document) == nil && len(document.Content) > 0 {
		for _, both := range twice(document.Content[0], false) {
			l.mistake("%s: %s are one setting, and only one of them counts: join them", file, both)
		}
	}
	if least == AnyProject && setup.IsOwnConfig(string(data)) {
		return nil // init has said that it counts once the folder is trusted
	}
	for _, key := range slices.Sorted(slices.Values(read.AllKeys())) {
		name, ours := strings.CutPrefix(key, "memory.")
		if key == "memory" { // nothing is below it
			continue
		}
		if !ours { // other programs share the file
			if wrong, meant := misplaced(key, read.Get(key)); meant != "" {
				l.mistake("%s: %s is no setting: did you mean %s?", file, wrong, meant)
			}
			continue
		}
		if err := l.mergeKey(file, name, read, least); err != nil {
			return err
		}
	}
	return nil
}

// readConfig refuses links in a workspace.
func (l *loader) readConfig(file string, least Owner) ([]byte, error) {
	if least == Personal {
		data, _, err := safefile.ReadPath(file, maxConfig)
		return data, err
	}
	data, _, err := safefile.ReadFile(l.config.Project, filepath.Join(".beans", "config.yaml"), maxConfig)
	return data, err
}

func (l *loader) mergeKey(file, name string, read *viper.Viper, least Owner) error {
	s, written := settingOf(name)
	value := read.Get("memory." + written)
	if written == "" || written != name && value == nil {
		hint := ""
		if meant := meant(name); meant != "" {
			hint = ": did you mean " + meant + "?"
		}
		l.mistake("%s: unknown setting memory.%s is ignored%s", file, name, hint)
		return nil
	}
	if value == nil { // all of it is commented out
		return nil
	}
	if least == AnyProject && s.Of == TrustedProject {
		l.ignore("%s: memory.%s is ignored: the workspace is not trusted ('memcore trust add')", file, s.Key)
		return nil
	}
	if s.Of < least {
		l.ignore("%s: memory.%s is ignored: the file comes with the project, and this may only be set in your own configuration", file, s.Key)
		return nil
	}
	if err := l.take(s, file+": memory."+s.Key, value); err != nil {
		return l.wrongValue(s, least, err)
	}
	l.Origin[s.Key] = "memory." + s.Key + " in " + file
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

// wrongValue ignores a wrong value in a workspace's file, but not the rest of the file.
func (l *loader) wrongValue(s Setting, least Owner, err error) error {
	if least == Personal {
		return err
	}
	if s.hides() {
		l.Unknown[s.Key] = err
	}
	l.mistake("%v; the value is ignored", err)
	return nil
}

// reportUnknown says what is not used while settings are unknown.
func (l *loader) reportUnknown() error {
	if l.NotIndexed() != nil {
		l.mistake("the workspace is not indexed: its memory.exclude is unknown")
	}
	if key, err := l.notCurated(); err != nil {
		l.mistake("agents get none of the workspace's memory files: its memory.%s is unknown", key)
	}
	return nil
}

func (l *loader) mistake(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(l.Mistakes, text) {
		l.Mistakes = append(l.Mistakes, text)
	}
}

func (l *loader) ignore(format string, args ...any) {
	l.Ignored = append(l.Ignored, fmt.Sprintf(format, args...))
}
