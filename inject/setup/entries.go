package setup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// What memcore enters into JSON files: hooks, and an MCP server.

// ownServer is where our MCP server stands in a JSON file.
var ownServer = path{"mcpServers", serverName}

// want checks that there is a value of a kind, or nothing, at a path.
func (d *document) want(p path, kind hujson.Kind) (exists bool, err error) {
	v, ok := d.at(p)
	if !ok {
		return false, nil
	}
	if got := v.Value.Kind(); got != kind {
		var names []string
		for _, step := range p {
			names = append(names, fmt.Sprint(step))
		}
		return true, fmt.Errorf("%s is %s, want %s: mend it first", strings.Join(names, "."), kindNames[got], kindNames[kind])
	}
	return true, nil
}

var kindNames = map[hujson.Kind]string{'{': "an object", '[': "a list", '"': "a string", '0': "a number", 't': "true", 'f': "false", 'n': "null"}

// addHooks enters the hooks of all events, and brings those that are there up to date.
func (d *document) addHooks(k *kind, binary string) error {
	if d.made {
		return d.create(k.hooks(binary))
	}
	there, err := d.want(path{"hooks"}, '{')
	if err != nil {
		return err
	}
	if !there {
		for _, m := range k.hooks(binary) {
			if index(d.root, m.key) >= 0 {
				continue
			}
			if err := d.add(nil, m.key, m.value); err != nil {
				return err
			}
		}
		return nil
	}
	if err := d.removeOtherEvents(k, binary); err != nil {
		return err
	}
	for _, event := range k.events {
		if err := d.addHook(k, event, binary); err != nil {
			return err
		}
	}
	return nil
}

// hooks is a file with nothing else. A version stands behind the hooks, so that taking them out finds it to be ours.
func (k *kind) hooks(binary string) object {
	var all object
	for _, event := range k.events {
		all = append(all, member{event.name, []any{k.hookEntry(event, binary)}})
	}
	root := object{{"hooks", all}}
	if k.flat {
		root = append(root, member{"version", 1})
	}
	return root
}

func (d *document) addHook(k *kind, event agentEvent, binary string) error {
	list := path{"hooks", event.name}
	there, err := d.want(list, '[')
	if err != nil {
		return err
	}
	if !there {
		return d.add(path{"hooks"}, event.name, []any{k.hookEntry(event, binary)})
	}
	ours := d.ownHooks(k, event.name, binary)
	if len(ours) == 0 {
		return d.add(list, "", k.hookEntry(event, binary))
	}
	for _, double := range slices.Backward(ours[1:]) {
		if err := d.takeOutHook(k, double); err != nil {
			return err
		}
	}
	return d.updateHook(k, ours[0], event, binary)
}

// updateHook changes the command of a hook, and gives it a timeout if it has none: one that is there may be somebody's choice.
func (d *document) updateHook(k *kind, p path, event agentEvent, binary string) error {
	line, _ := d.stringAt(p.to("command"))
	if now := updated(line, binary, k.name); now != line {
		if err := d.replace(p.to("command"), now); err != nil {
			return err
		}
	}
	if _, ok := d.at(p.to("timeout")); ok {
		return nil
	}
	return d.add(p, "timeout", event.timeout)
}

// ownHooks are the paths of the hooks of an event that run memcore.
func (d *document) ownHooks(k *kind, event, binary string) []path {
	var ours []path
	list, ok := d.at(path{"hooks", event})
	if !ok || list.Value.Kind() != '[' {
		return nil
	}
	check := func(p path) {
		if line, ok := d.stringAt(p.to("command")); ok {
			if _, _, own := ownCommand(line, binary); own {
				ours = append(ours, p)
			}
		}
	}
	for i := range items(list) {
		p := path{"hooks", event, i}
		if k.flat {
			check(p)
			continue
		}
		if group, ok := d.at(p.to("hooks")); ok && group.Value.Kind() == '[' {
			for j := range items(group) {
				check(p.to("hooks", j))
			}
		}
	}
	return ours
}

