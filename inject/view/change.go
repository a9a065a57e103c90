package view

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/memcore/memcore/internal/text/plain"
	"github.com/memcore/memcore/internal/text/secret"
)

// editPage is a form with lines of a file.
type editPage struct {
	Request ChangeRequest
	Secrets bool // some are not shown
}

// edit shows lines of a file in a form.
func (v visit) edit() error {
	q := v.r.URL.Query()
	ask := FileRequest{Path: q.Get("path"), First: numberOf(q.Get("first")), Last: numberOf(q.Get("last"))}
	f, err := v.memory.File(v.r.Context(), ask)
	if err != nil {
		return err
	}
	if f.Fixed != "" || ask.Last == 0 && f.Next > 0 {
		return v.redirect("document?" + url.Values{"path": {f.Path}}.Encode())
	}
	if ask.Last == 0 {
		f.Base = f.Text
	}
	request := ChangeRequest{How: EditLines, Path: f.Path, First: f.First, Last: f.Last, Seen: f.Text, Base: f.Base, Text: f.Text}
	return v.show("memory", "edit", "Edit "+clean(f.Path), editPage{Request: request, Secrets: strings.Contains(f.Text, secret.Mark)})
}

// changePage shows a change before and after it is made.
type changePage struct {
	Request     ChangeRequest // to confirm
	Changed     Changed
	Title       string
	Confirm     string // the button
	Problem     string // why it cannot be made
	Diff, Since []diffLine
	File        string // to link to; "" for none
	CanEdit     bool   // its text
}

// preview shows a change and never makes it, whatever the address says.
func (v visit) preview() error {
	if v.r.URL.Query().Get("how") == "" { // after a reload
		return v.redirect("queue")
	}
	request := changeRequest(v.r.URL.Query())
	request.Version = ""
	return v.showChange(request)
}

// change shows a change, or makes it if the form has the shown version.
func (v visit) change() error {
	if err := v.r.ParseForm(); err != nil {
		return &httpapi.Error{Status: http.StatusBadRequest, Message: "the form cannot be read: " + err.Error()}
	}
	return v.showChange(changeRequest(v.r.PostForm))
}

// changeRequest reads a form or an address.
func changeRequest(form url.Values) ChangeRequest {
	text := func(name string) string { return strings.ReplaceAll(form.Get(name), "\r\n", "\n") }
	return ChangeRequest{How: form.Get("how"), Path: form.Get("path"), First: numberOf(form.Get("first")), Last: numberOf(form.Get("last")),
		Seen: text("seen"), Base: text("base"), Text: text("text"), ID: form.Get("id"), Version: form.Get("version")}
}

// maxChange bounds the wait for locks: a process may never give one back.
const maxChange = time.Minute

func (v visit) showChange(request ChangeRequest) error {
	ctx := v.r.Context()
	if request.Version != "" {
		var stop context.CancelFunc // who leaves the page does not stop half way
		ctx, stop = context.WithTimeout(context.WithoutCancel(ctx), maxChange)
		defer stop()
	}
	c, err := v.memory.Change(ctx, request)
	p := changePage{Request: request, Changed: c, Title: titles[request.How][0], Confirm: titles[request.How][1], Diff: diffLines(c.Diff), Since: diffLines(c.Since),
		CanEdit: request.How == EditLines || request.How == Keep && c.Text != ""}
	status := http.StatusOK
	switch {
	case err != nil:
		status, p.Problem = httpapi.StatusOf(err), err.Error()
	case c.Outdated:
		status = http.StatusConflict
		fallthrough
	default:
		p.Request.Version = c.Version
		if c.Seen != "" || c.First > 0 {
			p.Request.First, p.Request.Last, p.Request.Seen, p.Request.Base = c.First, c.Last, c.Seen, c.Base
		}
		if p.CanEdit {
			p.Request.Text = c.Text
		}
	}
	if c.Path == "" {
		c.Path = request.Path
	}
	if isMarkdown(c.Path) || request.Path != "" {
		p.File = c.Path
	}
	return v.showWith(status, "memory", "change", p.Title, p)
}

// titles are the titles and the buttons of changes.
var titles = map[string][2]string{
	"": {"Change", ""}, EditLines: {"Edit", "Write it"}, StrikeLines: {"Strike through", "Strike it through"}, ForgetLines: {"Forget", "Delete it"},
	UndoChange: {"Undo", "Undo it"}, Keep: {"Keep a proposal", "Keep it"}, Leave: {"Decline a proposal", "Decline it"},
	Hide: {"Hide from search", "Hide it"}, Unhide: {"Find again", "Find all of it again"},
}

// A diffLine is a line of a diff.
type diffLine struct {
	Kind string // "add", "remove", "same", "file" or "place"
	Sign string
	Text string
}

