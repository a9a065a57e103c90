package sets

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/eval"
)

// A corpus is a source of a collection's documents, in memory.
type corpus struct {
	listing []source.Document
	content map[string]source.Content
	at      map[place]string  // the document there
	session map[string]string // of a document
}

// A place is a line of a conversation, or line 0 of a Markdown document.
type place struct {
	path string
	line int
}

// newCorpus makes a log of each conversation and Markdown files of other documents. It numbers
// them, since their names may reveal evidence.
func newCorpus(documents []Document) *corpus {
	c := &corpus{content: map[string]source.Content{}, at: map[place]string{}, session: map[string]string{}}
	logs := map[string]string{}
	for _, d := range documents {
		session, spoken := sessionOf(d)
		c.session[d.ID] = session
		if !spoken {
			c.markdown(d)
			continue
		}
		path, ok := logs[session]
		if !ok {
			path = fmt.Sprintf("log-%05d.jsonl", len(c.listing)+1)
			logs[session] = path
			c.list(path, source.KindConversation, timeOf(d.Date))
		}
		c.turn(path, d)
	}
	return c
}

// sessionOf returns the session of a document, or itself, and whether it is a turn.
func sessionOf(d Document) (session string, spoken bool) {
	before, _, numbered := strings.Cut(d.ID, "#")
	_, _, role := spokenBy(d)
	switch {
	case d.Session != "" && (d.Speaker != "" || role):
		return string(d.Session), true
	case numbered && role:
		return before, true
	case d.Session != "":
		return string(d.Session), false
	}
	return d.ID, false
}

// spokenBy splits a turn into speaker and text.
func spokenBy(d Document) (speaker, said string, ok bool) {
	for _, who := range []string{d.Speaker, "user", "assistant"} {
		if rest, found := strings.CutPrefix(d.Text, who+": "); found && who != "" {
			return who, rest, true
		}
	}
	return d.Speaker, d.Text, false
}

func (c *corpus) list(path, kind string, when time.Time) {
	format := "markdown"
	if kind == source.KindConversation {
		format = "eval"
	}
	c.listing = append(c.listing, source.Document{
		Path: path, Scope: source.ScopeProject, Kind: kind, Format: format, ModTime: when})
}

func (c *corpus) markdown(d Document) {
	path := fmt.Sprintf("document-%05d.md", len(c.listing)+1)
	text := d.Text
	if d.Title != "" && !strings.HasPrefix(text, d.Title) {
		text = "# " + strings.Join(strings.Fields(d.Title), " ") + "\n\n" + text
	}
	c.list(path, source.KindMarkdown, timeOf(d.Date))
	c.content[path] = source.Content{Markdown: []byte(text), From: 1}
	c.at[place{path, 0}] = d.ID
}

func (c *corpus) turn(path string, d Document) {
	log := c.content[path]
	line := len(log.Turns) + 1
	speaker, said, _ := spokenBy(d)
	turn := chunker.Turn{Line: line, EndLine: line, Role: "user", Speaker: speaker, Session: path, Time: timeOf(d.Date), Text: said}
	if speaker == "user" || speaker == "assistant" {
		turn.Role, turn.Speaker = speaker, ""
	}
	log.From = 1
	log.Turns = append(log.Turns, turn)
	c.content[path] = log
	c.at[place{path, line}] = d.ID
}

// document returns the ID of the document at a line.
func (c *corpus) document(path string, line int) (string, bool) {
	if id, ok := c.at[place{path, 0}]; ok {
		return id, true
	}
	id, ok := c.at[place{path, line}]
	return id, ok
}

// cited returns the ID of a cited document.
func (c *corpus) cited(citation string) (string, bool) {
	path, lines, ok := eval.ParseCitation(citation)
	if !ok {
		return "", false
	}
	return c.document(path, lines[0])
}

// Name returns "collection".
func (c *corpus) Name() string { return "collection" }

// List returns the documents.
func (c *corpus) List(ctx context.Context) (source.Listing, error) {
	return source.Listing{Documents: c.listing}, ctx.Err()
}

// Read returns a document.
func (c *corpus) Read(ctx context.Context, doc source.Document, _ source.Position) (source.Content, error) {
	content, ok := c.content[doc.Path]
	if !ok {
		return content, fmt.Errorf("read %s: not in the collection", doc.Path)
	}
	return content, ctx.Err()
}

// dateLayouts are how collections write the time of a session.
var dateLayouts = []string{
	"3:04 pm on 2 January, 2006", "2006/01/02 (Mon) 15:04", "02.01.2006, 15:04:05", "02.01.2006", "January-2-2006",
	time.RFC3339, time.DateTime, time.DateOnly,
}

// timeOf reads a date; zero if it is unreadable.
func timeOf(date string) time.Time {
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, strings.TrimSpace(date)); err == nil {
			return t
		}
	}
	return time.Time{}
}
