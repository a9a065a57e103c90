package doctor

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/text/plain"
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

// service asks the memory service, if there is one.
func (d *doctor) service(ctx context.Context) {
	const name = "memory service"
	s := app.RemoteOf(d.w).State(ctx)
	switch {
	case s == nil:
	case s.Problem != "":
		d.problem(name, "check memory.service.url, the key and the network; memcore init --server URL takes a new key", "%s; only this machine's memory answers", s.Text())
	case !s.Expires.IsZero() && time.Until(s.Expires) < keyWarning:
		d.warn(name, "ask for a new key, then: memcore init --server URL", "%s", s.Text())
	default:
		d.ok(name, "%s", s.Text())
	}
}

// keyWarning is how long before it ends a key is worth a word.
const keyWarning = 14 * 24 * time.Hour
