package setup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/memcore/memcore/inject/agents"
)

// Hooks, an MCP server, a status line.

// ownServer and statusLine are the places of our entries.
var (
	ownServer  = path{"mcpServers", serverName}
	statusLine = path{"statusLine"}
)

// statusCommand is the command of a status line.
const statusCommand = "statusline"

// want fails if a path's value is of another kind.
func (d *document) want(p path, kind hujson.Kind) (exists bool, err error) {
	v := d.at(p)
	if v == nil {
		return false, nil
	}
	if got := v.Value.Kind(); got != kind {
		return true, fmt.Errorf("%s is %s, want %s: fix it first", strings.ReplaceAll(p.String(), "/", "."), kindNames[got], kindNames[kind])
	}
	return true, nil
}

var kindNames = map[hujson.Kind]string{'{': "an object", '[': "a list", '"': "a string", '0': "a number", 't': "true", 'f': "false", 'n': "null"}

// addHooks adds or updates the hooks of all events, and returns how many are new.
func (d *document) addHooks(a agents.Agent, binary string) (added int, err error) {
	there, err := d.want(path{"hooks"}, '{')
	if err != nil {
		return 0, err
	}
	if !there {
		var all object
		for _, event := range a.Requested() {
			all = append(all, member{event.Name, []any{hookEntry(a, event, binary)}})
		}
		d.add(nil, "hooks", all)
		added = len(all)
	} else {
		d.takeOutHooks(a, binary, []string{"hooks"}, func(event string) bool { return !requests(a, event) })
		for _, event := range a.Requested() {
			isNew, err := d.addHook(a, event, binary)
			if err != nil {
				return 0, err
			}
			if isNew {
				added++
			}
		}
	}
	if a.FlatHooks && d.at(path{"version"}) == nil {
		d.add(nil, "version", 1)
	}
	return added, nil
}

func requests(a agents.Agent, event string) bool {
	return slices.ContainsFunc(a.Requested(), func(e agents.Event) bool { return e.Name == event })
}

func (d *document) addHook(a agents.Agent, event agents.Event, binary string) (isNew bool, err error) {
	list := path{"hooks", event.Name}
	there, err := d.want(list, '[')
	if err != nil {
		return false, err
	}
	if !there {
		d.add(path{"hooks"}, event.Name, []any{hookEntry(a, event, binary)})
		return true, nil
	}
	ours := d.ownHooks(a, event.Name, binary)
	if len(ours) == 0 {
		d.add(list, "", hookEntry(a, event, binary))
		return true, nil
	}
	for _, double := range slices.Backward(ours[1:]) {
		d.takeOutHook(a, double, nil)
	}
	command := ours[0].to("command")
	line := d.stringAt(command)
	if now := updated(line, binary, a.Name); now != line {
		d.setString(command, now)
	}
	if d.at(ours[0].to("timeout")) == nil { // one that is there may be the user's choice
		d.add(ours[0], "timeout", event.Timeout)
	}
	return false, nil
}

// ownHooks returns the paths of our hooks.
func (d *document) ownHooks(a agents.Agent, event, binary string) (ours []path) {
	entries := []path{{"hooks", event}}
	if !a.FlatHooks {
		entries = d.below(entries[0], "hooks")
	}
	for _, list := range entries {
		for _, p := range d.below(list) {
			if _, _, own := ownCommand(d.stringAt(p.to("command")), binary); own {
				ours = append(ours, p)
			}
		}
	}
	return ours
}

// below returns paths in a list's elements.
func (d *document) below(list path, then ...any) (all []path) {
	if v := d.list(list); v != nil {
		for i := range items(v) {
			all = append(all, list.to(i).to(then...))
		}
	}
	return all
}

// takeOutHook also removes an empty group.
func (d *document) takeOutHook(a agents.Agent, p path, keep []string) {
	if !a.FlatHooks && len(d.below(p[:len(p)-1])) == 1 {
		p = p[:len(p)-2]
	}
	d.takeOut(p, keep)
}

