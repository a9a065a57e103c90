package setup

import (
	"fmt"
	"slices"
	"strings"
)

// toml changes Codex's config.toml.
func (e *edit) toml(change func(t *tables, made bool) error) error {
	f, err := e.open(e.kind.serversFile(e.options, e.scope))
	if err != nil {
		return err
	}
	t, err := parseTables(f.text)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	if err := change(t, f.Created); err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	// A file that begins with our table was made by us: in others a line break comes first.
	f.Removed = t.text == "" && !f.Created && f.Before != "" && strings.IndexByte(blanks, f.Before[0]) < 0
	f.text = t.text
	return nil
}

// errInline asks for what memcore cannot do without reordering somebody's file.
func errInline(key, do string) error {
	return fmt.Errorf("%s is written in a form that memcore does not change: %s by hand", key, do)
}

func (e *edit) addCodexServer(file string) error {
	return e.toml(func(t *tables, made bool) error {
		servers, _ := t.values["mcp_servers"].(map[string]any)
		entry, there := servers[serverName].(map[string]any)
		if !there {
			if name := ownServerOf(servers, e.binary); name != "" {
				e.note("%s runs memcore as an MCP server already, named %s", e.options.shown(file), name)
				return nil
			}
			err := t.add(made, []string{"[mcp_servers." + serverName + "]", "command = " + quotedTOML(e.binary), `args = ["mcp"]`})
			if err != nil {
				return errInline("mcp_servers", "add memcore, command "+quotedTOML(e.binary)+`, args ["mcp"]`)
			}
			return nil
		}
		if !runsServer(entry, e.binary) {
			e.note("%s has another MCP server named %s, which stays as it is: memcore's is not entered", e.options.shown(file), serverName)
			return nil
		}
		if entry["command"] == e.binary {
			return nil
		}
		at := slices.IndexFunc(t.all, func(one table) bool { return one.is("mcp_servers", serverName) })
		if at < 0 {
			return errInline("mcp_servers.memcore", "set its command to "+quotedTOML(e.binary))
		}
		command, ok := t.all[at].get("command")
		if !ok {
			return errInline("mcp_servers.memcore", "set its command to "+quotedTOML(e.binary))
		}
		return t.splice(command.start, command.end, quotedTOML(e.binary))
	})
}

func ownServerOf(servers map[string]any, binary string) string {
	for name, server := range servers {
		if entry, ok := server.(map[string]any); ok && runsServer(entry, binary) {
			return name
		}
	}
	return ""
}

func runsServer(entry map[string]any, binary string) bool {
	command, _ := entry["command"].(string)
	args, _ := entry["args"].([]any)
	return isMemcore(command, binary) && slices.Contains(args, any("mcp"))
}

// addCodexHooks enters the hooks into config.toml if hooks stand there already: Codex warns of hooks in both files. done is false if hooks.json
// is the place.
func (e *edit) addCodexHooks(hooksFile string) (done bool, err error) {
	there := false
	err = e.toml(func(t *tables, _ bool) error {
		ours, err := t.ownHooks(e.binary)
		there = len(ours) > 0 || t.hasHooks()
		return err
	})
	if err != nil || !there {
		return false, err
	}
	f, err := e.open(hooksFile)
	if err != nil {
		return false, err
	}
	if d, err := parseDocument(f.text); err != nil {
		return false, fmt.Errorf("%s: %w", f.Path, err)
	} else if hooks, has := d.at(path{"hooks"}); has && len(items(hooks)) > 0 {
		return false, nil // in both already
	}
	return true, e.toml(func(t *tables, _ bool) error { return t.addHooks(e.kind, e.binary) })
}

// hasHooks tells whether hooks stand in the file; what Codex notes of their trust is none.
func (t *tables) hasHooks() bool {
	hooks, _ := t.values["hooks"].(map[string]any)
	for name := range hooks {
		if name != "state" {
			return true
		}
	}
	return false
}

// An ownTable is a hook of ours and the group it stands in.
type ownTable struct{ group, hook int }

