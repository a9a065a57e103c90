package core

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/memcore/memcore/store"
)

// recordsOf cuts a document into records without vectors. request is the title before the content
// of a log, said the date that another document gives itself (saidDate); leftOut says why turns
// have no record.
func recordsOf(doc source.Document, content source.Content, request string, said noteDate, options chunker.Options) (records []store.Record, leftOut, warnings []string) {
	var chunks []chunker.Chunk
	switch {
	case doc.Kind == source.KindConversation && content.Agent:
		chunks, leftOut = chunker.Session(doc.Path, content.Turns, request, options)
		if content.Noted {
			chunks = withRemarks(chunks, leftOut, content.Turns, chunker.Conversation(doc.Path, content.Turns, options))
		}
	case doc.Kind == source.KindConversation:
		chunks = chunker.Conversation(doc.Path, content.Turns, options)
	default:
		document := chunker.Markdown(doc.Path, content.Markdown, options)
		chunks = document.Chunks
		for _, w := range document.Warnings {
			warnings = append(warnings, fmt.Sprintf("%s:%d: %s", doc.Path, w.Line, w.Text))
		}
	}
	records = make([]store.Record, len(chunks))
	for i, c := range chunks {
		records[i] = recordOf(doc, said, c)
	}
	return records, leftOut, warnings
}

// withRemarks adds the chunks of turns that are left out, which are then no longer, from among
// those of all turns. They have no headings, by which isRemark knows them.
func withRemarks(chunks []chunker.Chunk, leftOut []string, turns []chunker.Turn, all []chunker.Chunk) []chunker.Chunk {
	has := map[int]bool{}
	for _, c := range chunks {
		has[c.StartLine] = true
	}
	added := map[int]bool{}
	for _, c := range all {
		if !has[c.StartLine] {
			chunks, added[c.StartLine] = append(chunks, c), true
		}
	}
	for i, t := range turns {
		if added[t.Line] {
			leftOut[i] = ""
		}
	}
	slices.SortStableFunc(chunks, func(a, b chunker.Chunk) int { return cmp.Compare(a.StartLine, b.StartLine) })
	return chunks
}

func recordOf(doc source.Document, said noteDate, c chunker.Chunk) store.Record {
	at := c.Time
	if at.IsZero() && doc.Kind != source.KindConversation {
		at = cmp.Or(dateOf(c.Headings, said, doc.ModTime).At, doc.ModTime)
	}
	r := store.Record{
		ID:        c.ID,
		Scope:     doc.Scope,
		Kind:      doc.Kind,
		Path:      doc.Path,
		StartLine: c.StartLine,
		EndLine:   c.EndLine,
		Headings:  c.Headings,
		Session:   cmp.Or(c.Session, doc.Session),
		Speaker:   c.Speaker,
		Time:      at,
		Text:      c.Text,
		Before:    c.Before,
		After:     c.After,
		Hash:      c.Hash,
		Tokens:    c.Tokens,
	}
	if r.Kind == source.KindConversation && len(r.Headings) > 0 {
		r.Hash = fullHash(EmbeddingText(r))
	}
	return r
}

// EmbeddingText is what a record's Vector and Hash are made from. Of a passage of an agent's log that
// is how the request and the passage begin: docs/dev/relevance.md has the figures.
func EmbeddingText(r store.Record) string {
	switch {
	case r.Kind == source.KindConversation && len(r.Headings) > 0:
		request := excerpt.Words(r.Headings[0], embeddedRequest)
		return chunker.EmbeddingText([]string{request}, "", time.Time{}, beginning(r.Text, embeddedPassage))
	case r.Kind == source.KindConversation:
		return chunker.EmbeddingText(nil, r.Speaker, r.Time, r.Text)
	}
	return chunker.EmbeddingText(r.Headings, "", time.Time{}, r.Text) // the time of a file is not part of its meaning
}

// Bytes that are embedded of a log's request, and of a passage that answers it.
const (
	embeddedRequest = 128
	embeddedPassage = 400
)

// marks are those of Markdown anywhere in a line.
var marks = strings.NewReplacer("**", "", "__", "", "`", "", "|", " ")

// beginning returns the first words of a text in at most max bytes, without marks of Markdown: each
// of them would cost as much as a word.
func beginning(text string, max int) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if b.Len() > max {
			break
		}
		for word := range strings.FieldsSeq(marks.Replace(line)) {
			if word = strings.TrimLeft(word, "#>*+-=_~"); word == "" {
				continue
			}
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(word)
		}
	}
	return excerpt.Words(b.String(), max)
}

func sameRecord(old, now store.Record) bool {
	return old.Hash == now.Hash && old.StartLine == now.StartLine && old.EndLine == now.EndLine &&
		old.Time.Unix() == now.Time.Unix() && old.Scope == now.Scope && old.Kind == now.Kind && old.Session == now.Session && old.Speaker == now.Speaker &&
		old.Before == now.Before && old.After == now.After && slices.Equal(old.Headings, now.Headings) && slices.Equal(old.Aliases, now.Aliases)
}

// keepTimes gives records whose only time is that of their file's last change the time of their own
// first save.
func keepTimes(old, now []store.Record, modified time.Time) {
	known := make(map[string]time.Time, len(old))
	for _, r := range old {
		known[r.ID] = r.Time
	}
	for i, r := range now {
		if at, ok := known[r.ID]; ok && r.Time.Equal(modified) {
			now[i].Time = at
		}
	}
}

// difference returns what to put and what to delete.
func difference(old, now []store.Record) (put []store.Record, gone []string) {
	known := make(map[string]store.Record, len(old))
	for _, r := range old {
		known[r.ID] = r
	}
	for _, r := range now {
		if before, ok := known[r.ID]; !ok || !sameRecord(before, r) {
			put = append(put, r)
		}
		delete(known, r.ID)
	}
	for _, r := range old {
		if _, ok := known[r.ID]; ok {
			gone = append(gone, r.ID)
		}
	}
	return put, gone
}
