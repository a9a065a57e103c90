package when

import (
	"strings"
	"testing"
	"time"
)

func TestBounds(t *testing.T) {
	for text, want := range map[string]string{
		"2026-11-17":                "2026-11-17/2026-11-18",
		"2026-11-17T10:00:00+01:00": "2026-11-17T10:00/2026-11-17T10:00",
		"2026-11-17 10:00":          "2026-11-17T10:00/2026-11-17T10:00",
		"last week":                 "2026-11-09/2026-11-16",
		" 2 days ago ":              "2026-11-16/2026-11-17",
		"on Tuesday":                "2026-11-17/2026-11-18",
		"7d":                        "2026-11-11T15:30/2026-11-11T15:30",
		"36h":                       "2026-11-17T03:30/2026-11-17T03:30",
		"2w":                        "2026-11-04T15:30/2026-11-04T15:30",
		"3mo":                       "2026-08-18T15:30/2026-08-18T15:30",
		"now":                       "2026-11-18T15:30/2026-11-18T15:30",
		"March":                     "2026-03-01/2026-04-01",
		"2023":                      "2023-01-01/2024-01-01",
		"spring":                    "2026-03-01/2026-06-01",
		"letzte Woche":              "2026-11-09/2026-11-16",
		"上周":                        "2026-11-09/2026-11-16",
		"7.5.2023":                  "2023-05-07/2023-05-08",
	} {
		from, err := From(text, now)
		to, err2 := To(text, now)
		if got := show([]Span{{From: from.In(now.Location()), To: to.In(now.Location())}}); got != want || err != nil || err2 != nil {
			t.Errorf("bounds of %q are %s, %v, %v, want %s", text, got, err, err2, want)
		}
	}
	for text, want := range map[string]string{
		"":                          "names no time",
		"soon":                      "names no time",
		"last week's cache problem": "names no time",
		"last week and yesterday":   "names no time",
		"05/07/2023":                "two ways, 2023-07-05 and 2023-05-07",
		"before March":              "has no beginning",
		"-7d":                       "names no time",
		"2026-13-01":                "names no time",
		"7x":                        "names no time",
	} {
		if _, err := From(text, now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("From(%q) = %v, want an error with %q", text, err, want)
		}
	}
}

func FuzzBounds(f *testing.F) {
	for _, seed := range []string{"7d", "last week", "2026-11-17", "999999h", "", "99999y", "上周"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		from, err := From(text, now)
		to, err2 := To(text, now)
		if (err == nil) != (err2 == nil) || err == nil && (to.Before(from) || from.Equal(time.Time{})) {
			t.Errorf("bounds of %q: %v to %v, %v, %v", text, from, to, err, err2)
		}
	})
}
