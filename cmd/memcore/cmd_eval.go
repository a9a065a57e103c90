package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/safefile"
)

func evalCommand(a *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Measure retrieval on labelled data",
		Args:  cobra.ArbitraryArgs,
		RunE:  helpOrUnknown,
	}
	cmd.AddCommand(evalInitCommand(a), evalRunCommand(a), evalTurnsCommand(a), evalCompareCommand(a), evalFitCommand(a), evalMixedCommand(a), evalInjectionCommand(a))
	return cmd
}

// collectionOpener opens memories of collections with the configured engine and embedder. adjust
// may change the options.
func collectionOpener(a *cli, adjust ...func(*core.Options)) (eval.Opener, embed.Embedder, error) {
	engine, err := app.ChooseEngine(a.Settings.Engine, a.Origin["engine"], "", app.EngineNames()).Writable()
	if err != nil {
		return nil, nil, err
	}
	at, err := a.Folders()
	if err != nil {
		return nil, nil, err
	}
	embedder, err := a.Index().Embedder(at)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, sources []source.Source, folder string) (*core.Manager, error) {
		options := core.Options{
			Folder: folder, Sources: sources, Engine: engine, Embedder: embedder, Freshness: -1,
			EmbedTimeout: measuredTimeout, Logger: a.Log}
		if err := a.Index().Reranking(&options); err != nil {
			return nil, err
		}
		for _, f := range adjust {
			f(&options)
		}
		return core.Open(ctx, options)
	}, embedder, nil
}

// measuredTimeout is generous: figures must not depend on the machine's load.
const measuredTimeout = 5 * time.Minute

// noteEach notes the progress of a run by name.
func noteEach(a *cli) func(name string, done, total int) {
	return func(name string, done, total int) { a.note("%d of %d: %s", done, total, name) }
}

// writeWhole replaces a file in one step. It writes to a pipe directly.
func writeWhole(name string, data []byte) error {
	path, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, data, 0o600)
	}
	return safefile.Replace(filepath.Dir(path), filepath.Base(path), data, 0o600)
}

func writeJSON(name string, value any) error {
	text, err := indented(value)
	if err != nil {
		return err
	}
	return writeWhole(name, text)
}

func indented(value any) ([]byte, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	return append(text, '\n'), err
}
