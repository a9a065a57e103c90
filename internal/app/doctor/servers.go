package doctor

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/app/plain"
)

// servers lists the configured MCP servers and what was read from them. It starts none.
func (d *doctor) servers(ctx context.Context, at config.Folders) {
	for i, from := range d.w.Index().Servers(at) {
		s := d.w.Settings.MCP[i]
		name := "MCP server " + s.Name
		listing, err := from.List(ctx)
		if err != nil {
			d.problem(name, "delete the folder "+at.Servers()+"; memcore index reads the servers again", "%v", err)
			continue
		}
		where := plain.Address(s.URL)
		if s.Command != "" {
			if where, err = d.commandOf(s); err != nil {
				d.warn(name, "install it, or correct memory.mcp", "it cannot be started: %v", err)
				continue
			}
		}
		if s.TokenEnv != "" && os.Getenv(s.TokenEnv) == "" {
			d.warn(name, "set it, or correct memory.mcp", "%s, which has its token, is not set", s.TokenEnv)
			continue
		}
		d.ok(name, "%s (not asked); %s read so far", where, plain.Count(len(listing.Documents), "resource"))
	}
}

// commandOf returns the program of a server. A relative path is one below the home folder.
func (d *doctor) commandOf(s config.MCPServer) (string, error) {
	command := d.w.Expand(s.Command)
	if strings.ContainsRune(filepath.ToSlash(command), '/') && !filepath.IsAbs(command) {
		command = filepath.Join(d.w.Home, command)
	}
	return exec.LookPath(command)
}
