package when_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/memcore/memcore/core/when"
)

func TestNamed(t *testing.T) {
	for name, want := range map[string]string{
		"2026-09-01":                     "2026-09-01 1",
		"2026-9-1":                       "2026-09-01 1",
		"2026_09_01":                     "2026-09-01 1",
		"2026.09.01":                     "2026-09-01 1",
		"2026 09 01":                     "2026-09-01 1",
		"20260901":                       "2026-09-01 1",
		"202609010930 idea":              "2026-09-01 1",
		"20260901093015":                 "2026-09-01 1",
		"2026/09/01":                     "2026-09-01 1",
		"01.09.2026":                     "2026-09-01 1",
		"1.9.2026 Protokoll":             "2026-09-01 1",
		"2026-09-01T10:30:00Z":           "2026-09-01 1",
		"2026-09-01 Meeting":             "2026-09-01 1",
		"Meeting_2026-09-01_final":       "2026-09-01 1",
		"Meeting 2026-09-01":             "2026-09-01 1",
		"[1.2.0] - 2026-09-01":           "2026-09-01 1",
		"[[2026-09-01]]":                 "2026-09-01 1",
		"1 September 2026":               "2026-09-01 1",
		"Tuesday, 1 September 2026":      "2026-09-01 1",
		"September 1st, 2026":            "2026-09-01 1",
		"Dienstag, 1. September 2026":    "2026-09-01 1",
		"2026年9月1日":                      "2026-09-01 1",
		"1_september_2026":               "2026-09-01 1",
		"2026-W36":                       "2026-08-31 7",
		"2026-w36 review":                "2026-08-31 7",
		"2026W36":                        "2026-08-31 7",
		"2026-KW36":                      "2026-08-31 7",
		"2026-W53":                       "2026-12-28 7",
		"2025-W53":                       "",
		"2026-09":                        "2026-09-01 30",
		"2026_09 news":                   "2026-09-01 30",
		"September 2026":                 "2026-09-01 30",
		"2026-Q3":                        "2026-07-01 92",
		"Plan for 2026-W40":              "",
		"budget 2026-10":                 "",
		"2026":                           "",
		"TICKET-20260901":                "",
		"PR 20260901":                    "",
		"Invoice 20260901":               "",
		"bug #20260901":                  "",
		"call +49 20260901":              "",
		"Meeting 20260901":               "2026-09-01 1",
		"IMG_20260901_093015":            "2026-09-01 1",
		"TICKET-7 of 2026-09-01":         "2026-09-01 1",
		"2026 plan":                      "",
		"2026 10 ideas":                  "",
		"2026-02-30":                     "",
		"2026-13-01":                     "",
		"20269901":                       "",
		"1234-09-01":                     "",
		"release 1.9.20":                 "",
		"2026.1.3":                       "2026-01-03 1",
		"call 004920260901":              "",
		"march of the penguins":          "",
		"monday":                         "",
		"1 September":                    "",
		"from 1 May 2026 to 3 July 2026": "2026-05-01 64",
		"05/07/2026":                     "",
		"":                               "",
	} {
		s, ok := when.Named(name, time.UTC)
		got := ""
		if ok {
			got = s.From.Format(time.DateOnly) + " " + (time.Duration(s.To.Sub(s.From).Hours()/24) * time.Nanosecond).String()
			got = got[:len(got)-2]
			assert.Less(t, s.Start, s.End, name)
			assert.LessOrEqual(t, s.End, len(name), name)
		}
		assert.Equal(t, want, got, name)
	}
}
