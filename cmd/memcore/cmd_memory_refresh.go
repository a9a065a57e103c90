package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/plain"
	"github.com/memcore/memcore/internal/jsonfile"
)

// lastSeen holds the hashes of memory files at the last refresh, by path.
type lastSeen struct {
	Files map[string]string `json:"files"`
}

func memoryRefreshCommand(a *cli) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "refresh",
		Short: "Read the memory files again and report changes",
		Long: `Read the memory files again and report changes since the last refresh. With --watch, report
further changes until Ctrl-C.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withCurated(cmd.Context(), a, func(layer *curated.Layer, m curated.Memory) error {
				noteCurated(cmd.Context(), a, m)
				if err := printChanges(cmd.Context(), a, m); err != nil {
					return err
				}
				if !watch {
					return nil
				}
				var printing error
				ctx, stop := context.WithCancel(cmd.Context())
				defer stop()
				err := layer.Watch(ctx, func(m curated.Memory) {
					noteCurated(cmd.Context(), a, m)
					if printing = printChanges(ctx, a, m); printing != nil {
						stop()
					}
				})
				if printing != nil {
					return printing
				}
				if cmd.Context().Err() != nil { // Ctrl-C
					return nil
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "report further changes until Ctrl-C")
	return cmd
}

// printChanges reports changes since the last refresh.
func printChanges(ctx context.Context, a *cli, m curated.Memory) error {
	at, err := a.Folders()
	if err != nil {
		return err
	}
	now := map[string]string{}
	for _, s := range m.Segments {
		now[s.Path] = s.Hash
	}
	var before map[string]string
	_, err = jsonfile.ChangeDerived(ctx, filepath.Join(filepath.Dir(at.Index), "static.json"), func(seen *lastSeen) error {
		before, seen.Files = seen.Files, now
		return nil
	})
	if err != nil {
		return fmt.Errorf("remember what was seen: %w", err)
	}
	report := changes(before, now)
	if a.json {
		if report == nil {
			report = []change{}
		}
		return json.NewEncoder(a.stdout.json()).Encode(struct {
			Changes []change      `json:"changes"`
			Usage   curated.Usage `json:"usage"`
		}{report, m.Usage})
	}
	var b strings.Builder
	for _, c := range report {
		fmt.Fprintln(&b, plain.Line("%s  %s", c.What, c.Path))
	}
	if before != nil && len(report) == 0 {
		b.WriteString("nothing has changed\n")
	}
	return a.print(b.String() + app.Footer(m) + "\n")
}

// A change of a file since the last refresh.
type change struct {
	What string `json:"what"` // added, changed or removed
	Path string `json:"path"`
}

func changes(before, now map[string]string) []change {
	var all []change
	for _, path := range slices.Sorted(maps.Keys(now)) {
		switch old, had := before[path]; {
		case !had:
			all = append(all, change{"added", path})
		case old != now[path]:
			all = append(all, change{"changed", path})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if _, has := now[path]; !has {
			all = append(all, change{"removed", path})
		}
	}
	return all
}
