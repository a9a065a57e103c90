//go:build linux && (amd64 || arm64)

package syscalls

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/memcore/memcore/lab/internal/intercept"
	"github.com/memcore/memcore/lab/torture/harness"
)

func TestMain(m *testing.M) {
	intercept.Launch()
	os.Exit(harness.Main(m))
}

// A fault is how calls fail.
type fault struct {
	errno  syscall.Errno
	stays  bool // all calls from the n-th on fail, not only that one
	spares []string
}

func (f fault) String() string {
	if f.stays {
		return fmt.Sprintf("%v from then on", f.errno)
	}
	return fmt.Sprintf("%v once", f.errno)
}

// faults imitate a bad sector, a dying disk, and a full one, where files can still be removed.
var faults = []fault{
	{errno: syscall.EIO},
	{errno: syscall.EIO, stays: true},
	{errno: syscall.ENOSPC, stays: true, spares: []string{"unlinkat", "fchmodat", "fchmod", "ftruncate", "renameat"}},
}

// hints are files that may be lost, such as what hooks gave. Failing to write them is no error.
var hints = []string{"/journal.", ".vectors", "/embeddings"}

func isHint(s *harness.Machine, c intercept.Call) bool {
	inIndex, ok := strings.CutPrefix(c.Path, s.Index)
	return ok && slices.ContainsFunc(hints, func(name string) bool { return strings.Contains(inIndex, name) })
}

// TestFailingWrites fails calls that write. The command must name the file and the reason. The
// user's files are neither lost nor mixed, and the next command works.
func TestFailingWrites(t *testing.T) {
	harness.EachWriter(t, func(t *testing.T, s *harness.Machine, base harness.Tree, w harness.Writer) {
		course := s.Try(t, base, w)
		calls := s.Calls(t, w, intercept.Writes)
		s.Restore(t, course.Before)
		random := rand.New(rand.NewPCG(2, uint64(len(w.Name))))
		failed, reported := 0, 0
		for _, f := range faults {
			for _, nth := range harness.Spread(random, len(calls), harness.Times(1, 20)) {
				var hit *intercept.Call
				hint := true
				r, _ := s.Under(t, w, intercept.Writes, func(n int, c intercept.Call) intercept.Action {
					if n < nth || n > nth && !f.stays || slices.Contains(f.spares, c.Name) || c.Name == "unlinkat" && strings.HasSuffix(c.Path, ".new") {
						return intercept.Action{}
					}
					if hit == nil {
						hit = &c
					}
					hint = hint && isHint(s, c)
					return intercept.Action{Fail: f.errno}
				})
				if hit == nil {
					s.Restore(t, course.Before)
					continue
				}
				failed++
				if r.Code != 0 {
					reported++
				}
				where := fmt.Sprintf("%s %s, call %d of %d: %v", hit.Name, strings.TrimPrefix(hit.Path, s.Root), nth, len(calls), f)
				for _, wrong := range s.Judge(t, w, course, r, f.errno, hint) {
					t.Errorf("%s: %s", where, wrong)
				}
				wrong, _ := s.Sound(t, w, course, failed%5 == 1)
				for _, what := range wrong {
					t.Errorf("%s: afterwards: %s", where, what)
				}
				s.Restore(t, course.Before)
			}
		}
		t.Logf("%s: %d faults: EIO and ENOSPC at %d calls; %d reported with file and reason, others compensated; nothing lost", w.Name, failed, len(calls), reported)
	})
}

// TestFailingReads fails calls that read the index. The answer is right, incomplete with a note, or
// an error.
func TestFailingReads(t *testing.T) {
	if err := intercept.Supported(); err != nil {
		t.Skip("system calls cannot be stopped here: ", err)
	}
	s := harness.NewMachine(t, t.TempDir())
	s.Must(t, "index")
	base := s.Look(t)
	for _, w := range []harness.Writer{
		{Name: "retrieve", Args: []string{"retrieve", "where do tokens live"}},
		{Name: "search", Args: []string{"search", "--json", "which port does the staging database use"}},
		{Name: "hook, prompt", Args: []string{"hook", "claude-code"}, Stdin: `{"session_id":"abc","hook_event_name":"UserPromptSubmit","prompt":"where do tokens live"}`, Hook: true},
		{Name: "index", Args: []string{"index"}},
		{Name: "status", Args: []string{"status"}},
		{Name: "doctor", Args: []string{"doctor"}},
		{Name: "save", Args: []string{"save", "-y", "Releases are cut on Mondays."}},
	} {
		t.Run(w.Name, func(t *testing.T) {
			course := s.Try(t, base, w)
			ofIndex := func(c intercept.Call) bool { return strings.HasPrefix(c.Path, s.Index+"/") }
			count := 0
			s.Under(t, w, intercept.Reads, func(_ int, c intercept.Call) intercept.Action {
				if ofIndex(c) {
					count++
				}
				return intercept.Action{}
			})
			s.Restore(t, course.Before)
			random := rand.New(rand.NewPCG(3, uint64(len(w.Name))))
			failed, right := 0, 0
			for _, nth := range harness.Spread(random, count, harness.Times(4, 1000)) {
				n, hit := 0, intercept.Call{}
				r, _ := s.Under(t, w, intercept.Reads, func(_ int, c intercept.Call) intercept.Action {
					if ofIndex(c) {
						if n++; n == nth {
							hit = c
							return intercept.Action{Fail: syscall.EIO}
						}
					}
					return intercept.Action{}
				})
				if hit.Name == "" {
					continue
				}
				failed++
				where := fmt.Sprintf("%s %s, call %d of %d", hit.Name, strings.TrimPrefix(hit.Path, s.Root), nth, count)
				same := answerOf(r.Out) == answerOf(course.First.Out)
				if same {
					right++
				}
				switch {
				case strings.Contains(r.Errors, "panic"):
					t.Errorf("%s: it panicked: %s", where, r.Errors)
				case w.Hook && (r.Code != 0 || r.Errors != ""):
					t.Errorf("%s: a hook has exit code %d and says %s", where, r.Code, r.Errors)
				case !w.Hook && r.Code == 0 && !same && r.Errors == course.First.Errors && !strings.Contains(r.Out, "degraded") && !strings.Contains(r.Out, "problem ") && !strings.Contains(r.Out, "cannot be read") && !strings.Contains(r.Out, syscall.EIO.Error()):
					t.Errorf("%s: another answer without a word about it:\n%s\nwant\n%s", where, r.Out, course.First.Out)
				}
				wrong, _ := s.Sound(t, w, course, failed%5 == 1)
				for _, what := range wrong {
					t.Errorf("%s: afterwards: %s", where, what)
				}
				s.Restore(t, course.Before)
			}
			t.Logf("%s: %d faults: EIO at %d reads of the index; %d answered as without, the others said so; none wrong", w.Name, failed, count, right)
		})
	}
}

// answerOf removes what differs between runs.
func answerOf(out string) string {
	var kept []string
	for line := range strings.Lines(out) {
		if !strings.ContainsAny(line, "0123456789") || strings.Contains(line, ".md#") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}
