package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/text/plain"
)

// withCurated passes curated memory to do, unless memory is off.
func withCurated(ctx context.Context, a *cli, do func(*curated.Layer, curated.Memory) error) error {
	if !a.Settings.Enabled {
		a.note(app.TurnedOff)
		return nil
	}
	layer, m, err := loadCurated(ctx, a)
	if err != nil {
		return err
	}
	return do(layer, m)
}

// loadCurated loads curated memory. On a terminal it asks about trust first.
func loadCurated(ctx context.Context, a *cli) (*curated.Layer, curated.Memory, error) {
	layer := a.Curated().Layer()
	m, err := layer.Load(ctx)
	if err != nil {
		return nil, m, err
	}
	if !m.Trusted && a.asks() && len(a.Curated().Untrusted(ctx, m)) > 0 {
		decided, err := trustDialog(ctx, a, m.Project)
		if err != nil {
			return nil, m, err
		}
		if decided {
			if err := a.Load(); err != nil { // more of its settings count now
				return nil, m, err
			}
			a.noteMistakes(true)
			layer = a.Curated().Layer()
			if m, err = layer.Load(ctx); err != nil {
				return nil, m, err
			}
		}
	}
	ignorePrivate(a, layer, m)
	return layer, m, nil
}

// noteCurated reports warnings about curated memory.
func noteCurated(ctx context.Context, a *cli, m curated.Memory) {
	for _, w := range m.Warnings {
		a.note("%s", w)
	}
	if n := len(a.Curated().Untrusted(ctx, m)); n > 0 && a.NotCurated() == nil {
		a.note("%s of %s not used: the folder is not trusted; 'memcore trust list %s' shows them, 'memcore trust add' trusts them", plain.Count(n, "memory file"), m.Project, setup.Quoted(m.Project))
	}
}

// ignorePrivate makes git ignore a memory's private files.
func ignorePrivate(a *cli, layer *curated.Layer, m curated.Memory) {
	did, problems := a.Curated().KeepPrivate(layer, m)
	noteIgnored(a, did, problems)
}

func noteIgnored(a *cli, did, problems []string) {
	for _, text := range did {
		a.note("%s", plain.OneLine(text))
	}
	for _, text := range problems {
		a.note("warning: %s", plain.OneLine(text))
	}
}

// remindOfTrust asks about an untrusted folder, or notes it.
func remindOfTrust(ctx context.Context, a *cli) error {
	_, m, err := loadCurated(ctx, a)
	if err == nil && !m.Trusted && a.NotCurated() == nil {
		a.note("agents get it as reference only: the folder is not trusted ('memcore trust add')")
	}
	return err
}

func ignoreTarget(a *cli, target curated.Target) error {
	changed, err := target.KeepOutOfGit()
	if err != nil {
		return fmt.Errorf("%s is not opened, since git would see it: %w", target.Path, err)
	}
	if changed != "" {
		a.note("%s now ignores %s", changed, filepath.Base(target.File))
	}
	return nil
}

// targetFlags choose the memory file to write.
type targetFlags struct{ global, private bool }

func (t *targetFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&t.global, "global", false, "your own memory (~/.beans) instead of the project's")
	cmd.Flags().BoolVar(&t.private, "local", false, "the private .local.md file, which git ignores")
}

// trustDialog asks once about a folder, and reports whether it is trusted.
func trustDialog(ctx context.Context, a *cli, folder string) (trusted bool, err error) {
	store := a.Trust()
	if _, decided, err := store.Of(folder); err != nil || decided || a.Home == "" {
		return false, nil
	}
	inside, err := a.Curated().Contents(ctx, folder)
	if err != nil {
		return false, err
	}
	parent, choice := a.Curated().ParentToTrust(folder), ""
	choices := []string{"trust folder", "don't trust", "no"}
	if parent != "" {
		choices = append(choices, "parent", "trust parent")
		choice = fmt.Sprintf("  [p] Trust parent (%s)", plain.OneLine(parent))
	}
	question := fmt.Sprintf("%s\n\n%s\n[t] Trust folder%s  [d] Don't trust  [Enter] Decide later: ", plain.OneLine(folder), inside, choice)
	switch a.choose(ctx, question, choices...) {
	case "trust folder":
	case "parent", "trust parent":
		folder = parent
	case "don't trust", "no":
		_, err := store.Set(ctx, folder, false)
		return false, err
	default:
		return false, ctx.Err()
	}
	if _, err := store.Set(ctx, folder, true); err != nil {
		return false, fmt.Errorf("trust: %w", err)
	}
	return true, nil
}
