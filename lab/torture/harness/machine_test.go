package harness_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/lab/torture/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// Each writer writes, and Restore undoes it.
func TestWriters(t *testing.T) {
	s := harness.NewMachine(t, t.TempDir())
	s.Must(t, "index")
	base := s.Look(t)
	for _, w := range harness.Writers {
		t.Run(w.Name, func(t *testing.T) {
			s.Restore(t, base)
			require.Empty(t, harness.Differences(s.Look(t).Person(), base.Person()))
			if w.Prepare != nil {
				w.Prepare(t, s)
			}
			before := s.Look(t)
			r := s.Run(t, w)
			require.Zero(t, r.Code, r.Out+r.Errors)
			after := s.Look(t)
			require.Empty(t, after.Temporary())
			t.Logf("%s%s", r.Out, r.Errors)
			for _, d := range harness.Differences(after.Person(), before.Person()) {
				t.Log(d)
			}
			if same(before, after) {
				t.Error("it has written nothing")
			}
		})
	}
}

func same(a, b harness.Tree) bool {
	for name, f := range a {
		if g, ok := b[name]; !ok || f.Mode.IsRegular() && (f.Data != g.Data || !f.Time.Equal(g.Time)) {
			return false
		}
	}
	return len(a) == len(b)
}