// ownHooks returns our hooks. The error says that one is written in another form than as a table.
func (t *tables) ownHooks(binary string) ([]ownTable, error) {
	var ours []ownTable
	groups := map[string]int{} // the last one of each event, which is the one that is added to
	for i, one := range t.all {
		if one.array && len(one.key) == 2 && one.key[0] == "hooks" {
			groups[one.key[1]] = i
		}
		if !one.array || len(one.key) != 3 || one.key[0] != "hooks" || one.key[2] != "hooks" {
			continue
		}
		if command, ok := one.get("command"); ok {
			if _, _, own := ownCommand(command.text, binary); own {
				group, ok := groups[one.key[1]]
				if !ok {
					return nil, errInline("a hook of memcore", "take it out")
				}
				ours = append(ours, ownTable{group, i})
			}
		}
	}
	if n := t.countHooks(binary); n != len(ours) {
		return nil, errInline("a hook of memcore", "take it out")
	}
	return ours, nil
}

// countHooks counts our hooks however they are written.
func (t *tables) countHooks(binary string) int {
	n := 0
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				if line, ok := value.(string); ok && key == "command" {
					if _, _, own := ownCommand(line, binary); own {
						n++
					}
				}
				walk(value)
			}
		case []any:
			for _, value := range v {
				walk(value)
			}
		}
	}
	walk(t.values["hooks"])
	return n
}

func (t *tables) addHooks(k *kind, binary string) error {
	if err := t.removeHooks(binary, func(event string, seen int) bool {
		return seen > 0 || !slices.ContainsFunc(k.events, func(known agentEvent) bool { return known.name == event })
	}); err != nil {
		return err
	}
	for _, event := range k.events {
		if err := t.addHook(k, event, binary); err != nil {
			return err
		}
	}
	return nil
}

func (t *tables) addHook(k *kind, event agentEvent, binary string) error {
	ours, err := t.ownHooks(binary)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(ours, func(own ownTable) bool { return t.all[own.hook].key[1] == event.name })
	if at < 0 {
		err := t.add(false, []string{"[[hooks." + event.name + "]]"}, []string{"[[hooks." + event.name + ".hooks]]", `type = "command"`,
			"command = " + quotedTOML(hookCommand(binary, k.name)), fmt.Sprintf("timeout = %d", event.timeout)})
		if err != nil {
			return errInline("hooks."+event.name, "add the command "+quotedTOML(hookCommand(binary, k.name)))
		}
		return nil
	}
	command, _ := t.all[ours[at].hook].get("command")
	if now := updated(command.text, binary, k.name); now != command.text {
		return t.splice(command.start, command.end, quotedTOML(now))
	}
	return nil
}

// removeHooks takes out our hooks for which out says so, the last one first.
func (t *tables) removeHooks(binary string, out func(event string, seen int) bool) error {
	for {
		ours, err := t.ownHooks(binary)
		if err != nil {
			return err
		}
		last := -1
		seen := map[string]int{}
		for i, own := range ours {
			event := t.all[own.hook].key[1]
			if out(event, seen[event]) {
				last = i
			}
			seen[event]++
		}
		if last < 0 {
			return nil
		}
		if err := t.removeHook(ours[last]); err != nil {
			return err
		}
	}
}

// removeHook takes a hook out, with its group if it is the only one there.
func (t *tables) removeHook(own ownTable) error {
	hook, group := t.all[own.hook], t.all[own.group]
	alone := true
	for _, one := range t.all[own.group+1:] {
		if one.is(group.key...) {
			break
		}
		alone = alone && (one.start == hook.start || !one.is(hook.key...))
	}
	if err := t.remove(hook); err != nil || !alone {
		return err
	}
	return t.remove(t.all[own.group])
}

// removeTOML takes out of config.toml what runs memcore in one of its parts.
func (e *edit) removeTOML(part path) error {
	if !e.mayHold(e.kind.serversFile(e.options, e.scope)) {
		return nil
	}
	return e.toml(func(t *tables, _ bool) error {
		if part[0] == "hooks" {
			return t.removeHooks(e.binary, func(string, int) bool { return true })
		}
		return t.removeServer(e.binary)
	})
}

func (t *tables) removeServer(binary string) error {
	servers, _ := t.values["mcp_servers"].(map[string]any)
	entry, _ := servers[serverName].(map[string]any)
	if !runsServer(entry, binary) {
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
