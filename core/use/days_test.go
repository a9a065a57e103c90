package use

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestByDay(t *testing.T) {
	zone := time.FixedZone("east", 5*3600)
	now := time.Date(2026, 11, 25, 3, 0, 0, 0, zone)
	days := ByDay([]Turn{
		{At: time.Date(2026, 11, 24, 21, 0, 0, 0, time.UTC), Hits: []Hit{{Used: Yes}, {Used: No}, {}}}, // the 25th in the east
		{At: now.AddDate(0, 0, -2)},
		{At: now.AddDate(0, 0, -3), Hits: []Hit{{Used: Yes}}}, // too early
	}, now, 3)
	require.Equal(t, []Day{
		{Day: "2026-11-23", Prompts: 1}, {Day: "2026-11-24"},
		{Day: "2026-11-25", Prompts: 1, Counts: Counts{Given: 3, Used: 1, Unused: 1, Unknown: 1}},
	}, days)
}

func TestMostUsedAndNoise(t *testing.T) {
	s := Summary{Documents: []Document{
		{"given and unknown", Counts{Given: 9, Unknown: 9}}, {"noise", Counts{Given: 5, Unused: 4, Unknown: 1}}, {"worse noise", Counts{Given: 5, Unused: 5}},
		{"used once", Counts{Given: 4, Used: 1, Unused: 3}}, {"used", Counts{Given: 3, Used: 3}}, {"rare", Counts{Given: 2, Unused: 2}},
	}}
	names := func(all []Document) (names []string) {
		for _, d := range all {
			names = append(names, d.Path)
		}
		return names
	}
	require.Equal(t, []string{"used", "used once"}, names(s.MostUsed(9)))
	require.Equal(t, []string{"used"}, names(s.MostUsed(1)))
	require.Equal(t, []string{"worse noise", "noise"}, names(s.Noise(9)))
	require.NotNil(t, Summary{}.Noise(1))
}
