package tenants

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"
)

// What would go into a project's curated memory goes to the file for all; anything else stays.
func TestSharedArguments(t *testing.T) {
	for name, tt := range map[string]struct{ given, want string }{
		"no target":           {`{"content": "x"}`, `{"content":"x","path":"facts/team.md"}`},
		"project":             {`{"content": "x", "target": "project", "section": "Ports"}`, `{"content":"x","path":"facts/team.md"}`},
		"the older names":     {`{"fact": "x", "scope": "project"}`, `{"fact":"x","path":"facts/team.md"}`},
		"names in other case": {`{"content": "x", "TARGET": "global"}`, ``},
		"the user's own":      {`{"content": "x", "target": "global"}`, ``},
		"a team":              {`{"content": "x", "scope": "@platform"}`, ``},
		"a file":              {`{"content": "x", "path": "facts/ports.md"}`, ``},
		"what is refused":     {`{"content": "x", "private": true}`, `{"content":"x","path":"facts/team.md","private":true}`},
		"no object":           {`[]`, ``},
		"null":                {`null`, ``},
		"no JSON":             {`{`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, cmp.Or(tt.want, tt.given), string(sharedArguments([]byte(tt.given))))
		})
	}
}
