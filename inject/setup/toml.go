package setup

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/memcore/memcore/internal/text/lazy"
)

// A tables is a TOML file, of which memcore changes lines. Each change is compared with what it
// should mean, so that a file that is written in an unusual form stays as it is.
type tables struct {
	text   string
	values map[string]any
}

// maxTables is in bytes: the parser is recursive.
const maxTables = 256 << 10

func parseTables(text string) (*tables, error) {
	if len(text) > maxTables {
		return nil, fmt.Errorf("it is larger than %d KiB, which memcore does not change", maxTables>>10)
	}
	t := &tables{text: text}
	if err := toml.Unmarshal([]byte(text), &t.values); err != nil {
		if strict := (*toml.DecodeError)(nil); errors.As(err, &strict) {
			line, _ := strict.Position()
			return nil, fmt.Errorf("it is not valid TOML: line %d: %w", line, err)
		}
		return nil, fmt.Errorf("it is not valid TOML: %w", err)
	}
	return t, nil
}

// become replaces the text if that means servers, and nothing else, instead of the present ones.
func (t *tables) become(text string, servers map[string]any) bool {
	next, err := parseTables(text)
	if err != nil {
		return false
	}
	want := maps.Clone(t.values)
	if want == nil {
		want = map[string]any{}
	}
	if want["mcp_servers"] = servers; len(servers) == 0 {
		delete(want, "mcp_servers")
		if left, is := next.values["mcp_servers"].(map[string]any); is && len(left) == 0 {
			delete(next.values, "mcp_servers") // its header stays
		}
	}
	if next.values == nil {
		next.values = map[string]any{}
	}
	if !reflect.DeepEqual(next.values, want) {
		return false
	}
	*t = *next
	return true
}

func (t *tables) servers() map[string]any {
	servers, _ := t.values["mcp_servers"].(map[string]any)
	return servers
}

// ownHeader matches the header of our table, or of one below it, and ownCommandLine the command in
// our table.
var (
	ownHeader      = lazy.Regexp(`^[ \t]*\[[ \t]*mcp_servers[ \t]*\.[ \t]*["']?` + serverName + `["']?[ \t]*[\].]`)
	ownCommandLine = lazy.Regexp(`^([ \t]*command[ \t]*=[ \t]*)("[^"]*"|'[^']*')`)
)

// addServer adds or updates the MCP server. It returns the name of another server in its way.
func (t *tables) addServer(binary string, created bool) (added bool, other string, err error) {
	entry, there := t.servers()[serverName].(map[string]any)
	if !there {
		for name, server := range t.servers() {
			if runsServer(server, binary) {
				return false, name, nil
			}
		}
		nl, servers := lineBreakOf(t.text), maps.Clone(t.servers())
		if servers == nil {
			servers = map[string]any{}
		}
		servers[serverName] = map[string]any{"command": binary, "args": []any{"mcp"}}
		text := t.text
		if !created {
			text += nl
		}
		text += strings.Join([]string{"[mcp_servers." + serverName + "]", "command = " + quotedTOML(binary), `args = ["mcp"]`, ""}, nl)
		if !t.become(text, servers) {
			return false, "", errInline("mcp_servers", "add memcore, command "+quotedTOML(binary)+`, args ["mcp"]`)
		}
		return true, "", nil
	}
	if !runsServer(entry, binary) {
		return false, serverName, nil
	}
	if entry["command"] == binary {
		return false, "", nil
	}
	servers := maps.Clone(t.servers())
	entry = maps.Clone(entry)
	entry["command"], servers[serverName] = binary, entry
	lines, done := strings.SplitAfter(t.text, "\n"), false
	for i, inside := range ownLines(lines) {
		if m := ownCommandLine().FindStringSubmatch(lines[i]); inside && m != nil && !done {
			lines[i], done = m[1]+quotedTOML(binary)+lines[i][len(m[0]):], true
		}
	}
	if !done || !t.become(strings.Join(lines, ""), servers) {
		return false, "", errInline("mcp_servers.memcore", "set its command to "+quotedTOML(binary))
	}
	return false, "", nil
}

// removeServer takes out our table and those below it, with the empty line before them.
func (t *tables) removeServer(binary string) (removed bool, err error) {
	if !runsServer(t.servers()[serverName], binary) {
		return false, nil
	}
	servers := maps.Clone(t.servers())
	delete(servers, serverName)
	lines := strings.SplitAfter(t.text, "\n")
	var kept []string
	ours := ownLines(lines)
	for i, line := range lines {
		if ours[i] {
			continue
		}
		begins := i+1 < len(lines) && ours[i+1]
		if begins && strings.Trim(line, blanks) == "" {
			continue
		}
		kept = append(kept, line)
	}
	alone := slices.DeleteFunc(slices.Clone(kept), func(line string) bool { return len(servers) == 0 && strings.Trim(line, blanks) == "[mcp_servers]" })
	if !t.become(strings.Join(alone, ""), servers) && !t.become(strings.Join(kept, ""), servers) {
		return false, errInline("mcp_servers.memcore", "take it out")
	}
	return true, nil
}

// ownLines reports for each line whether it is in our table. Empty lines and comments at its end
// belong to the next table.
func ownLines(lines []string) []bool {
	ours := make([]bool, len(lines))
	inside, last := false, -1
	for i, line := range lines {
		trimmed := strings.Trim(line, blanks)
		if strings.HasPrefix(trimmed, "[") {
			inside, last = ownHeader().MatchString(line), i-1
		}
		if inside && trimmed != "" && trimmed[0] != '#' {
			for j := last + 1; j <= i; j++ {
				ours[j] = true
			}
			last = i
		}
	}
	return ours
}

func runsServer(server any, binary string) bool {
	entry, _ := server.(map[string]any)
	command, _ := entry["command"].(string)
	args, _ := entry["args"].([]any)
	return isMemcore(command, binary) && slices.Contains(args, any("mcp"))
}

// errInline asks a person for a change that would reorder the file.
func errInline(key, do string) error {
	return fmt.Errorf("%s is written in a form that memcore does not change: %s by hand", key, do)
}

// quotedTOML returns a TOML string, which escapes like JSON.
func quotedTOML(text string) string {
	return strings.ReplaceAll(marshal(text, "", ""), "\x7f", `\u007f`)
}
