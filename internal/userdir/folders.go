package userdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// name is memcore's folder in those of the system.
const name = "memcore"

// ServiceKeyFile is in the folder of the state.
const ServiceKeyFile = "service.key"

// Cache returns the folder of what memcore can make again.
func Cache() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	if runtime.GOOS == "windows" { // the system has one folder for both
		return filepath.Join(dir, name, "cache"), nil
	}
	return filepath.Join(dir, name), nil
}

// State returns the folder of what memcore cannot make again, such as the list of forgotten texts.
// It is never inside Cache.
func State() (string, error) {
	switch runtime.GOOS {
	case "windows":
		dir, err := os.UserCacheDir() // %LocalAppData%
		return filepath.Join(dir, name, "state"), err
	case "darwin", "ios":
		dir, err := os.UserConfigDir() // ~/Library/Application Support
		return filepath.Join(dir, name), err
	}
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", errors.New("neither $XDG_STATE_HOME nor $HOME are defined")
		}
		dir = filepath.Join(home, ".local", "state")
	}
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("$XDG_STATE_HOME is %q, want an absolute path", dir)
	}
	return filepath.Join(dir, name), nil
}
