package postgres

import (
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/memcore/memcore/store"
)

// recordColumns are those of recordOf, of a table r.
const recordColumns = `r.id, r.visibility, r.kind, r.path, r.start_line, r.end_line, r.headings, r.aliases, r.session, r.speaker, r.time, r.text, r.before, r.after, r.hash, r.tokens`

func recordOf(row pgx.CollectableRow) (store.Record, error) {
	var r store.Record
	err := scanRecord(row, &r)
	return r, err
}

// scanRecord reads recordColumns and what follows them.
func scanRecord(row pgx.Row, r *store.Record, more ...any) error {
	var at *time.Time
	err := row.Scan(append([]any{&r.ID, &r.Scope, &r.Kind, &r.Path, &r.StartLine, &r.EndLine, &r.Headings, &r.Aliases, &r.Session, &r.Speaker, &at,
		&r.Text, &r.Before, &r.After, &r.Hash, &r.Tokens}, more...)...)
	if at != nil {
		r.Time = at.UTC()
	}
	for _, text := range []*string{&r.Scope, &r.Kind, &r.Path, &r.Session, &r.Speaker, &r.Text, &r.Before, &r.After, &r.Hash} {
		*text = unescaped(*text)
	}
	for _, texts := range [][]string{r.Headings, r.Aliases} {
		for i := range texts {
			texts[i] = unescaped(texts[i])
		}
	}
	return err
}

// putRecord queues a record with its words.
func putRecord(b *pgx.Batch, scope int64, r store.Record, words []byte) {
	b.Queue(`insert into record values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
		on conflict (scope, id) do update set path = excluded.path, visibility = excluded.visibility, kind = excluded.kind, start_line = excluded.start_line,
		end_line = excluded.end_line, headings = excluded.headings, aliases = excluded.aliases, session = excluded.session, speaker = excluded.speaker,
		time = excluded.time, text = excluded.text, before = excluded.before, after = excluded.after, hash = excluded.hash, tokens = excluded.tokens, words = excluded.words`,
		scope, r.ID, escaped(r.Path), escaped(r.Scope), escaped(r.Kind), r.StartLine, r.EndLine, allEscaped(r.Headings), allEscaped(r.Aliases), escaped(r.Session), escaped(r.Speaker),
		timeOf(r), escaped(r.Text), escaped(r.Before), escaped(r.After), escaped(r.Hash), r.Tokens, words)
}

// timeOf is nil for a record without a time. Times are in seconds.
func timeOf(r store.Record) *time.Time {
	if r.Time.IsZero() {
		return nil
	}
	at := time.Unix(r.Time.Unix(), 0)
	return &at
}

// escape begins two hexadecimal digits of a byte that PostgreSQL has in no text.
const escape = "\uffff"

// escaped changes only texts with NUL or escape, and those that are not UTF-8. Beginnings stay
// beginnings.
func escaped(text string) string {
	if utf8.ValidString(text) && !strings.ContainsAny(text, "\x00"+escape) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if r == 0 || r == utf8.RuneError && n == 1 || text[:n] == escape {
			for i := range n {
				b.WriteString(escape + hex.EncodeToString([]byte{text[i]}))
			}
		} else {
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

func allEscaped(texts []string) []string {
	var all []string // none is null
	for _, text := range texts {
		all = append(all, escaped(text))
	}
	return all
}

// unescaped reverses escaped.
func unescaped(text string) string {
	before, rest, found := strings.Cut(text, escape)
	if !found {
		return text
	}
	var b strings.Builder
	for b.WriteString(before); found; b.WriteString(before) {
		one, err := hex.DecodeString(rest[:min(2, len(rest))])
		if err != nil || len(one) != 1 { // escaped writes none
			return text
		}
		b.Write(one)
		before, rest, found = strings.Cut(rest[2:], escape)
	}
	return b.String()
}
