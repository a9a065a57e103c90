//go:build linux && (amd64 || arm64)

package kills

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/lab/internal/intercept"
	"github.com/memcore/memcore/lab/torture/harness"
)

// killAt kills at the n-th call; never if nth is 0.
func killAt(nth int) func(int, intercept.Call) intercept.Action {
	return func(n int, _ intercept.Call) intercept.Action { return intercept.Action{Kill: n == nth} }
}

// TestKilledDaemon kills the daemon while clients save, hooks record answers, and files change. The
// next daemon has each acknowledged change once.
func TestKilledDaemon(t *testing.T) {
	if err := intercept.Supported(); err != nil {
		t.Skip("system calls cannot be stopped here: ", err)
	}
	s := harness.NewMachine(t, t.TempDir())
	// A daemon ignores such settings of the environment, so the file turns off confirmation.
	s.Write(t, "home/.beans/config.yaml", "memory: {save: {requireConfirmation: false}}\n")
	s.Must(t, "index")
	base := s.Look(t)
	random := rand.New(rand.NewPCG(4, 4))
	kills, found, remains := 0, 0, 0
	for round := range harness.Times(12, 200) {
		s.Restore(t, base)
		nth := 1 + random.IntN(250)
		d := s.StartDaemon(t, killAt(nth))
		saved, noted := map[string]bool{}, map[string]bool{}
		if d.Ready() {
			var clients sync.WaitGroup
			var mu sync.Mutex
			client := func(do func(i int) (key string, acknowledged bool, err error), into map[string]bool) {
				clients.Go(func() {
					for i := 0; ; i++ {
						key, acknowledged, err := do(i)
						if err != nil {
							return // it is dead
						}
						mu.Lock()
						into[key] = acknowledged
						mu.Unlock()
					}
				})
			}
			for c := range 2 {
				random := rand.New(rand.NewPCG(uint64(round), uint64(c)))
				client(func(i int) (string, bool, error) {
					key := fmt.Sprintf("Fact %d of client %d in round %d is %x.", i, c, round, random.Uint64())
					status, answer, err := d.Ask("POST", "/v1/tools/save_memory", map[string]any{"workspace": s.Workspace, "arguments": map[string]any{"content": key}})
					if err == nil && status != http.StatusOK {
						t.Errorf("save: status %d: %s", status, answer)
					}
					return key, status == http.StatusOK, err
				}, saved)
			}
			client(func(i int) (string, bool, error) {
				key := fmt.Sprintf("Answer %d in round %d.", i, round)
				event := map[string]any{"session_id": "abc", "hook_event_name": "Stop", "last_assistant_message": key}
				status, answer, err := d.Ask("POST", "/v1/hook", map[string]any{"workspace": s.Workspace, "agent": "claude-code", "event": event})
				if err == nil && status != http.StatusOK {
					t.Errorf("hook: status %d: %s", status, answer)
				}
				return key, status == http.StatusOK, err
			}, noted)
			client(func(i int) (string, bool, error) {
				name := filepath.Join(s.Workspace, "notes", fmt.Sprintf("new%d.md", i%5))
				if err := os.WriteFile(name, fmt.Appendf(nil, "# New %d\n\nOf round %d.\n", i, round), 0o644); err != nil {
					return "", false, err
				}
				_, _, err := d.Ask("POST", "/v1/index", map[string]any{"workspace": s.Workspace})
				return "index", true, err
			}, map[string]bool{})
			clients.Wait()
		}
		<-d.Ended
		kills++

		now := s.Look(t)
		left := now.Temporary()
		remains += len(left)
		s.Age(t, left)
		after := s.StartDaemon(t, killAt(0))
		if !after.Ready() {
			t.Fatalf("round %d, killed at call %d: the next daemon does not run: %s", round, nth, after.Log.String())
		}
		status, answer, err := after.Ask("POST", "/v1/tools/save_memory", map[string]any{"workspace": s.Workspace, "arguments": map[string]any{"content": "After the fall."}})
		if err != nil || status != http.StatusOK {
			t.Errorf("round %d, killed at call %d: save: %d, %v: %s", round, nth, status, err, answer)
		}
		event := map[string]any{"session_id": "abc", "hook_event_name": "Stop", "last_assistant_message": "After the fall."}
		if status, answer, err := after.Ask("POST", "/v1/hook", map[string]any{"workspace": s.Workspace, "agent": "claude-code", "event": event}); err != nil || status != http.StatusOK {
			t.Errorf("round %d, killed at call %d: hook: %d, %v: %s", round, nth, status, err, answer)
		}
		if status, answer, err := after.Ask("POST", "/v1/index", map[string]any{"workspace": s.Workspace}); err != nil || status != http.StatusOK {
			t.Errorf("round %d, killed at call %d: index: %d, %v: %s", round, nth, status, err, answer)
		}
		require.NoError(t, after.Process.Process().Signal(os.Interrupt))
		<-after.Ended

		now = s.Look(t)
		for name, keys := range map[string]map[string]bool{
			"project/BEANS.md": saved,
			s.Sessions(t) + "/claude-code-abc/messages.jsonl": noted,
		} {
			for key, acknowledged := range keys {
				if n := strings.Count(now[name].Data, key); n > 1 || n == 0 && acknowledged {
					t.Errorf("round %d, killed at call %d: %q is %d times in %s, acknowledged %v", round, nth, key, n, name, acknowledged)
				}
				if acknowledged {
					found++
				}
			}
		}
		if !strings.HasPrefix(now["project/BEANS.md"].Data, strings.TrimSuffix(base["project/BEANS.md"].Data, "\n")) {
			t.Errorf("round %d, killed at call %d: BEANS.md does not begin with what it said before: %q", round, nth, now["project/BEANS.md"].Data)
		}
		for line := range strings.Lines(now[s.Sessions(t)+"/claude-code-abc/messages.jsonl"].Data) {
			if !json.Valid([]byte(line)) {
				t.Errorf("round %d, killed at call %d: a torn line: %q", round, nth, line)
			}
		}
		for _, wrong := range append(s.Wrong(t), s.Examine(t)...) {
			t.Errorf("round %d, killed at call %d: %s", round, nth, wrong)
		}
		if stay := s.Look(t).Temporary(); len(stay) > 0 {
			t.Errorf("round %d, killed at call %d: %q stay", round, nth, stay)
		}
	}
	t.Logf("serve: %d kills: %d acknowledged texts, all there, once; the next daemon starts; %d unfinished files cleaned up", kills, found, remains)
}
