package app

import (
	"fmt"
	"testing"
)

func TestChooseEngine(t *testing.T) {
	const file = "memory.engine in config.yaml"
	plain, native := []string{"flat"}, []string{"flat", "lancedb"}
	size := fmt.Sprintf("%d chunks or more", LanceDBFrom)
	small, large := "lancedb is for "+size, "the index has "+size
	for _, tt := range []struct {
		name             string
		setting, origin  string
		indexed          string
		chunks           int
		built            []string
		inUse, reason    string
		next, nextReason string // "" if the same
	}{
		{"nothing there", "auto", "", "", 0, plain, "flat", "the default of this build", "", ""},
		{"nothing there, with LanceDB", "auto", "", "", LanceDBFrom - 1, native, "flat", small, "", ""},
		{"auto that somebody wrote", "auto", file, "", LanceDBFrom - 1, native, "flat", small, "", ""},
		{"a small index", "auto", "", "flat", LanceDBFrom - 1, native, "flat", small, "", ""},
		{"a large index", "auto", "", "flat", LanceDBFrom, native, "flat", asIndexed, "lancedb", large},
		{"a large index, without LanceDB", "auto", "", "flat", LanceDBFrom, plain, "flat", asIndexed, "", ""},
		{"a large index without vectors", "auto", "", "", LanceDBFrom, native, "lancedb", large, "", ""},
		{"a large index of LanceDB", "auto", "", "lancedb", LanceDBFrom, native, "lancedb", asIndexed, "", ""},
		{"a small index of LanceDB stays", "auto", "", "lancedb", 1, native, "lancedb", asIndexed, "", ""},
		{"the index is of an engine that is missing", "auto", "", "lancedb", LanceDBFrom, plain,
			"lancedb", asIndexed, "flat", "the default of this build, which does not have lancedb"},
		{"configured", "lancedb", file, "", 0, native, "lancedb", file, "", ""},
		{"configured as it is, whatever the size", "flat", "--engine", "flat", LanceDBFrom, native, "flat", "--engine", "", ""},
		{"configured otherwise: queries use what there is", "lancedb", file, "flat", 1, native, "flat", asIndexed, "lancedb", file},
		{"configured and missing", "lancedb", "MEMCORE_ENGINE", "", 0, plain, "lancedb", "MEMCORE_ENGINE", "", ""},
		{"configured and missing, index of another", "lancedb", file, "flat", 1, plain, "flat", asIndexed, "lancedb", file},
		{"of a release to come", "auto", "", "quantum", LanceDBFrom - 1, native,
			"quantum", asIndexed, "flat", "the default of this build, which does not have quantum"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := EngineChoice{Indexed: tt.indexed, InUse: tt.inUse, Reason: tt.reason, Next: tt.next, NextReason: tt.nextReason}
			if tt.next == "" {
				want.Next, want.NextReason = tt.inUse, tt.reason
			}
			if got := ChooseEngine(tt.setting, tt.origin, tt.indexed, tt.chunks, tt.built); got != want {
				t.Errorf("ChooseEngine(%q, %q, %q, %d, %q) = %+v, want %+v", tt.setting, tt.origin, tt.indexed, tt.chunks, tt.built, got, want)
			}
		})
	}
}
