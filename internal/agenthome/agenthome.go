// Package agenthome is the table of folders in which coding agents keep their settings and logs. A
// user may choose another one by an environment variable, which memcore's hooks and its daemon may
// lack. So memcore remembers the folders that it has seen named.
package agenthome

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/paths"
)

// A place is one row of the table.
type place struct {
	agent  string
	folder string // by default, below the user's home
	// variable replaces folder, or what it is below.
	variable string
	below    string // the variable's folder
	// others are where other versions of the agent keep logs. They begin with a variable of xdg.
	others []string
}

// places follow the agents' documentation (2026-11): code.claude.com/docs/en/settings,
// developers.openai.com/codex/environment-variables, geminicli.com/docs/reference/configuration,
// and docs/environment-variables.md of github.com/earendil-works/pi. Claude Code 1.0.30 used the
// folder of XDG_CONFIG_HOME. CURSOR_CONFIG_DIR moves none of the files that memcore reads or
// changes.
var places = []place{
	{agent: "claude-code", folder: ".claude", variable: "CLAUDE_CONFIG_DIR", others: []string{"XDG_CONFIG_HOME/claude"}},
	{agent: "gemini-cli", folder: ".gemini", variable: "GEMINI_CLI_HOME", below: ".gemini"},
	{agent: "codex", folder: ".codex", variable: "CODEX_HOME"},
	{agent: "cursor", folder: ".cursor"},
	{agent: "pi", folder: ".pi/agent", variable: "PI_CODING_AGENT_DIR"},
	{agent: "qwen-code", folder: ".qwen", variable: "QWEN_RUNTIME_DIR"},
	{agent: "copilot-cli", folder: ".copilot"},
	{agent: "cline-session", folder: ".cline", variable: "CLINE_DIR"},
}

// xdg are the folders below the home that variables replace.
var xdg = map[string]string{"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state"}

func placeOf(agent string) place {
	i := slices.IndexFunc(places, func(p place) bool { return p.agent == agent })
	if i < 0 {
		return place{}
	}
	return places[i]
}

// Default returns the folder of an agent's settings below the user's home; "" if it has none.
func Default(agent string) string { return filepath.FromSlash(placeOf(agent).folder) }

// Chosen returns the folder of an agent's settings that an environment variable names, absolute, or
// "".
func Chosen(agent string) string {
	p := placeOf(agent)
	if p.variable == "" || os.Getenv(p.variable) == "" {
		return ""
	}
	return filepath.Join(paths.Absolute(os.Getenv(p.variable)), p.below)
}

// Homes are further folders of agents, absolute, by agent.
type Homes map[string][]string

// All returns all folders in which an agent may keep logs: the chosen one, those of h, and the
// defaults in the user's home. They may be missing.
func (h Homes) All(agent, home string) []string {
	all := append([]string{Chosen(agent)}, h[agent]...)
	if p := placeOf(agent); home != "" && p.folder != "" {
		all = append(all, filepath.Join(home, filepath.FromSlash(p.folder)))
		for _, other := range p.others {
			variable, below, _ := strings.Cut(other, "/")
			base := os.Getenv(variable)
			if !filepath.IsAbs(base) {
				base = filepath.Join(home, filepath.FromSlash(xdg[variable]))
			}
			all = append(all, filepath.Join(base, filepath.FromSlash(below)))
		}
	}
	var distinct []string
	for _, folder := range all {
		if folder != "" && !slices.Contains(distinct, folder) {
			distinct = append(distinct, folder)
		}
	}
	return distinct
}

// Load returns the remembered folders of a file, which may be missing.
func Load(file string) (Homes, error) {
	h, err := jsonfile.Load[Homes](file)
	if err != nil {
		return nil, fmt.Errorf("folders of agents: %w: delete the file and run 'memcore index' where the variables are set", err)
	}
	return h, nil
}

// Remember adds the folders that variables choose now to a file.
func Remember(ctx context.Context, file string) error {
	known, err := Load(file)
	if err != nil {
		return err
	}
	isNew := func(h Homes, p place) bool {
		chosen := Chosen(p.agent)
		return chosen != "" && !slices.Contains(h[p.agent], chosen)
	}
	if !slices.ContainsFunc(places, func(p place) bool { return isNew(known, p) }) {
		return nil
	}
	_, err = jsonfile.Change(ctx, file, func(h *Homes) error {
		if *h == nil {
			*h = Homes{}
		}
		for _, p := range places {
			if isNew(*h, p) {
				(*h)[p.agent] = append((*h)[p.agent], Chosen(p.agent))
			}
		}
		return nil
	})
	return err
}
