package formatter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/internal/text/sanitize"
)

const (
	nowHeading = "## Memory Core: "
	rulesTitle = "Rules That Apply Now"
	goneTitle  = "What No Longer Applies"
	// maxFolders are in a heading, of maxFolder characters at most.
	maxFolders = 3
	maxFolder  = 100
)

// Now returns what applies at a moment (curated.Layer.Now). Like Curated, it instructs, from
// trusted files, and stays unchanged.
func Now(m curated.Memory) string {
	var parts []string
	if gone := m.Gone(); len(gone) > 0 {
		parts = append(parts, "Disregard these files and what they import, since they were removed, turned off or are no longer trusted: "+nameList(gone, "")+".")
	}
	for _, section := range m.Sections() {
		parts = append(parts, section.Text)
	}
	if len(parts) == 0 {
		return ""
	}
	var titles []string
	if slices.ContainsFunc(m.Files, func(f curated.File) bool { return f.Applies != "" && f.Head.Conditional() }) {
		titles = append(titles, rulesTitle)
	}
	if changed := m.Changed(); len(changed) > 0 {
		titles = append(titles, "The Present Text of "+nameList(changed, ""))
	}
	if len(m.Gone()) > 0 {
		titles = append(titles, goneTitle)
	}
	if folders := m.Folders(); len(folders) > 0 {
		titles = append(titles, "Instructions for "+nameList(folders, "/"))
	}
	return nowHeading + strings.Join(titles, ", and ") + "\n\n" + strings.Join(parts, "\n\n")
}

// nameList lists names of files, or with the end "/" of folders.
func nameList(all []string, end string) string {
	var names []string
	for i, one := range all {
		if i == maxFolders {
			names = append(names, fmt.Sprintf("%d more", len(all)-i))
			break
		}
		name := []rune(strings.TrimSuffix(sanitize.Name(one), "/") + end)
		if over := len(name) - maxFolder; over > 0 {
			name = append([]rune("…"), name[over+1:]...)
		}
		names = append(names, string(name))
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return names[0]
}

func isRules(text string) bool { return strings.HasPrefix(text, nowHeading+rulesTitle+"\n") }
