package app

import (
	"testing"
)

func TestChooseEngine(t *testing.T) {
	const file = "memory.engine in config.yaml"
	plain, native := []string{"flat"}, []string{"lancedb", "flat"}
	for _, tt := range []struct {
		name             string
		setting, origin  string
		indexed          string
		built            []string
		inUse, reason    string
		next, nextReason string // "" if the same
	}{
		{"nothing there", "auto", "", "", plain, "flat", "the default of this build", "", ""},
		{"nothing there, with LanceDB", "auto", "", "", native, "lancedb", "the default of this build", "", ""},
		{"auto that somebody wrote", "auto", file, "", native, "lancedb", "the default of this build", "", ""},
		{"the index decides", "auto", "", "flat", native, "flat", asIndexed, "", ""},
		{"the index decides for LanceDB", "auto", "", "lancedb", native, "lancedb", asIndexed, "", ""},
		{"the index is of an engine that is missing", "auto", "", "lancedb", plain,
			"lancedb", asIndexed, "flat", "the default of this build, which does not have lancedb"},
		{"configured", "lancedb", file, "", native, "lancedb", file, "", ""},
		{"configured as it is", "flat", "--engine", "flat", native, "flat", "--engine", "", ""},
		{"configured otherwise: queries use what there is", "lancedb", file, "flat", native, "flat", asIndexed, "lancedb", file},
		{"configured and missing", "lancedb", "MEMCORE_ENGINE", "", plain, "lancedb", "MEMCORE_ENGINE", "", ""},
		{"configured and missing, index of another", "lancedb", file, "flat", plain, "flat", asIndexed, "lancedb", file},
		{"of a release to come", "auto", "", "quantum", native,
			"quantum", asIndexed, "lancedb", "the default of this build, which does not have quantum"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := EngineChoice{Indexed: tt.indexed, InUse: tt.inUse, Reason: tt.reason, Next: tt.next, NextReason: tt.nextReason}
			if tt.next == "" {
				want.Next, want.NextReason = tt.inUse, tt.reason
			}
			if got := ChooseEngine(tt.setting, tt.origin, tt.indexed, tt.built); got != want {
				t.Errorf("chooseEngine(%q, %q, %q, %q) = %+v, want %+v", tt.setting, tt.origin, tt.indexed, tt.built, got, want)
			}
		})
	}
}