// takeOutHook removes a hook, with the group it stands in if it is the only one there.
func (d *document) takeOutHook(k *kind, p path) error {
	if !k.flat {
		if group, ok := d.at(p[:len(p)-1]); ok && len(items(group)) == 1 {
			p = p[:len(p)-2]
		}
	}
	return d.takeOut(p)
}

// removeOtherEvents takes out our hooks of events that are not used any more.
func (d *document) removeOtherEvents(k *kind, binary string) error {
	return d.takeOutHooks(k, binary, func(name string) bool {
		return !slices.ContainsFunc(k.events, func(e agentEvent) bool { return e.name == name })
	})
}

// takeOutHooks removes our hooks of some events, the last one first.
func (d *document) takeOutHooks(k *kind, binary string, of func(event string) bool) error {
	hooks, ok := d.at(path{"hooks"})
	if !ok || hooks.Value.Kind() != '{' {
		return nil
	}
	for _, event := range slices.Backward(items(hooks)) {
		if !of(event.key) {
			continue
		}
		for _, p := range slices.Backward(d.ownHooks(k, event.key, binary)) {
			if err := d.takeOutHook(k, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *document) removeHooks(k *kind, binary string) error {
	every := func(string) bool { return true }
	before := *d
	if err := d.takeOutHooks(k, binary, every); err != nil {
		return err
	}
	if _, left := d.at(path{"hooks"}); left || !k.flat {
		return nil
	}
	// The hooks were ours as a whole, and a version right behind them was, too.
	at := index(before.root, "hooks")
	if all := items(before.root); at < 0 || at+1 >= len(all) || all[at+1].key != "version" {
		return nil
	}
	*d = before
	if err := d.remove(d.root, at+1); err != nil {
		return err
	}
	return d.takeOutHooks(k, binary, every)
}

// addServer enters the MCP server. If there is another one of its name, or ours under another name, nothing is changed and that name returned.
func (d *document) addServer(k *kind, binary string, trust bool) (other string, err error) {
	entry := k.serverEntry(binary, trust)
	if d.made {
		return "", d.create(object{{"mcpServers", object{{serverName, entry}}}})
	}
	there, err := d.want(path{"mcpServers"}, '{')
	switch {
	case err != nil:
		return "", err
	case !there:
		return "", d.add(nil, "mcpServers", object{{serverName, entry}})
	}
	if _, there = d.at(ownServer); there {
		return d.updateServer(k, binary, trust)
	}
	servers, _ := d.at(path{"mcpServers"})
	for _, s := range items(servers) {
		if d.isOurServer(path{"mcpServers", s.key}, binary) {
			return s.key, nil
		}
	}
	return "", d.add(path{"mcpServers"}, serverName, entry)
}

func (d *document) updateServer(k *kind, binary string, trust bool) (other string, err error) {
	if !d.isOurServer(ownServer, binary) {
		return serverName, nil
	}
	if command := ownServer.to("command"); binary != "" {
		if now, _ := d.stringAt(command); now != binary {
			if err := d.replace(command, binary); err != nil {
				return "", err
			}
		}
	}
	if _, has := d.at(ownServer.to("trust")); !has && trust && k.name == GeminiCLI {
		return "", d.add(ownServer, "trust", true)
	}
	return "", nil
}

// isOurServer tells whether an entry runs memcore with the argument mcp.
func (d *document) isOurServer(p path, binary string) bool {
	command, ok := d.stringAt(p.to("command"))
	args, has := d.at(p.to("args"))
	if !ok || !has || !isMemcore(command, binary) || args.Value.Kind() != '[' {
		return false
	}
	for i := range items(args) {
		if arg, _ := d.stringAt(p.to("args", i)); arg == "mcp" {
			return true
		}
	}
	return false
}
