package main

import (
	"fmt"
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
	cmd.AddCommand(evalRunCommand(a), evalTurnsCommand(a))
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

// writeBaseline writes what the --gate of later runs reads.
func writeBaseline(name string, data []byte) error {
	if err := writeWhole(name, data); err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	return nil
}
