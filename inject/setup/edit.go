package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// An edit changes the files of one agent in one scope.
type edit struct {
	Agent
	scope  Scope
	binary string
	files  []*file
	notes  []Note
}

func (a Agent) edit(scope Scope, binary string) *edit {
	return &edit{Agent: a, scope: scope, binary: binary}
}

func (e *edit) note(format string, args ...any) {
	e.notes = append(e.notes, Note{e.Name, fmt.Sprintf(format, args...)})
}

// open returns a file of the agent, the same one every time.
func (e *edit) open(path string) (*file, error) {
	if path == "" {
		return nil, errors.New("there is no home folder: set HOME, or use --project")
	}
	shown, place := e.options.shown(path), "the home folder"
	within := []string{e.options.Home, e.kind.home(e.options), e.options.Project}
	if e.scope == Project { // what comes with a project must not lead into the home folder
		within, place = []string{e.options.Project}, "the project"
		if rel, err := filepath.Rel(e.options.Project, path); err == nil {
			shown = filepath.ToSlash(rel)
		}
	}
	mode := fs.FileMode(0o644)
	if strings.HasSuffix(path, ".claude.json") {
		mode = 0o600 // Claude Code keeps accounts in it
	}
	f, err := openFile(path, shown, within, place, mode)
	if err != nil {
		return nil, err
	}
	for _, other := range e.files {
		if other.File == f.File {
			return other, nil
		}
	}
	f.Agent = e.Name
	e.files = append(e.files, f)
	return f, nil
}

func (e *edit) changes() ([]Change, error) {
	var all []Change
	for _, f := range e.files {
		c, ok, err := f.change()
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, c)
		}
	}
	return all, nil
}

// json changes a JSON file.
func (e *edit) json(path string, change func(*document) error) error {
	f, err := e.open(path)
	if err != nil {
		return err
	}
	d, err := parseDocument(f.text)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	d.exists = !f.Created
	if err := change(d); err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	f.text = d.String()
	f.Removed = d.emptied && !f.Created
	return nil
}

// mayHold tells whether a file can have anything of ours: one that has not is nobody's business when memcore is taken out, broken or not. Nor can one that
// memcore would not have written to, which is said.
func (e *edit) mayHold(path string) bool {
	if path == "" {
		return false
	}
	f, err := e.open(path)
	if err != nil {
		e.note("not looked at: %v", err)
		return false
	}
	base := e.binary[strings.LastIndexAny(e.binary, `/\`)+1:]
	return strings.Contains(f.text, serverName) || base != "" && strings.Contains(f.text, base)
}

func (e *edit) addHooks() error {
	file := e.kind.hooksFile(e.options, e.scope)
	done := false
	if e.Name == Codex {
		var err error
		if done, err = e.addCodexHooks(file); err != nil {
			return err
		}
	}
	if !done {
		if err := e.json(file, func(d *document) error { return d.addHooks(e.kind, e.binary) }); err != nil {
			return err
		}
	}
	if e.changed() {
		e.noteHooks()
	}
	return nil
}

// changed tells whether there is anything to write so far.
func (e *edit) changed() bool {
	return slices.ContainsFunc(e.files, func(f *file) bool { return f.text != f.Before })
}

// noteHooks says what it takes for hooks that were entered to run.
func (e *edit) noteHooks() {
	switch e.Name {
	case Codex:
		e.note("Codex runs new hooks only after you have trusted them: start codex and type /hooks")
		if e.scope == Project {
			e.note("Codex reads .codex only in a project that it trusts")
		}
	case GeminiCLI:
		if e.scope == Project {
			e.note("Gemini CLI reads .gemini/settings.json only in a folder that it trusts")
		}
	case Cursor:
		e.note("Cursor's files are written after its documentation; this was not tried with Cursor itself")
	}
}

func (e *edit) removeHooks() error {
	if e.Name == Codex {
		if err := e.removeTOML(path{"hooks"}); err != nil {
			return err
		}
	}
	file := e.kind.hooksFile(e.options, e.scope)
	if !e.mayHold(file) {
		return nil
	}
	return e.json(file, func(d *document) error { return d.removeHooks(e.kind, e.binary) })
}

func (e *edit) addServer(trust bool) error {
	file := e.kind.serversFile(e.options, e.scope)
	if e.Name == Codex {
		return e.addCodexServer(file)
	}
	return e.json(file, func(d *document) error {
		before := d.text
		other, err := d.addServer(e.kind, e.binary, trust)
		switch {
		case err != nil:
			return err
		case other == serverName:
			e.note("%s has another MCP server named %s, which stays as it is: memcore's is not entered", e.options.shown(file), serverName)
		case other != "":
			e.note("%s runs memcore as an MCP server already, named %s", e.options.shown(file), other)
		}
		if e.Name == ClaudeCode && e.scope == Project && d.text != before {
			e.note("Claude Code asks for your approval of .mcp.json: start claude in the project")
		}
		if entry, ok := d.at(ownServer); e.Name == GeminiCLI && ok && index(entry, "trust") < 0 && d.text != before {
			e.note("without trust, gemini asks before it uses memcore's tools, and gemini -p does not show them to the model; --trust-mcp trusts them")
		}
		return nil
	})
}

// ownServer is where our MCP server stands in a JSON file.
var ownServer = path{"mcpServers", serverName}

func (e *edit) removeServer() error {
	if e.Name == Codex {
		return e.removeTOML(path{"mcp_servers"})
	}
	file := e.kind.serversFile(e.options, e.scope)
	if !e.mayHold(file) {
		return nil
	}
	return e.json(file, func(d *document) error {
		if !d.isOurServer(ownServer, e.binary) {
			return nil
		}
		return d.takeOut(ownServer)
	})
}

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
