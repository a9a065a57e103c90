package turn

import (
	"strings"

	"github.com/tidwall/gjson"
)

// readTool is memcore's tool that opens a line of a list. Clients put their own words before its
// name, as in "mcp__memcore__memory_read".
const readTool = "memory_read"

// shells are names of tools that run a command, as agents have them, in lower case.
var shells = map[string]bool{"bash": true, "shell": true, "exec_command": true, "run_shell_command": true, "execute_command": true,
	"run_terminal_cmd": true, "run_in_terminal": true, "terminal": true}

// openBy says how the model of a request can open a line of a list, by the tools that the request
// offers it. Without a tool that can, it is "", and the turn gets no list.
func openBy(tools gjson.Result) (how string) {
	tools.ForEach(func(_, tool gjson.Result) bool {
		for _, name := range []string{tool.Get("name").Str, tool.Get("function.name").Str} {
			if strings.HasSuffix(name, readTool) {
				how = name + " with path NAME"
				return false
			}
			if shells[strings.ToLower(name)] {
				how = "run memcore read NAME"
			}
		}
		return true
	})
	return how
}
