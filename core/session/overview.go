package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/memcore/memcore/chunker"
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

// WorkingDir is the folder of the overview and of the notes in detail/.
func (s *Session) WorkingDir() string { return filepath.Join(s.Dir, workingName) }

// OverviewPath is a file that agents write themselves.
func (s *Session) OverviewPath() string { return filepath.Join(s.WorkingDir(), overviewName) }

// OverviewText returns what overview.md has, and whether it exists.
func (s *Session) OverviewText() (text string, exists bool, err error) {
	data, _, err := safefile.ReadFile(paths.Resolve(s.Dir), filepath.Join(workingName, overviewName), maxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", false, fmt.Errorf("overview: %w", err)
	}
	return string(data), err == nil, nil
}

// Overview returns "" if overview.md is still the template.
func (s *Session) Overview(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	text, _, err := s.OverviewText()
	if text == overviewTemplate || err != nil {
		return "", err
	}
	return strings.ToValidUTF8(text, "\uFFFD"), nil
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

// Excerpt returns at most room characters and where the rest is; "" if that is too little. Each
// section loses its end as far as it is longer than others: the last one may matter most.
func Excerpt(text, where string, room int) string {
	if utf8.RuneCountInString(text) <= room {
		return text
	}
	note := fmt.Sprintf("\n(The rest is in %s.)", where)
	if room -= utf8.RuneCountInString(note); room <= 0 {
		return ""
	}
	sections := sectionsOf(text)
	share := sort.Search(room+1, func(share int) bool {
		length := -len("\n\n")
		for _, s := range sections {
			length += len("\n\n") + min(utf8.RuneCountInString(s.text), share)
		}
		return length > room
	}) - 1
	if share <= 0 {
		return ""
	}
	kept := make([]string, len(sections))
	for i, s := range sections {
		kept[i] = head(s.text, share)
	}
	return strings.Join(kept, "\n\n") + note
}

// head returns at most room characters, up to a line's end in their second half if there is one,
// and marks the cut.
func head(text string, room int) string {
	if utf8.RuneCountInString(text) <= room {
		return text
	}
	kept := string([]rune(text)[:room-1])
	if line := strings.LastIndexByte(kept, '\n'); line > len(kept)/2 {
		kept = kept[:line+1]
	}
	return kept + "…"
}

// A section is a heading of level two, which gives its title, with all that follows it. What is
// before the first is a section without a title.
type section struct{ title, text string }

// sectionsOf leaves out an empty section without a title.
func sectionsOf(text string) (all []section) {
	lines := strings.Split(text, "\n")
	begin, title := 0, ""
	end := func(at int) {
		if part := strings.TrimSpace(strings.Join(lines[begin:at], "\n")); part != "" {
			all = append(all, section{title, part})
		}
	}
	for b := range chunker.Blocks(text) {
		if b.Level == 2 {
			end(b.Start)
			begin, title = b.Start, b.Title
		}
	}
	end(len(lines))
	return all
}

// Revised returns an overview in which the sections of a text replace those of the same title, or
// are added. What the text says outside of sections is the current task.
func Revised(overview, text string) string {
	if strings.TrimSpace(overview) == "" {
		overview = overviewTemplate
	}
	all := sectionsOf(strings.ReplaceAll(overview, "\r\n", "\n"))
	for _, s := range sectionsOf(strings.ReplaceAll(text, "\r\n", "\n")) {
		if s.title == "" {
			if s = withoutTitle(s); s.text == "" {
				continue
			}
			s = section{currentTask, "## " + currentTask + "\n" + s.text}
		}
		if i := slices.IndexFunc(all, func(old section) bool { return strings.EqualFold(old.title, s.title) }); i >= 0 {
			all[i] = s
		} else {
			all = append(all, s)
		}
	}
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = s.text
	}
	return strings.Join(texts, "\n\n") + "\n"
}

const currentTask = "Current Task"

// withoutTitle removes a heading of the whole text.
func withoutTitle(s section) section {
	if first, rest, _ := strings.Cut(s.text, "\n"); strings.HasPrefix(first, "# ") {
		s.text = strings.TrimSpace(rest)
	}
	return s
}
