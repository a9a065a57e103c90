package core

import (
	"slices"
	"testing"
	"time"

	"github.com/memcore/memcore/internal/paths"
)

func textsOf(ranked []*candidate) (all []string) {
	for _, c := range ranked {
		all = append(all, c.record.Text)
	}
	return all
}

func TestDecay(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	old, young, timeless := scoredText(0.8, "old", 1), scoredText(0.5, "young", 1), scoredText(0.3, "timeless", 1)
	old.record.Time, young.record.Time = now.Add(-48*time.Hour), now.Add(time.Hour)
	ranked := []*candidate{old, young, timeless}
	decay(ranked, 0, now)
	if got := textsOf(ranked); !slices.Equal(got, []string{"old", "young", "timeless"}) {
		t.Errorf("without half-life: %q", got)
	}
	decay(ranked, 24*time.Hour, now)
	if got := textsOf(ranked); !slices.Equal(got, []string{"young", "timeless", "old"}) || ranked[2].Score != 0.2 {
		t.Errorf("after two half-lives: %q, the old one scores %v, want a quarter", got, ranked[2].Score)
	}
}

func TestDiversify(t *testing.T) {
	ranked := func() []*candidate {
		return []*candidate{scoredText(0.9, "a b c", 1), scoredText(0.8, "a b d", 1), scoredText(0.7, "x y z", 1), scoredText(0.1, "p q", 1)}
	}
	for diversity, want := range map[float64][]string{
		0:   {"a b c", "a b d", "x y z", "p q"},
		0.5: {"a b c", "x y z", "a b d", "p q"},
	} {
		all := ranked()
		diversify(all, 0.5, diversity)
		if got := textsOf(all); !slices.Equal(got, want) {
			t.Errorf("diversity %g: %q, want %q", diversity, got, want)
		}
	}
}

// The newer of near duplicates takes the place of the better.
func TestNewerStandsForBoth(t *testing.T) {
	old, now := scoredText(0.9, "the port is 5433 here", 5), scoredText(0.6, "The port is 5433 here!", 5)
	old.record.Time, now.record.Time = time.Unix(100, 0), time.Unix(200, 0)
	hits, rejected, _ := choose([]*candidate{old, now}, 10, selection{threshold: 0.5, limit: 5, budget: -1, explain: true})
	if len(hits) != 1 || hits[0].Text != now.record.Text || hits[0].Score != 0.9 || !slices.Equal(hits[0].Also, []string{paths.Citation(old.record.Path, 1, 1)}) {
		t.Errorf("hits are %+v, want the newer text with the better score, and the older one cited", hits)
	}
	if len(rejected) != 1 || rejected[0].Text != old.record.Text || hits[0].Explain.Verdict != verdictKept || rejected[0].Explain.Verdict == verdictKept {
		t.Errorf("rejected are %+v", rejected)
	}
	hits, _, _ = choose([]*candidate{now, old}, 10, selection{threshold: 0.5, limit: 5, budget: -1})
	if hits[0].Text != now.record.Text {
		t.Errorf("%q is given, want the newer one that was better anyway", hits[0].Text)
	}
}
