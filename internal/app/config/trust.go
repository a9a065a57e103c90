package config

import (
	"path/filepath"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/trust"
)

// trustFor returns the decisions about trust with given settings.
func (c *Config) trustFor(s Settings) *trust.Store {
	var folders []string
	for _, folder := range s.FolderTrust.TrustedFolders {
		folders = append(folders, c.Expand(folder))
	}
	if !s.FolderTrust.Enabled {
		folders = append(folders, c.Project, c.Checkout, c.CuratedProject(s))
		for _, m := range c.Mounts() {
			folders = append(folders, m.Folder)
		}
	}
	return trust.Open(c.TrustFile(), folders...)
}

// CuratedProject is the project's folder for curated memory.
func (c *Config) CuratedProject(s Settings) string {
	return curated.New(curated.Options{Dir: c.Dir, Project: c.Checkout, Home: c.Home, Folder: s.Folder}).Project()
}

func (c *Config) TrustFile() string {
	if c.Home == "" {
		return ""
	}
	return filepath.Join(c.Home, ".beans", "trust.json")
}

func (c *Config) Trust() *trust.Store { return c.trustFor(c.Settings) }

// Trusted reports whether the project is trusted.
func (c *Config) Trusted() bool {
	folder, err := c.Trust().Covering(c.Project)
	return err == nil && folder != ""
}
