package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
)

// OverviewRoom is in characters, in each request.
const OverviewRoom = 2_000

const overviewTemplate = `# Working Memory

## Current Task
<!-- What are you working on? -->

## Key Decisions
<!-- Important decisions made and why -->

## Known Context
<!-- Project structure, tech stack, key files -->

## Pending Issues
<!-- Blockers or open questions -->

## Recent Operations
<!-- Quick summary of recent actions -->
`

// OverviewPath is a file that agents write themselves.
func (s *Session) OverviewPath() string { return filepath.Join(s.Dir, workingName, overviewName) }

// Overview returns "" if overview.md is still the template.
func (s *Session) Overview(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	data, _, err := safefile.ReadFile(paths.Resolve(s.Dir), filepath.Join(workingName, overviewName), maxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("overview: %w", err)
	}
	if string(data) == overviewTemplate {
		return "", nil
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), nil
}

// FilledIn drops the unchanged sections of overviewTemplate.
func FilledIn(overview string) string {
	text := strings.TrimSpace(strings.ReplaceAll(overview, "\r\n", "\n"))
	title, sections, _ := strings.Cut(strings.TrimSpace(overviewTemplate), "\n\n")
	for section := range strings.SplitSeq(sections, "\n\n") {
		before, after, found := strings.Cut(text, section)
		if after = strings.TrimSpace(after); found && (after == "" || strings.HasPrefix(after, "#")) {
			text = strings.TrimSpace(before + after)
		}
	}
	if text == title {
		return ""
	}
	return text
}

// Excerpt returns at most room characters, up to a line's end, preferably before a heading, and
// where the rest is. "" if that is too little.
func Excerpt(text, where string, room int) string {
	if utf8.RuneCountInString(text) <= room {
		return text
	}
	note := fmt.Sprintf("\n(The rest is in %s.)", where)
	if room -= utf8.RuneCountInString(note); room <= 0 {
		return ""
	}
	kept := string([]rune(text)[:room])
	line := strings.LastIndexByte(kept, '\n') + 1
	if line == 0 {
		return string([]rune(text)[:room-1]) + "…" + note
	}
	if section := strings.LastIndex(kept[:line], "\n#") + 1; section > line/2 {
		line = section
	}
	return strings.TrimRight(kept[:line], "\n") + note
}
