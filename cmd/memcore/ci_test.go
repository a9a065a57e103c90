package main

import (
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStepsOfCI holds .ci/steps against the tree: each step has a script, each path exists, and
// each folder of the tree is named, so that whoever adds one decides what its changes need.
func TestStepsOfCI(t *testing.T) {
	const root = "../../"
	table, err := os.ReadFile(root + ".ci/steps")
	require.NoError(t, err)
	named := map[string]bool{}
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if step := fields[0]; step != "none" {
			script, err := os.Stat(root + ".ci/" + step)
			require.NoError(t, err, "the step's script")
			require.NotZero(t, script.Mode()&0o100, ".ci/%s cannot be run", step)
		}
		for _, name := range fields[1:] {
			_, err := os.Stat(root + name)
			require.NoError(t, err, "named by %s", fields[0])
			named[name] = true
		}
	}
	tracked, err := exec.Command("git", "-C", root, "-c", "core.quotePath=false", "ls-files").Output()
	if err != nil {
		t.Skip("not a git checkout: ", err)
	}
	var unnamed []string
	for file := range strings.Lines(string(tracked)) {
		folder, _, inFolder := strings.Cut(path.Clean(strings.TrimSpace(file)), "/")
		if inFolder && !named[folder] && !slices.Contains(unnamed, folder) {
			unnamed = append(unnamed, folder)
		}
	}
	require.Empty(t, unnamed, "folders that no row of .ci/steps names")
}

// TestTouchedSteps asks .ci/touched for the steps of the last commit, and of a commit that is not
// known.
func TestTouchedSteps(t *testing.T) {
	list := func(base string) string {
		command := exec.Command("bash", "../../.ci/touched", "--list", base)
		out, err := command.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	if exec.Command("git", "-C", "../..", "rev-parse", "HEAD").Run() != nil {
		t.Skip("not a git checkout")
	}
	every := list("0000000000000000000000000000000000000000")
	require.Contains(t, every, "all steps run")
	require.Contains(t, every, "touched: kernels\n")
	require.NotContains(t, list("HEAD"), "all steps run")
}