// takeOutHooks removes our hooks of some events, last first, and returns how many there were.
func (d *document) takeOutHooks(a agents.Agent, binary string, keep []string, of func(event string) bool) (removed int) {
	hooks := d.at(path{"hooks"})
	if hooks == nil || hooks.Value.Kind() != '{' {
		return 0
	}
	for _, event := range slices.Backward(items(hooks)) {
		if !of(event.key) {
			continue
		}
		for _, p := range slices.Backward(d.ownHooks(a, event.key, binary)) {
			d.takeOutHook(a, p, keep)
			removed++
		}
	}
	return removed
}

// removeHooks removes our hooks, and a version that would be left alone in the file.
func (d *document) removeHooks(a agents.Agent, binary string, keep []string) (removed int) {
	removed = d.takeOutHooks(a, binary, keep, func(string) bool { return true })
	if all := items(&d.root); removed > 0 && a.FlatHooks && len(all) == 1 && all[0].key == "version" {
		d.takeOut(path{"version"}, nil)
	}
	return removed
}

// emptyOnes returns the places where memcore adds entries that are there, with nothing in them.
func (d *document) emptyOnes(a agents.Agent) (all []string) {
	places := []path{{"hooks"}, {"mcpServers"}}
	for _, event := range a.Requested() {
		places = append(places, path{"hooks", event.Name})
	}
	for _, p := range places {
		if v := d.at(p); v != nil && (v.Value.Kind() == '{' || v.Value.Kind() == '[') && len(items(v)) == 0 {
			all = append(all, p.String())
		}
	}
	return all
}

// addServer adds or updates the MCP server, unless another has its name or ours another name, which
// it returns.
func (d *document) addServer(a agents.Agent, binary string, trust bool) (other string, err error) {
	entry := serverEntry(a, binary, trust)
	there, err := d.want(path{"mcpServers"}, '{')
	switch {
	case err != nil:
		return "", err
	case !there:
		d.add(nil, "mcpServers", object{{serverName, entry}})
		return "", nil
	case d.at(ownServer) != nil:
		return d.updateServer(a, binary, trust), nil
	}
	for _, s := range items(d.at(path{"mcpServers"})) {
		if d.isOurServer(path{"mcpServers", s.key}, binary) {
			return s.key, nil
		}
	}
	d.add(path{"mcpServers"}, serverName, entry)
	return "", nil
}

func (d *document) updateServer(a agents.Agent, binary string, trust bool) (other string) {
	if !d.isOurServer(ownServer, binary) {
		return serverName
	}
	if command := ownServer.to("command"); binary != "" && d.stringAt(command) != binary {
		d.setString(command, binary)
	}
	if trust && a.TrustsServers && d.at(ownServer.to("trust")) == nil {
		d.add(ownServer, "trust", true)
	}
	return ""
}

// isOurServer reports whether an entry runs memcore.
func (d *document) isOurServer(p path, binary string) bool {
	return isMemcore(d.stringAt(p.to("command")), binary) &&
		slices.ContainsFunc(d.below(p.to("args")), func(arg path) bool { return d.stringAt(arg) == "mcp" })
}

// addStatusLine adds or updates our status line. It keeps another one.
func (d *document) addStatusLine(binary string) (ours bool) {
	line := Quoted(binary) + " " + statusCommand
	if d.at(statusLine) == nil {
		d.add(nil, statusLine.String(), object{{"type", "command"}, {"command", line}})
		return true
	}
	if !d.isOurStatusLine(binary) {
		return false
	}
	if command := statusLine.to("command"); d.stringAt(command) != line {
		d.setString(command, line)
	}
	return true
}

// isOurStatusLine reports whether the status line only calls memcore.
func (d *document) isOurStatusLine(binary string) bool {
	all := words(d.stringAt(statusLine.to("command")))
	return len(all) == 2 && isMemcore(all[0].text, binary) && all[1].text == statusCommand
}
