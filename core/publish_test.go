package core

import "testing"

func TestWhatIsPublished(t *testing.T) {
	m := &Manager{}
	for path, want := range map[string]bool{"notes/a.md": true, "BEANS.local.md": false, "a/X.LOCAL.md": false, "~/x.md": false, "/abs.md": false, "../up.md": false} {
		if got := m.publishes(path, entry{Scope: "project", Kind: "markdown"}); got != want {
			t.Errorf("publishes(%q) = %v, want %v", path, got, want)
		}
	}
}
