package setup

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The entry of TOML files: an MCP server.

// toml changes a TOML file of the agent.
func (e *edit) toml(change func(t *tables) error) error {
	f, err := e.open(e.serversFile(e.scope))
	if err != nil {
		return err
	}
	t := &tables{text: f.text, made: f.Created}
	if err = t.parse(); err == nil {
		err = change(t)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	// memcore made the file if the table begins it.
	f.Removed = t.text == "" && !f.Created && f.Before != "" && strings.IndexByte(blanks, f.Before[0]) < 0
	f.text = t.text
	return nil
}

// removeTOML changes a file only if mayHold.
func (e *edit) removeTOML(change func(t *tables) error) error {
	if !e.mayHold(e.serversFile(e.scope)) {
		return nil
	}
	return e.toml(change)
}

// errInline asks a person for a change that would reorder the file.
func errInline(key, do string) error {
	return fmt.Errorf("%s is written in a form that memcore does not change: %s by hand", key, do)
}

func (e *edit) addTOMLServer(file string) error {
	return e.toml(func(t *tables) error {
		entry, there := t.servers()[serverName]
		if !there {
			if name := t.ownServer(e.binary); name != "" {
				e.noteServer(file, name)
				return nil
			}
			err := t.add("[mcp_servers."+serverName+"]", "command = "+quotedTOML(e.binary), `args = ["mcp"]`)
			if err != nil {
				return errInline("mcp_servers", "add memcore, command "+quotedTOML(e.binary)+`, args ["mcp"]`)
			}
			return nil
		}
		if !runsServer(entry, e.binary) {
			e.noteServer(file, serverName)
			return nil
		}
		return t.updateServer(e.binary)
	})
}

// updateServer sets the command of our server.
func (t *tables) updateServer(binary string) error {
	for _, one := range t.all {
		if command, ok := one.get("command"); ok && one.is("mcp_servers", serverName) {
			if command.text == binary {
				return nil
			}
			return t.splice(command.start, command.end, quotedTOML(binary))
		}
	}
	if entry, _ := t.servers()[serverName].(map[string]any); entry["command"] == binary {
		return nil
	}
	return errInline("mcp_servers.memcore", "set its command to "+quotedTOML(binary))
}

func (t *tables) servers() map[string]any {
	servers, _ := t.values["mcp_servers"].(map[string]any)
	return servers
}

// ownServer returns the name of our server, or "".
func (t *tables) ownServer(binary string) string {
	for name, server := range t.servers() {
		if runsServer(server, binary) {
			return name
		}
	}
	return ""
}

func runsServer(server any, binary string) bool {
	entry, _ := server.(map[string]any)
	command, _ := entry["command"].(string)
	args, _ := entry["args"].([]any)
	return isMemcore(command, binary) && slices.Contains(args, any("mcp"))
}

func (t *tables) removeServer(binary string) error {
	if !runsServer(t.servers()[serverName], binary) {
		return nil
	}
	found := false
	for _, one := range slices.Backward(t.all) {
		if one.below("mcp_servers", serverName) {
			found = true
			if err := t.remove(one); err != nil {
				return err
			}
		}
	}
	if !found {
		return errInline("mcp_servers.memcore", "take it out")
	}
	return nil
}

// hasTOMLHooks notes our hooks in the TOML file: Codex runs both files', memcore changes hooks.json
// only.
func (e *edit) hasTOMLHooks() (has bool, err error) {
	file := e.serversFile(e.scope)
	if !e.row.TOML || !e.mayHold(file) {
		return false, nil
	}
	err = e.toml(func(t *tables) error {
		has = runsHook(t.values["hooks"], e.binary)
		return nil
	})
	if has {
		e.note("%s has hooks of memcore: change or remove them by hand", e.options.shown(file))
	}
	return has, err
}

func runsHook(value any, binary string) bool {
	below := func(v any) bool { return runsHook(v, binary) }
	switch v := value.(type) {
	case map[string]any:
		line, _ := v["command"].(string)
		_, _, ours := ownCommand(line, binary)
		return ours || slices.ContainsFunc(slices.Collect(maps.Values(v)), below)
	case []any:
		return slices.ContainsFunc(v, below)
	}
	return false
}
