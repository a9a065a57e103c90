package turn

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

func TestOpenBy(t *testing.T) {
	for tools, want := range map[string]string{
		``:                    "",
		`[]`:                  "",
		`{"name":7}`:          "",
		`[{"name":"search"}]`: "",
		`[{"name":"Bash"}]`:   "run memcore read NAME",
		`[{"type":"function","function":{"name":"shell"}}]`:                                                    "run memcore read NAME",
		`[{"name":"mcp__memcore__memory_read"},{"name":"Bash"}]`:                                               "mcp__memcore__memory_read with path NAME",
		`[{"name":"Bash"},{"type":"function","function":{"name":"memory_read"}},{"name":"other_memory_read"}]`: "memory_read with path NAME",
	} {
		require.Equal(t, want, openBy(gjson.Parse(tools)), tools)
	}
}
