package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gofrs/flock"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/cmd/memcore/early"
	"github.com/memcore/memcore/internal/app"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "hook" && strings.Contains(filepath.Base(os.Args[0]), ".test") {
		os.Exit(1) // a hook that a test ran in its own process was late, and wants to record that
	}
	memcore := func() { os.Exit(run(os.Args[1:], early.Stdin, os.Stdout, os.Stderr)) }
	testscript.Main(m, map[string]func(){
		"memcore":    memcore,
		olderProgram: func() { release = "v1.0.0"; memcore() },
		newerProgram: func() { release = "v1.1.0"; memcore() },
	})
}

// Names under which the test binary is memcore of a release. Tests that need processes of their own
// start these instead of building the program.
const (
	olderProgram = "memcore-1.0"
	newerProgram = "memcore-1.1"
)

// programAt returns the path of the test binary under the name of a program, as TestMain made it.
func programAt(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	require.NoError(t, err)
	return path
}

// alwaysLanceDB is true in a build with the tag lancedbalways.
var alwaysLanceDB = false

// TestScripts runs scripts of commands, each in an empty home. With the build tag lancedb the
// condition of that name holds, with lancedbalways also that one: indexes are LanceDB's by default.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: false,
		Condition: func(name string) (bool, error) {
			switch name {
			case "e5": // the pack that 'make -C lab model-e5' makes
				return os.Getenv("MEMCORE_E5") != "", nil
			case "lancedbalways":
				return alwaysLanceDB, nil
			}
			return app.IsBuilt(name), nil
		},
		Cmds: scriptCommands,
		Setup: func(env *testscript.Env) error {
			env.Values[textsEmbedded{}] = &atomic.Int64{}
			env.Values[heldLocks{}] = new([]*flock.Flock)
			env.Values[environment{}] = env
			env.Values[backgroundKey{}] = &background{}
			env.Values[runningService{}] = &memoryService{}
			home := env.WorkDir + "/home"
			env.Setenv("HOME", home)
			env.Setenv("XDG_CACHE_HOME", home+"/.cache")
			bin, _, _ := strings.Cut(env.Getenv("PATH"), string(os.PathListSeparator))
			env.Setenv("E5_PACK", os.Getenv("MEMCORE_E5"))
			env.Setenv("BIN", bin)                     // memcore and nothing else
			env.Setenv("MEMCORE_FRESHNESS", "30s")     // these machines may be busy
			env.Setenv("GORACE", "atexit_sleep_ms=20") // the race detector would wait a second at each exit
			return os.MkdirAll(home, 0o755)
		},
	})
}
