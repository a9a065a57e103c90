package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/memcore/memcore/inject/daemon"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
)

// starter starts this program as the daemon, which opens the workspace for the next hook. It serves
// other workspaces, too, and gets only variables that the system and servers need.
func starter(w *app.Workspace) (daemon.Starter, error) {
	binary, err := os.Executable()
	s := daemon.Starter{Binary: binary, Args: []string{"serve", "--on-demand", "--open", w.Project}, Version: version(), Env: []string{}}
	wanted := []string{w.Settings.OpenAI.APIKeyEnv, w.Settings.Reflect.APIKeyEnv, w.Settings.Service.KeyEnv}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if config.OfSystem().MatchString(name) || slices.Contains(wanted, name) || strings.HasPrefix(name, "OTEL_") {
			s.Env = append(s.Env, variable)
		}
	}
	return s, err
}

func startDaemon(ctx context.Context, w *app.Workspace) error {
	if w.Override() != "" {
		return nil // the daemon would not be asked
	}
	at, err := app.DaemonPlace()
	if err != nil {
		return err
	}
	s, err := starter(w)
	if err != nil {
		return err
	}
	return at.Start(ctx, s)
}

// replaceDaemon replaces a daemon of an older release.
func replaceDaemon(ctx context.Context, w *app.Workspace, running string) error {
	at, err := app.DaemonPlace()
	if err != nil {
		return err
	}
	if !daemon.IsNewer(version(), running) {
		return nil
	}
	if err := w.Prepare(); err != nil {
		return err
	}
	s, err := starter(w)
	if err != nil {
		return err
	}
	return at.Replace(ctx, running, s)
}
