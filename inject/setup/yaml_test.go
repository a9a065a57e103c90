package setup

import (
	"errors"
	"testing"
)

func TestWithSetting(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"no file", "", "memory:\n  hook:\n    index: all\n"},
		{"comments only", "# mine\n", "# mine\nmemory:\n  hook:\n    index: all\n"},
		{"no memory", "other: 1", "other: 1\nmemory:\n  hook:\n    index: all\n"},
		{"no hook", "memory:\n    # three\n    limit: 3 # hits\n", "memory:\n    hook:\n      index: all\n    # three\n    limit: 3 # hits\n"},
		{"a hook", "memory:\n  hook:\n    budget: 3s\n  limit: 3\n", "memory:\n  hook:\n    index: all\n    budget: 3s\n  limit: 3\n"},
		{"an empty hook", "memory:\n  hook:\n    # budget: 3s\n", "memory:\n  hook:\n    index: all\n    # budget: 3s\n"},
		{"another value", "memory: {hook: {index: \"off\"}}\n", ""},
		{"another plain value", "memory:\n  Hook:\n    index: off # not yet\n", "memory:\n  Hook:\n    index: all # not yet\n"},
		{"in braces", "memory: {limit: 3}\n", ""},
		{"no mapping", "memory:\n  hook: 3\n", ""},
		{"an alias", "a: &a\n  budget: 3s\nmemory:\n  hook: *a\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := withSetting(tt.in, []string{"memory", "hook", "index"}, "all")
			if got != tt.want || errors.Is(err, errYAML) != (tt.want == "") {
				t.Errorf("withSetting(%q) = %q, %v, want %q", tt.in, got, err, tt.want)
			}
		})
	}
}
