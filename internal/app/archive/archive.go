// Package archive exports what memcore keeps of a person, and imports it on another machine.
//
// An export is a folder or a .tar.gz file. Its Markdown is a bundle of the Open Knowledge Format
// (OKF v0.2): each file has front matter with a type. The manifest says where each file belongs and
// which bytes were added, so that import restores it as it was. What can be made again, such as
// indexes, is left out.
package archive

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core/source"
)

// ManifestName is the manifest's file in an export.
const ManifestName = "memcore-export.json"

// format is that of the manifest. Import refuses others.
const format = 1

// Bounds of an export, so that a hostile one cannot fill a disk.
const (
	mostFiles    = 200_000
	mostBytes    = 8 << 30
	largestFile  = 80 << 20 // more than the log of a session
	mostManifest = 128 << 20
	longestName  = 1024
)

// A Manifest describes an export.
type Manifest struct {
	Format  int       `json:"format"`
	Version string    `json:"version"` // of memcore
	At      time.Time `json:"at"`
	Home    []string  `json:"home"` // of the user, in all spellings
	Files   []File    `json:"files"`
	LeftOut []LeftOut `json:"leftOut"`
}

// A File is a file of an export.
type File struct {
	Name     string    `json:"name"`              // in the export, slash-separated
	Place    string    `json:"place"`             // what Path is relative to
	Project  string    `json:"project,omitempty"` // path of the workspace; "" if unknown
	Folder   string    `json:"folder,omitempty"`  // of sessions or state, as it was named
	Path     string    `json:"path"`              // slash-separated; absolute for a Document
	SHA256   string    `json:"sha256"`            // without what was added
	ModTime  time.Time `json:"modTime"`
	Added    int       `json:"added,omitempty"`   // bytes of front matter for OKF
	AddedAt  int       `json:"addedAt,omitempty"` // their offset
	Redacted int       `json:"redacted,omitempty"`
}

// Places of files.
const (
	Global   = "global"   // the folder of global memory
	Settings = "settings" // ~/.beans
	Sessions = "sessions" // the sessions of a project
	State    = "state"    // the state of a project
	Project  = "project"  // the workspace's folder
	Document = "document" // anywhere else
)

// A LeftOut says what is not in an export, and why.
type LeftOut struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// stateFiles are those of a project's state that an export has.
var stateFiles = []string{"sources.json", "forgotten.json", "usage.json", "use.jsonl", "use.earlier.jsonl"}

// documentTypes are those of memory in projects.
var documentTypes = []string{".md", ".mdc", ".markdown", ".jsonl", ".json"}

// Files with a meaning of their own.
const (
	trustFile    = "trust.json"
	settingsFile = "config.yaml"
	casesFile    = "memcore-eval.yaml"
	runsFolder   = "runs"
)

// refusal says why a path of a place cannot be in an export; "" if it can. folder is the setting
// for the projects' hidden folder.
func refusal(place, path, folder string) string {
	if place == Document {
		path = strings.TrimPrefix(path[len(filepath.VolumeName(path)):], "/")
	}
	if len(path) > longestName || !filepath.IsLocal(filepath.FromSlash(path)) || strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }) {
		return "its path leads elsewhere"
	}
	if reason := source.DenyReason(path); reason != "" {
		return reason
	}
	elements := strings.Split(path, "/")
	name := elements[len(elements)-1]
	switch place {
	case Settings:
		if path == settingsFile || path == trustFile {
			return ""
		}
		return "it is not a file of settings"
	case State:
		if slices.Contains(stateFiles, path) || len(elements) == 2 && elements[0] == runsFolder && strings.HasSuffix(name, ".json") {
			return ""
		}
		return "it is no state"
	case Global, Sessions:
		if hasHidden(elements) {
			return "it is hidden"
		}
		return ""
	case Project, Document:
		return refusalOfDocument(path, elements, folder)
	}
	return "its place is unknown"
}

// refusalOfDocument lets through what memcore reads in projects.
func refusalOfDocument(path string, elements []string, folder string) string {
	name := elements[len(elements)-1]
	if path == casesFile || path == ".beans/"+settingsFile {
		return ""
	}
	if !slices.Contains(documentTypes, strings.ToLower(filepath.Ext(name))) && !source.IsRules(path) {
		return "it is neither Markdown nor a conversation"
	}
	visible := strings.Split(path, "/")
	if visible[0] == folder {
		visible = visible[1:]
	}
	if hasHidden(visible) && !source.IsRules(path) {
		return "it is hidden"
	}
	return ""
}

func hasHidden(elements []string) bool {
	for _, e := range elements {
		if strings.HasPrefix(e, ".") {
			return true
		}
	}
	return false
}
