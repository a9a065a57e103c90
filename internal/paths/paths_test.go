package paths

import "testing"

func TestNamesThatAreNoText(t *testing.T) {
	for in, want := range map[string]string{"a\xffb\xc3.md": `a\xffb\xc3.md`, "ä\ufffd.md": "ä\ufffd.md", "plain.md": "plain.md"} {
		if got := NewNames("", "").Of(in); got != want {
			t.Errorf("Of(%q) = %q, want %q", in, got, want)
		}
	}
}
