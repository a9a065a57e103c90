package core

import "testing"

func TestPublishes(t *testing.T) {
	for path, want := range map[string]bool{"notes/a.md": true, "BEANS.local.md": false, "a/X.LOCAL.md": false, "~/x.md": false, "/abs.md": false, "../up.md": false, ".ai/sessions/--p--/about-user.md": false, ".ai/sessions/--p--/solved-earlier.md": false} {
		if got := (Options{}).publishes(path, entry{Scope: "project", Kind: "markdown"}); got != want {
			t.Errorf("publishes(%q) = %v, want %v", path, got, want)
		}
	}
}
