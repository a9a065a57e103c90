package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/app/models"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
)

func modelCommand(a *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "model",
		Short: "List the models that make vectors, add and remove them",
		Long: `Without a command, list models that are installed, and those that can be. The program holds a model for
English, minilm. Others are packs: files that 'memcore model add' puts into the cache folder, for all
projects. See docs/models.md.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return helpOrUnknown(cmd, args)
			}
			return listModels(a)
		},
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(modelAddCommand(a), modelRemoveCommand(a))
	return cmd
}

// models returns the folder of packs.
func (c *cli) models() (models.Folder, error) {
	at, err := c.Folders()
	return models.Folder(at.Models()), err
}

// A listedModel is a row of 'memcore model'.
type listedModel struct {
	Name      string `json:"name"`
	Installed bool   `json:"installed"`
	Used      bool   `json:"used"` // by memory.embedder
	About     string `json:"about"`
	Licence   string `json:"licence"`
	Bytes     int64  `json:"bytes,omitempty"` // of the pack
	Path      string `json:"path,omitempty"`
}

func listModels(a *cli) error {
	folder, err := a.models()
	if err != nil {
		return err
	}
	installed, problems := folder.List()
	for _, problem := range problems {
		a.note("warning: %v", problem)
	}
	all := listedModels(installed, a.Settings.Embedder)
	if a.json {
		return a.printJSON(all)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	for _, m := range all {
		state := "'memcore model add " + m.Name + "' fetches it"
		switch {
		case m.Used:
			state = "in use"
		case m.Installed:
			state = "installed"
		}
		size := "in the program"
		if m.Bytes > 0 {
			size = plain.Bytes(m.Bytes)
		}
		fmt.Fprintln(w, plain.Line("%s\t%s\t%s\t%s\t%s", m.Name, state, size, m.Licence, m.About))
	}
	return w.Flush()
}

func listedModels(installed []models.Installed, used string) []listedModel {
	all := []listedModel{{Name: config.EmbedderMiniLM, Installed: true, About: "English", Licence: "Apache-2.0"}}
	for _, m := range installed {
		all = append(all, listedModel{Name: m.Name, Installed: true, About: plain.Count(len(m.Languages), "language"), Licence: m.Licence, Bytes: m.Bytes, Path: m.Path})
	}
	for _, r := range models.Releases {
		i := slices.IndexFunc(all, func(m listedModel) bool { return m.Name == r.Name })
		if i < 0 {
			all = append(all, listedModel{Name: r.Name, About: r.About, Licence: r.Licence, Bytes: r.Bytes})
		} else {
			all[i].About = r.About
		}
	}
	for i := range all {
		all[i].Used = all[i].Name == used
	}
	return all
}

func modelAddCommand(a *cli) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "add NAME|FILE",
		Short: "Make vectors with a model, in all projects; fetch it if it is not here",
		Long: `Set memory.embedder in your configuration to a model: by name, or that of a pack in a file. A model
that is not here yet is fetched. memcore says first from where and how much, and asks; an interrupted
download goes on where it ended. HTTPS_PROXY and NO_PROXY count. Nothing else in memcore fetches
anything.

An index of another model is made again in the background when a hook or the daemon next opens it, or
by 'memcore index'; until then its vectors answer. To go back: memcore model add minilm.`,
		Args: arguments(cobra.ExactArgs(1), "the name of a model, or a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := a.models()
			if err != nil {
				return err
			}
			name := args[0]
			if name != config.EmbedderMiniLM { // which is in the program
				added, err := addModel(cmd.Context(), a, folder, name, yes)
				if err != nil {
					return err
				}
				name = added.Name
				a.note("%s (%s, %s) is in %s", name, plain.Bytes(added.Bytes), added.Licence, added.Path)
			}
			return useModel(cmd.Context(), a, folder, name)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "fetch without asking")
	return cmd
}

// useModel sets memory.embedder in the user's configuration.
func useModel(ctx context.Context, a *cli, folder models.Folder, name string) error {
	file := a.UserFile()
	if file == "" {
		return errNoHome
	}
	var proposal setup.Proposal
	if err := proposal.AddSettings(a.SetupOptions(), file, []setup.Setting{{Key: "embedder", Value: name}}, false); err != nil {
		return fmt.Errorf("model add: %w", err)
	}
	if _, err := (offer{proposal: proposal, label: "model add", yes: true}).make(ctx, a); err != nil {
		return err
	}
	if origin := a.Origin["embedder"]; origin != "" && !strings.HasSuffix(origin, " in "+file) && a.Settings.Embedder != name {
		a.note("warning: %s sets another embedder, which counts more", origin)
	}
	a.note("indexes are made again in the background when they are next used; 'memcore index' does it now")
	if !a.json {
		return nil
	}
	installed, _ := folder.List()
	all := listedModels(installed, name)
	return a.printJSON(all[slices.IndexFunc(all, func(m listedModel) bool { return m.Used })])
}

func addModel(ctx context.Context, a *cli, folder models.Folder, name string, yes bool) (models.Installed, error) {
	if known, err := folder.Of(name); err == nil && releaseOf(name) < 0 {
		return known, nil // a pack that was added from a file before
	}
	i := releaseOf(name)
	if i < 0 || strings.ContainsRune(name, filepath.Separator) {
		added, err := folder.Add(ctx, a.Expand(name))
		if errors.Is(err, os.ErrNotExist) && filepath.Base(name) == name && filepath.Ext(name) == "" {
			return added, kind.Hint(kind.Usagef("%q is no model and no file", name), missingHint(name))
		}
		return added, err
	}
	r := models.Releases[i]
	known, err := folder.Verify(name)
	switch {
	case err == nil:
		return known, nil
	case !errors.Is(err, models.ErrMissing):
		a.note("it is fetched anew: %v", err)
	}
	a.note("%s: %s, licence %s, from %s", r.Name, plain.Bytes(r.Bytes), r.Licence, r.URL)
	switch {
	case yes:
	case !a.asks():
		return models.Installed{}, kind.Hint(kind.As(kind.BadInput, fmt.Errorf("model add: %w", errUnasked)), "--yes fetches it without asking")
	case !a.agrees(ctx, "Fetch it?", true):
		return models.Installed{}, kind.Hint(errors.New("nothing was fetched"), "a pack from elsewhere is added by 'memcore model add FILE'")
	}
	show, done := a.progress()
	added, err := folder.Fetch(ctx, r, func(bytes int64) {
		if show != nil {
			show(core.Progress{Stage: fetchStage, Done: int(bytes >> 10), Total: int(r.Bytes >> 10)})
		}
	})
	done()
	switch {
	case errors.Is(err, models.ErrNetwork):
		err = kind.Hint(err, "run it again to go on where it ended; behind a proxy set HTTPS_PROXY; offline, fetch that file elsewhere, then: memcore model add FILE")
	case errors.Is(err, models.ErrChecksum):
		err = kind.Hint(err, "something on the way changes downloads, such as a proxy: fetch the file in another way, then: memcore model add FILE")
	}
	return added, err
}

// releaseOf returns the place of a name in models.Releases, or -1.
func releaseOf(name string) int {
	return slices.IndexFunc(models.Releases, func(r models.Release) bool { return r.Name == name })
}

// fetchStage is core.Progress.Stage of a download, in kilobytes.
const fetchStage = "fetch"

// missingHint is for a name that no pack has.
func missingHint(name string) string {
	if slices.Contains([]string{config.EmbedderNone, config.EmbedderOllama, config.EmbedderOpenAI}, name) {
		return "it needs no pack: set memory.embedder to " + name + " in your configuration"
	}
	return "'memcore model' shows what can be fetched"
}

func modelRemoveCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Delete a model from the cache folder",
		Args:  arguments(cobra.ExactArgs(1), "the name of a model"),
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			folder, err := a.models()
			if err != nil {
				return err
			}
			if name == a.Settings.Embedder {
				return kind.Hint(kind.Usagef("%s is in use", name), "choose another first: memcore model add "+config.EmbedderMiniLM)
			}
			if err := folder.Remove(name); errors.Is(err, models.ErrMissing) {
				return kind.As(kind.BadInput, err)
			} else if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]string{"removed": name})
			}
			return a.printLine("removed: %s", name)
		},
	}
}
