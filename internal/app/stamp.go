package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/internal/app/models"
)

// stampOf changes with a file; "" without one.
func stampOf(file string) string {
	info, err := os.Stat(file)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
}

// stamp changes with configuration, the memory service's key, trust, sources, model pack and
// engine.
func (s *Service) stamp() string {
	model := models.Folder(s.at.Models()).Path(s.Settings.Embedder) // of other embedders there is none
	files := append([]string{s.at.Sources(), s.at.AgentHomes(), s.TrustFile(), s.at.ServiceKey(), model, filepath.Join(s.Project, ".beans", "config.yaml")}, s.Files...)
	if s.Home != "" {
		files = append(files, filepath.Join(s.Home, ".beans", "config.yaml"))
	}
	var b strings.Builder
	for _, file := range files {
		if stamp := stampOf(file); stamp != "" {
			fmt.Fprintf(&b, "%s %s\n", file, stamp)
		}
	}
	engine, _, _ := s.indexed.Engine()
	return b.String() + engine
}

// Outdated implements httpapi.Workspace.
func (s *Service) Outdated() bool {
	now := s.stamp()
	// A first index adds its engine to the stamp.
	return now != s.opened && now != s.opened+s.engine
}
