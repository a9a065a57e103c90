package notes

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/markdown/statement"
	"github.com/memcore/memcore/internal/markdown/summary"
	"github.com/memcore/memcore/internal/text/sanitize"
	"github.com/memcore/memcore/internal/text/secret"
)

// A revision returns a new text and fills in w.
type revision func(w *Written, before string, exists bool) (string, error)

// apply keeps the file's line ends.
func (r revision) apply(w *Written, before string, exists bool) (string, error) {
	plain := strings.ReplaceAll(before, "\r\n", "\n")
	after, err := r(w, plain, exists)
	if err != nil {
		return "", err
	}
	if after == plain {
		after = before
	} else if first, _, ok := strings.Cut(before, "\n"); ok && strings.HasSuffix(first, "\r") {
		after = strings.ReplaceAll(after, "\n", "\r\n")
	}
	w.Created, w.Summary = !exists, summary.Of(after)
	return after, nil
}

func writing(content string) revision {
	return func(w *Written, before string, _ bool) (string, error) {
		text, redacted := Clean(content)
		w.Redacted = redacted
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return summary.Set(before, text, ""), nil
	}
}

func patching(patches []Patch, all bool) revision {
	return func(w *Written, before string, exists bool) (string, error) {
		if !exists {
			return "", fmt.Errorf("%w: %s; append to it to make it", ErrNoFile, w.Path)
		}
		text := before
		if !slices.ContainsFunc(patches, func(p Patch) bool { return strings.Contains(p.OldText, "> Summary:") }) {
			text = summary.Without(text) // which repeats what a fact says
		}
		w.Applied, w.Failed = 0, nil
		for i, p := range patches {
			n := strings.Count(text, p.OldText)
			switch {
			case p.OldText == "":
				w.Failed = append(w.Failed, fmt.Sprintf("patch %d: oldText is empty", i+1))
			case n == 0:
				w.Failed = append(w.Failed, fmt.Sprintf("patch %d: oldText is not in the file", i+1))
			case n > 1:
				w.Failed = append(w.Failed, fmt.Sprintf("patch %d: oldText is in the file %d times; give more of it", i+1, n))
			default:
				text = strings.Replace(text, p.OldText, p.NewText, 1)
				w.Applied++
			}
		}
		if all && len(w.Failed) > 0 {
			w.Applied = 0
		}
		if w.Applied == 0 {
			return before, nil
		}
		text, w.Redacted = Clean(text)
		return summary.Set(before, text, ""), nil
	}
}

// appending adds an entry. Plain text becomes what the file has, so that its summary says it: in
// episodes an entry of its own, with the date, and else an item of a list for each paragraph. An
// item, or an entry with a heading, is added once, however often a model saves it.
func appending(entry, given string, now time.Time) revision {
	return func(w *Written, before string, _ bool) (string, error) {
		entry, redacted := Clean(entry)
		given, more := Clean(given)
		w.Redacted = append(redacted, more...)
		entry = strings.Trim(entry, "\n")
		if strings.TrimSpace(entry) == "" {
			return "", ErrNoEntry
		}
		entry = asBlock(w.Path, entry, now)
		if (strings.HasPrefix(entry, "## ") || statement.IsItem(entry)) && strings.Contains("\n"+before+"\n", "\n"+entry+"\n") {
			w.Remark = "It has that entry already, so it is not added again."
			return summary.Set(before, before, given), nil
		}
		text := strings.TrimRight(before, "\n")
		if strings.TrimSpace(text) == "" {
			if strings.HasPrefix(entry, "# ") { // it has a title of its own
				return summary.Set(before, entry+"\n", given), nil
			}
			text = "# " + titleOf(w.Path)
		}
		between := "\n\n"
		if statement.IsItem(entry) && statement.IsItem(text[strings.LastIndexByte(text, '\n')+1:]) {
			between = "\n" // one list
		}
		return summary.Set(before, text+between+entry+"\n", given), nil
	}
}

// asBlock returns paragraphs of plain text as an entry or items, and any other text as it is.
func asBlock(name, text string, now time.Time) string {
	lines := strings.Split(text, "\n")
	var items []string
	for b := range chunker.Blocks(text) {
		if !b.Prose {
			return text
		}
		paragraph := slices.Clone(lines[b.Start:b.End])
		for i, l := range paragraph {
			paragraph[i] = strings.TrimSpace(l)
		}
		items = append(items, "- "+strings.TrimRight(strings.Join(paragraph, "\n  "), "\n "))
	}
	if path.Dir(name) == EpisodesFolder {
		first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
		return strings.TrimRight("## "+strings.TrimSpace(first)+"\n- Date: "+now.Format(time.DateOnly)+"\n\n"+strings.Trim(rest, "\n"), "\n")
	}
	return strings.Join(items, "\n")
}

// titleOf makes headings: "2026-02 Episodes", "User Facts".
func titleOf(name string) string {
	base := strings.TrimSuffix(path.Base(name), ".md")
	first, size := utf8.DecodeRuneInString(base)
	base = string(unicode.ToUpper(first)) + base[size:]
	switch path.Dir(name) {
	case EpisodesFolder:
		return base + " Episodes"
	case FactsFolder:
		return base + " Facts"
	}
	return base
}

// A Redaction names a secret that was taken out.
type Redaction = secret.Finding

// Clean removes and returns secrets; it also removes hidden characters.
func Clean(text string) (string, []Redaction) {
	text, _ = sanitize.Reveal(strings.ToValidUTF8(text, "\uFFFD"))
	return secret.Redact(text)
}