// maxDiff bounds the lines and bytes of a diff on a page.
const (
	maxDiff      = 1500
	maxDiffBytes = 48 << 10
)

func diffLines(diff string) (lines []diffLine) {
	all := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	size := 0
	// A file begins with three lines. Two alone may be text, which a person must see.
	begins := func(i int) bool {
		return i >= 0 && i+2 < len(all) && strings.HasPrefix(all[i], "--- a/") && strings.HasPrefix(all[i+1], "+++ b/") && strings.HasPrefix(all[i+2], "@@ ")
	}
	files := 0
	for i := range all {
		if begins(i) {
			files++
		}
	}
	for i, l := range all {
		if size += len(l); len(lines) == maxDiff || size > maxDiffBytes {
			return append(lines, diffLine{"place", "", fmt.Sprintf("… and %d more lines", len(all)-i)})
		}
		switch {
		case l == "" && diff == "":
		case begins(i):
			if files > 1 {
				lines = append(lines, diffLine{"file", "", strings.TrimPrefix(l, "--- a/")})
			}
		case begins(i - 1):
		case strings.HasPrefix(l, "@@ "):
			lines = append(lines, diffLine{"place", "", placeText(l)})
		case strings.HasPrefix(l, "+"):
			lines = append(lines, diffLine{"add", "+", l[1:]})
		case strings.HasPrefix(l, "-"):
			lines = append(lines, diffLine{"remove", "−", l[1:]})
		case strings.HasPrefix(l, `\`):
		default:
			lines = append(lines, diffLine{"same", "", strings.TrimPrefix(l, " ")})
		}
	}
	return lines
}

// placeText says where a part of a diff begins: "@@ -1,4 +2,5 @@" at line 2.
func placeText(header string) string {
	_, after, _ := strings.Cut(header, "+")
	first, _, _ := strings.Cut(strings.TrimSuffix(after, " @@"), ",")
	if first == "0" {
		return "the whole file"
	}
	return "from line " + first
}

// queuePage lists what waits for a decision, and changes.
type queuePage struct {
	Waiting         []Proposal
	More            int // proposals that are not shown
	Agents, Persons []entryRow
}

// proposedText names a kind of proposal.
func proposedText(kind string) string {
	switch kind {
	case "save":
		return "An agent asks to save this"
	case "forget":
		return "An agent asks to delete this"
	case "fix":
		return "A solved error"
	case "preference":
		return "A preference of yours"
	case "decision":
		return "A decision"
	}
	return "A fact"
}

// An entryRow is a change that was made.
type entryRow struct {
	Entry
	CanUndo bool // it held no secret
	Files   []fileRow
}

type fileRow struct {
	Path           string
	Linked, Secret bool
	Diff           []diffLine
}

// Bounds of the queue's page.
const (
	maxWaiting = 25
	maxEntry   = 2 << 10 // bytes before and after of a file
	maxQueued  = 800     // lines of all changes
)

func (v visit) queue() (err error) {
	var p queuePage
	if p.Waiting, err = v.memory.Proposals(v.r.Context()); err != nil {
		return err
	}
	all, err := v.memory.Journal(v.r.Context())
	if err != nil {
		return err
	}
	if len(p.Waiting) > maxWaiting {
		p.More, p.Waiting = len(p.Waiting)-maxWaiting, p.Waiting[:maxWaiting]
	}
	left := maxQueued
	for _, e := range all {
		if row := entryOf(e, &left); e.Agent {
			p.Agents = append(p.Agents, row)
		} else {
			p.Persons = append(p.Persons, row)
		}
	}
	return v.show("memory", "queue", "Memory: proposals and changes", p)
}

func isMarkdown(path string) bool { return strings.HasSuffix(strings.ToLower(path), ".md") }

// entryOf returns a change with at most left lines.
func entryOf(e Entry, left *int) entryRow {
	row := entryRow{Entry: e, CanUndo: true}
	for _, f := range e.Files {
		file := fileRow{Path: f.Path, Linked: isMarkdown(f.Path), Secret: f.Secret}
		row.CanUndo = row.CanUndo && !f.Secret
		for _, part := range []struct{ kind, sign, text string }{{"remove", "−", f.Before}, {"add", "+", f.After}} {
			if part.text == "" {
				continue
			}
			lines := strings.Split(excerpt.Of(part.text, maxEntry), "\n")
			shown := min(len(lines), *left)
			*left -= shown
			for _, line := range lines[:shown] {
				file.Diff = append(file.Diff, diffLine{part.kind, part.sign, line})
			}
			if more := len(lines) - shown; more > 0 {
				file.Diff = append(file.Diff, diffLine{"place", "", "… and " + plain.Count(more, "more line")})
			}
		}
		row.Files = append(row.Files, file)
	}
	return row
}
