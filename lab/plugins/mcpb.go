package main

import (
	"archive/zip"
	"bytes"
	"fmt"
)

// writeBundles writes an MCP bundle for each platform: a manifest cannot choose by processor.
func writeBundles(r *release, folder string) error {
	for _, a := range r.archives {
		program := file{"server/" + a.program.name, a.program.data, a.program.mode}
		files := append([]file{jsonFile("manifest.json", bundleManifest(r, &a)), program}, a.texts...)
		data, err := zipped(files)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("memcore-%s-%s-%s.mcpb", r.semver(), a.os, a.arch)
		if err := write(folder, file{name, data, 0o644}); err != nil {
			return err
		}
	}
	return nil
}

// bundleManifest returns a manifest of version 0.3.
func bundleManifest(r *release, a *archive) object {
	platform, _ := a.node()
	program := "server/" + a.program.name
	return object{
		"manifest_version": "0.3",
		"name":             "memcore",
		"display_name":     "memcore",
		"version":          r.semver(),
		"description":      summary,
		"author":           object{"name": "The memcore authors", "url": repository},
		"repository":       object{"type": "git", "url": repository + ".git"},
		"homepage":         repository,
		"documentation":    repository + "/blob/main/docs/integrations/mcp.md",
		"support":          repository + "/issues",
		"license":          licenceName,
		"keywords":         keywords,
		"server": object{"type": "binary", "entry_point": program, "mcp_config": object{
			"command": "${__dirname}/" + program,
			"args":    []string{"--workspace", "${user_config.folder}", "mcp"},
			"env":     object{},
		}},
		"tools_generated":   true,
		"prompts_generated": true,
		"compatibility":     object{"platforms": []string{platform}},
		"user_config": object{"folder": object{
			"type": "directory", "title": "Folder", "required": true,
			"description": "The folder of your notes or project. memcore indexes its Markdown files and saves notes there.",
		}},
	}
}

// zipped returns a zip archive that depends on the files only.
func zipped(files []file) ([]byte, error) {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		header.SetMode(f.mode)
		w, err := z.CreateHeader(header)
		if err == nil {
			_, err = w.Write(f.data)
		}
		if err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return buf.Bytes(), err
}
