package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/core/static"
	"github.com/memcore/memcore/internal/beneath"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/sanitize"
)

// contents are what a folder would load, were it trusted, and what else in it acts on agents.
type contents struct {
	MemoryFiles []string `json:"memoryFiles"`
	Tokens      int      `json:"tokens"`
	Settings    []string `json:"settings,omitempty"`
	MCPServers  []string `json:"mcpServers,omitempty"`
	Warnings    []string `json:"warnings,omitempty"`
}

// mostWarnings are shown in the dialog.
const mostWarnings = 8

func (c contents) String() string {
	var b strings.Builder
	b.WriteString("This folder contains project-specific configuration:\n\n")
	list := func(name string, all []string) {
		if len(all) > 0 {
			shown := oneLine(strings.Join(all[:min(len(all), 12)], ", "))
			if len(all) > 12 {
				shown += ", …"
			}
			fmt.Fprintf(&b, "  %s: %d (%s)\n", name, len(all), shown)
		}
	}
	list("Memory files", c.MemoryFiles)
	list("Settings", c.Settings)
	list("MCP servers", c.MCPServers)
	if len(c.MemoryFiles)+len(c.Settings)+len(c.MCPServers) == 0 {
		b.WriteString("  none that memcore knows of\n")
	}
	for i, w := range c.Warnings {
		if i == 0 {
			b.WriteByte('\n')
		}
		if i == mostWarnings {
			fmt.Fprintf(&b, "  ! and %d more\n", len(c.Warnings)-i)
			break
		}
		fmt.Fprintf(&b, "  ! Warning: %s\n", oneLine(w))
	}
	return b.String()
}

// onlyTrust trusts one folder and what is below it.
type onlyTrust string

func (o onlyTrust) Covering(folder string) (string, error) {
	if _, inside := paths.Within(string(o), folder); inside {
		return string(o), nil
	}
	return "", nil
}

// contentsOf looks at what a folder would load.
func (a *app) contentsOf(ctx context.Context, folder string) (contents, error) {
	root := paths.Resolve(folder)
	options := a.staticOptions(onlyTrust(root))
	if _, inside := paths.Within(root, options.Dir); !inside {
		options.Dir, options.Project = root, root
	}
	m, err := static.New(options).Load(ctx)
	if err != nil {
		return contents{}, err
	}
	c := contents{MemoryFiles: []string{}}
	for _, f := range m.Files {
		if _, inside := paths.Within(root, paths.Resolve(f.File)); inside {
			c.MemoryFiles = append(c.MemoryFiles, f.Path)
			c.Tokens += f.Tokens
		}
	}
	for _, w := range m.Warnings {
		if w.Path != "" && !strings.HasPrefix(w.Path, "~") {
			c.Warnings = append(c.Warnings, w.String())
		}
	}
	if _, err := os.Lstat(filepath.Join(root, ".beans", "config.yaml")); err == nil {
		c.Settings = []string{".beans/config.yaml"}
	}
	c.otherAgents(root)
	return c, nil
}

// agentSettings are what agents' files in a project say that matters to whoever trusts it.
type agentSettings struct {
	MCPServers  map[string]any `json:"mcpServers"`
	AutoAccept  bool           `json:"autoAccept"` // Gemini CLI
	Permissions struct {       // Claude Code
		Allow       []string `json:"allow"`
		DefaultMode string   `json:"defaultMode"`
	} `json:"permissions"`
}

// otherAgents reads what other programs would do in the folder: which servers they start, and whether commands run unasked.
func (c *contents) otherAgents(root string) {
	servers := map[string]bool{}
	for _, name := range []string{".mcp.json", ".claude/settings.json", ".claude/settings.local.json", ".gemini/settings.json", ".cursor/mcp.json"} {
		file, _, err := beneath.Open(root, filepath.FromSlash(name))
		if err != nil {
			continue
		}
		data, err := io.ReadAll(io.LimitReader(file, 1<<20))
		file.Close()
		var s agentSettings
		if err != nil || json.Unmarshal(data, &s) != nil {
			continue
		}
		for server := range s.MCPServers {
			servers[server] = true
		}
		if s.AutoAccept || s.Permissions.DefaultMode == "bypassPermissions" || slices.ContainsFunc(s.Permissions.Allow, allowsShell) {
			c.Warnings = append(c.Warnings, "auto-approve is enabled for shell commands ("+name+")")
		}
	}
	c.MCPServers = slices.Sorted(maps.Keys(servers))
}

// allowsShell tells permissions to run any command.
func allowsShell(permission string) bool {
	return permission == "Bash" || permission == "Bash(*)" || permission == "Bash(*:*)" || permission == "*"
}

// asks tells whether there is a person to be asked.
func (a *app) asks() bool {
	f, ok := a.stdin.(*os.File)
	return ok && isTerminal(f) && !a.flags.quiet && !a.flags.json
}

// trustDialog asks whether a folder is to be trusted, unless that was decided. It tells whether it is now.
func (a *app) trustDialog(ctx context.Context, folder string) (trusted bool, err error) {
	store := a.trust()
	if _, decided, err := store.Of(folder); err != nil || decided || a.home == "" {
		return false, nil
	}
	inside, err := a.contentsOf(ctx, folder)
	if err != nil {
		return false, err
	}
	parent, choice := a.parentToTrust(folder), ""
	if parent != "" {
		choice = fmt.Sprintf("  [p] Trust parent (%s)", oneLine(parent))
	}
	fmt.Fprintf(a.stderr, "%s\n\n%s\n[t] Trust folder%s  [d] Don't trust  [Enter] Decide later: ", oneLine(folder), inside, choice)
	switch answer := a.answer(ctx); {
	case answer == "t", answer == "trust", answer == "trust folder":
	case parent != "" && (answer == "p" || answer == "parent" || answer == "trust parent"):
		folder = parent
	case answer == "d", answer == "don't trust", answer == "no", answer == "n":
		_, err := store.Set(ctx, folder, false)
		return false, err
	default:
		if answer != "" {
			a.note("%q is none of the answers; nothing is decided", answer)
		}
		return false, ctx.Err()
	}
	if _, err := store.Set(ctx, folder, true); err != nil {
		return false, fmt.Errorf("trust: %w", err)
	}
	return true, nil
}

// parentToTrust is the folder above, unless that is everything a person has, or trust in it would not help.
func (a *app) parentToTrust(folder string) string {
	parent := filepath.Dir(folder)
	if _, above := paths.Within(parent, paths.Resolve(a.home)); above || parent == filepath.Dir(parent) || !a.trust().WouldCover(parent, folder) {
		return ""
	}
	return parent
}

// oneLine is a text from a folder that is not trusted as a terminal may show it.
func oneLine(text string) string {
	text, _ = sanitize.Reveal(text)
	return strings.ReplaceAll(text, "\n", " ")
}

// answer is a line that a person types, in lower case; "" if there is none, or when ctx ends.
func (a *app) answer(ctx context.Context) string {
	typed := make(chan string, 1)
	go func() { // it ends with the process if nobody answers
		line, _ := bufio.NewReader(a.stdin).ReadString('\n')
		typed <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case line := <-typed:
		return line
	case <-ctx.Done():
		return ""
	}
}
