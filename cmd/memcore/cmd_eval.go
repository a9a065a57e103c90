package main

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/internal/safefile"
)

func evalCommand(a *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Measure retrieval on your own questions",
		Args:  cobra.ArbitraryArgs,
		RunE:  helpOrUnknown,
	}
	cmd.AddCommand(evalInitCommand(a), evalRunCommand(a), evalTurnsCommand(a), evalCompareCommand(a))
	return cmd
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
