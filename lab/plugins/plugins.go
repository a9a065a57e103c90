package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"

	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/setup"
)

// program is what plugins run: a name in PATH, since one folder is for all platforms.
const program = "memcore"

// writePlugins writes the plugins of Claude Code, Codex and Gemini CLI, and the marketplaces that
// list the first two. Without a version, Claude Code and Codex take the commit's.
func writePlugins(folder, version string) error {
	about := object{
		"name": "memcore", "description": summary, "license": licenceName, "keywords": keywords,
		"author": object{"name": "The memcore authors", "url": repository}, "homepage": repository, "repository": repository,
	}
	if version != "" {
		about["version"] = version
	}
	claude, err := claudePlugin(about)
	if err != nil {
		return fmt.Errorf("claude-code: %w", err)
	}
	codex, err := codexPlugin(about)
	if err != nil {
		return fmt.Errorf("codex: %w", err)
	}
	gemini, err := geminiExtension(version)
	if err != nil {
		return fmt.Errorf("gemini-cli: %w", err)
	}
	for _, one := range []struct {
		name  string
		files []file
	}{
		{"plugins/claude-code", claude}, {"plugins/codex", codex}, {"plugins/gemini-cli", gemini}, {"", marketplaces()},
	} {
		if err := write(filepath.Join(folder, filepath.FromSlash(one.name)), one.files...); err != nil {
			return err
		}
	}
	return nil
}

func marketplaces() []file {
	return []file{
		jsonFile(".claude-plugin/marketplace.json", object{
			"name": "memcore", "description": summary, "owner": object{"name": "The memcore authors", "url": repository},
			"plugins": []object{{"name": "memcore", "source": "./plugins/claude-code", "description": summary}},
		}),
		jsonFile(".agents/plugins/marketplace.json", object{
			"name": "memcore", "interface": object{"displayName": "memcore"},
			"plugins": []object{{
				"name": "memcore", "category": "Productivity", "source": object{"source": "local", "path": "./plugins/codex"},
				"policy": object{"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
			}},
		}),
	}
}

func claudePlugin(about object) ([]file, error) {
	hooks, err := settings(agents.ClaudeCode, setup.User, setup.Want{Hooks: true})
	if err != nil {
		return nil, err
	}
	servers, err := settings(agents.ClaudeCode, setup.Project, setup.Want{MCP: true})
	if err != nil {
		return nil, err
	}
	recall, err := settings(agents.ClaudeCode, setup.User, setup.Want{Recall: true})
	if err != nil {
		return nil, err
	}
	return []file{
		jsonFile(".claude-plugin/plugin.json", about),
		{"hooks/hooks.json", []byte(hooks), 0o644},
		{".mcp.json", []byte(servers), 0o644},
		{"skills/recall/SKILL.md", []byte(recall), 0o644},
	}, nil
}

func codexPlugin(about object) ([]file, error) {
	hooks, err := settings(agents.Codex, setup.User, setup.Want{Hooks: true})
	if err != nil {
		return nil, err
	}
	text, err := settings(agents.Codex, setup.User, setup.Want{MCP: true})
	if err != nil {
		return nil, err
	}
	// Settings have TOML where plugins have JSON.
	var config struct {
		Servers object `toml:"mcp_servers"`
	}
	if err := toml.Unmarshal([]byte(text), &config); err != nil {
		return nil, err
	}
	recall, err := settings(agents.Codex, setup.User, setup.Want{Recall: true})
	if err != nil {
		return nil, err
	}
	manifest := object{
		"hooks": "./hooks/hooks.json", "mcpServers": "./.mcp.json", "skills": "./skills/",
		"interface": object{"displayName": "memcore", "shortDescription": summary, "category": "Productivity"},
	}
	for key, value := range about {
		manifest[key] = value
	}
	return []file{
		jsonFile(".codex-plugin/plugin.json", manifest),
		{"hooks/hooks.json", []byte(hooks), 0o644},
		jsonFile(".mcp.json", object{"mcpServers": config.Servers}),
		{"skills/recall/SKILL.md", []byte(recall), 0o644},
	}, nil
}

func geminiExtension(version string) ([]file, error) {
	hooks, err := settings(agents.GeminiCLI, setup.User, setup.Want{Hooks: true})
	if err != nil {
		return nil, err
	}
	manifest := object{}
	servers, err := settings(agents.GeminiCLI, setup.User, setup.Want{MCP: true})
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(servers), &manifest); err != nil {
		return nil, err
	}
	manifest["name"], manifest["version"], manifest["description"] = "memcore", version, summary
	if version == "" {
		manifest["version"] = "0.0.0" // Gemini CLI wants one
	}
	recall, err := settings(agents.GeminiCLI, setup.User, setup.Want{Recall: true})
	if err != nil {
		return nil, err
	}
	return []file{
		jsonFile("gemini-extension.json", manifest),
		{"hooks/hooks.json", []byte(hooks), 0o644},
		{"agents/recall.md", []byte(recall), 0o644},
	}, nil
}

// settings returns the file that memcore init writes for an agent that has no settings.
func settings(agent string, scope setup.Scope, want setup.Want) (string, error) {
	home, err := os.MkdirTemp("", "plugins-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(home) }()
	for _, a := range setup.Find(setup.Options{Home: home, Project: home}) {
		if a.Name != agent {
			continue
		}
		changes, _, err := a.Plan(scope, program, want)
		if err != nil {
			return "", err
		}
		if len(changes) != 1 {
			return "", fmt.Errorf("memcore init changes %d files for %+v, want one", len(changes), want)
		}
		return changes[0].After, nil
	}
	return "", fmt.Errorf("memcore init knows no agent %s", agent)
}

// writeExtensions writes the archives that "gemini extensions install" looks for in a release at
// GitHub, by the name of the platform.
func writeExtensions(r *release, folder string) error {
	files, err := geminiExtension(r.semver())
	if err != nil {
		return err
	}
	data, err := tarred(files)
	if err != nil {
		return err
	}
	for _, platform := range []string{"darwin", "linux", "win32"} {
		if err := write(folder, file{platform + ".memcore.tar.gz", data, 0o644}); err != nil {
			return err
		}
	}
	return nil
}

// tarred returns a compressed tar archive that depends on the files only.
func tarred(files []file) ([]byte, error) {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	t := tar.NewWriter(z)
	for _, f := range files {
		err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.data)), Mode: int64(f.mode)})
		if err == nil {
			_, err = t.Write(f.data)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	err := z.Close()
	return buf.Bytes(), err
}
