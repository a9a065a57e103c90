package core

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/when"
)

// A noteDate is when a note is from, as it says itself, else as git says. A clone or a copy changes
// the time of its file, but not this.
type noteDate struct {
	At time.Time `json:"at"` // noon of a day, or a time; zero if it does not say
	// Day means that the note is of this day: it is a daily note, or the log of a meeting. Else it
	// was made at that time, or is of a longer one.
	Day bool `json:"day,omitempty"`
	// Commit means that At is the last commit that changed it. Its text may be older.
	Commit bool `json:"commit,omitempty"`
	// From and To bound the week or month that it is of.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
}

func (d noteDate) isKnown() bool { return !d.At.IsZero() }

// dayKeys and madeKeys of frontmatter are without blanks and marks. The first that is there counts.
var (
	dayKeys  = []string{"date", "day"}
	madeKeys = []string{
		"created", "createdat", "createdon", "datecreated", "creationdate", "published", "publishdate",
		"updated", "updatedat", "lastupdated", "dateupdated", "modified", "lastmodified", "lastmod", "datemodified",
	}
)

// saidDate is the date that a document's name gives, else its frontmatter.
func saidDate(doc source.Document, meta map[string]any) noteDate {
	if span, ok := dateOfPath(doc.Path); ok {
		return dateIn(span, doc.ModTime)
	}
	values := map[string]any{}
	for key, value := range meta {
		key = strings.Map(func(r rune) rune {
			if strings.ContainsRune(" _-", r) {
				return -1
			}
			return r
		}, strings.ToLower(key))
		values[key] = value
	}
	for _, key := range slices.Concat(dayKeys, madeKeys) {
		if d := dateOfValue(values[key], doc.ModTime); d.isKnown() && canBeSaved(d.At) {
			d.Day = d.Day && slices.Contains(dayKeys, key)
			return d
		}
	}
	return noteDate{}
}

// canBeSaved reports whether a manifest can have a time: it knows years of four digits, and zones
// of less than a day.
func canBeSaved(at time.Time) bool {
	_, err := at.MarshalJSON()
	return err == nil
}

// dateOfPath reads the name of a file, or the folders of years and months that it is in.
func dateOfPath(document string) (when.Span, bool) {
	name := path.Base(document)
	if span, ok := when.Named(strings.TrimSuffix(name, path.Ext(name)), time.Local); ok {
		return span, true
	}
	parts := strings.Split(document, "/")
	tail := strings.Join(parts[max(0, len(parts)-3):], "/")
	span, ok := when.Named(tail, time.Local)
	return span, ok && span.End > strings.LastIndexByte(tail, '/')
}

// dateOfValue also reads Unix times, in seconds or milliseconds.
func dateOfValue(value any, modified time.Time) noteDate {
	text := fmt.Sprint(value)
	switch v := value.(type) {
	case []any:
		if len(v) > 0 {
			return dateOfValue(v[0], modified)
		}
	case time.Time:
		if v.Location() != time.UTC || !v.Equal(v.Truncate(24*time.Hour)) {
			return noteDate{At: v, Day: true}
		}
		text = v.Format(time.DateOnly) // a date alone, of no zone
	case int:
		const first, last = 1e8, 1e10 // 1973 and 2286
		switch {
		case first <= v && v < last:
			return noteDate{At: time.Unix(int64(v), 0)}
		case 1e3*first <= v && v < 1e3*last:
			return noteDate{At: time.UnixMilli(int64(v))}
		}
	case string:
		if at, err := time.Parse(time.RFC3339, strings.TrimSpace(v)); err == nil {
			return noteDate{At: at, Day: true}
		}
	}
	if span, ok := when.Named(text, time.Local); ok {
		return dateIn(span, modified)
	}
	return noteDate{}
}

// sectionDate is the date of the innermost heading that has one.
func sectionDate(headings []string, modified time.Time) noteDate {
	for _, heading := range slices.Backward(headings) {
		if span, ok := when.Named(heading, time.Local); ok {
			return dateIn(span, modified)
		}
	}
	return noteDate{}
}

// dateIn returns noon of one day of a span: the day of a file's change if that is in the span, else
// the first or last day of the span.
func dateIn(span when.Span, modified time.Time) noteDate {
	last := span.To.AddDate(0, 0, -1)
	day := modified.In(span.From.Location())
	switch {
	case day.Before(span.From):
		day = span.From
	case day.After(last):
		day = last
	}
	d := noteDate{At: time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, day.Location()), Day: !last.After(span.From)}
	if !d.Day {
		d.From, d.To = span.From, span.To
	}
	return d
}

// dateOf is the date of a record: that of its headings, else what its document says of itself.
func dateOf(headings []string, said noteDate, modified time.Time) noteDate {
	if d := sectionDate(headings, modified); d.isKnown() {
		return d
	}
	return said
}
