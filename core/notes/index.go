package notes

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// An Item is a file in the list of memory files.
type Item struct {
	Path    string    `json:"path"`
	Summary string    `json:"summary"`
	Size    int64     `json:"size"` // bytes
	Changed time.Time `json:"-"`
}

// String returns the item as a line of the index.
func (i Item) String() string {
	line := fmt.Sprintf("- %s (%s)", i.Path, sizeText(i.Size))
	if i.Summary == "" {
		return line
	}
	return line + ": " + i.Summary
}

// sizeText returns a size as the index shows it: 320B, 1.2KB.
func sizeText(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%dB", n)
	case n < 1000_000:
		return fmt.Sprintf("%.1fKB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1fMB", float64(n)/1e6)
}

// sortItems sorts facts first and episodes last.
func sortItems(items []Item) {
	rank := func(name string) int {
		switch folder, _, _ := strings.Cut(name, "/"); folder {
		case FactsFolder:
			return 0
		case EpisodesFolder:
			return 2
		}
		return 1
	}
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(rank(a.Path), rank(b.Path)), cmp.Compare(a.Path, b.Path))
	})
}

// IndexRoom is in characters, at a session's start.
const IndexRoom = 1_500

// maxIndexLine is in characters.
const maxIndexLine = 240

// Index lists files about the user, then the last changed, in at most room characters, and counts
// the rest. shown makes an item safe. Equal items make equal text.
func Index(items []Item, room int, shown func(Item) Item) string {
	ranked := slices.Clone(items)
	slices.SortFunc(ranked, func(a, b Item) int {
		return cmp.Or(profileRank(a.Path)-profileRank(b.Path), b.Changed.Compare(a.Changed), cmp.Compare(a.Path, b.Path))
	})
	var lines []string
	used := 0
	for i, item := range ranked {
		line := shown(item).String()
		if utf8.RuneCountInString(line) > maxIndexLine {
			line = string([]rune(line)[:maxIndexLine-1]) + "…"
		}
		left := utf8.RuneCountInString(countByFolder(ranked[i+1:]))
		if used+utf8.RuneCountInString(line)+1+left > room {
			if rest := countByFolder(ranked[i:]); used+utf8.RuneCountInString(rest) <= room {
				lines = append(lines, rest)
			}
			break
		}
		lines = append(lines, line)
		used += utf8.RuneCountInString(line) + 1
	}
	return strings.Join(lines, "\n")
}

// profileRank is 0 for facts about the user.
func profileRank(name string) int {
	if path.Dir(name) == FactsFolder {
		for _, prefix := range []string{"user", "profile", "preference"} {
			if strings.HasPrefix(path.Base(name), prefix) {
				return 0
			}
		}
	}
	return 1
}

func countByFolder(items []Item) string {
	if len(items) == 0 {
		return ""
	}
	count := map[string]int{}
	for _, item := range items {
		folder, _, nested := strings.Cut(item.Path, "/")
		if !nested || folder != FactsFolder && folder != EpisodesFolder {
			folder = "other folders" // a stranger may have chosen their names
		}
		count[folder]++
	}
	var parts []string
	for _, folder := range []string{EpisodesFolder, FactsFolder, "other folders"} {
		if count[folder] > 0 {
			parts = append(parts, fmt.Sprintf("%d in %s", count[folder], folder))
		}
	}
	return "- more files: " + strings.Join(parts, ", ") + "; memory_list names them"
}

func listText(items []Item) string {
	if len(items) == 0 {
		return ""
	}
	lines := []string{"Available memory:"}
	for _, item := range items {
		lines = append(lines, item.String())
	}
	return strings.Join(lines, "\n")
}
