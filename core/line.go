package core

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/digest"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/memcore/memcore/internal/text/injection"
	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/store"
)

// A Line is an entry of a list: an exchange of a log, or a section of a document, in half a
// sentence. The model decides whether to open it.
type Line struct {
	// Name opens it with Manager.Read: five characters for the document, a hyphen, and the line
	// where it begins. It stays while the document keeps its path and grows at its end.
	Name string `json:"name"`
	// Request is what the user asked for, or the headings of the section; one line, "" if the turn
	// gets that as a statement.
	Request string `json:"request"`
	// Outcome is what came of it, or what the section says; one line, may be "".
	Outcome string `json:"outcome,omitempty"`
	// Reply is what the user said to that, if it rejects or corrects it.
	Reply string `json:"reply,omitempty"`
	// Files are those that the agent changed, at most three.
	Files []string `json:"files,omitempty"`

	Source    string    `json:"source"` // the citation
	Kind      string    `json:"kind"`   // as in MemoryHit
	Path      string    `json:"path"`
	StartLine int       `json:"startLine"` // from 1
	EndLine   int       `json:"endLine"`   // included
	Session   string    `json:"session,omitempty"`
	Time      time.Time `json:"time,omitzero"`
	Gone      bool      `json:"gone,omitempty"` // as in MemoryHit
	// Later names what has a later word on the same subject: another line of the list, or what the
	// user said otherwise since.
	Later string `json:"later,omitempty"`
}

// MaxLines bounds the lines of a turn.
const MaxLines = 8

// A Passage is what a name, or a citation, stands for.
type Passage struct {
	Line
	// Text is the exchange or the section, as indexed: data from outside, not yet made safe.
	Text string `json:"text"`
	// Injection is set if the text reads like instructions to a model. With InjectionWithhold it is
	// not in Text then.
	Injection *Injection `json:"injection,omitempty"`
	// More is the citation of what Text leaves out; "" if it is whole.
	More string `json:"more,omitempty"`
	// Before and After name the neighbours, if there are any.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// maxPassage bounds the text of a Passage, in tokens.
const maxPassage = 600

// ErrNoPassage means that nothing in memory has that name.
var ErrNoPassage = errors.New("there is no such passage in memory")

// passageName names what begins at a line of a document.
func passageName(document string, line int) string {
	return documentKey(document) + "-" + strconv.Itoa(line)
}

var nameEncoding = base32.NewEncoding("abcdefghijkmnpqrstuvwxyz23456789").WithPadding(base32.NoPadding)

func documentKey(document string) string {
	sum := sha256.Sum256([]byte(document))
	return nameEncoding.EncodeToString(sum[:4])[:keyLength]
}

// IsPassageName reports whether Manager.Read takes a text: it has the form of a name of a list, or
// of a citation.
func IsPassageName(text string) bool {
	_, _, _, cited := paths.ParseCitation(text)
	key, line, found := strings.Cut(text, "-")
	_, err := strconv.Atoi(line)
	return cited || found && err == nil && len(key) == keyLength
}

// keyLength is how many characters of a hash name a document: 25 bits, few enough to type, and
// enough for ten thousands of documents: of two that share a name, the line mostly tells which.
const keyLength = 5

// Read returns the passage that a Line.Name, or a citation such as "notes/staging.md#L10-L20",
// stands for. A name stands for a whole exchange, or a whole section. Errors wrap ErrNoPassage, or
// are those of an index that cannot be read.
func (m *Manager) Read(ctx context.Context, name string) (Passage, error) {
	current, err := m.acquire(ctx)
	if stateOf(err) == StateMissing {
		return Passage{}, fmt.Errorf("read %q: nothing is indexed: %w", name, ErrNoPassage)
	}
	if err != nil {
		return Passage{}, fmt.Errorf("open index %s: %w", m.options.Folder, err)
	}
	defer current.release()
	documents, from, to := current.manifest.resolve(strings.TrimSpace(name))
	if len(documents) == 0 && IsPassageName(strings.TrimSpace(name)) {
		return Passage{}, fmt.Errorf("read %q: %w: no indexed document has this name or path", name, ErrNoPassage)
	}
	if len(documents) == 0 {
		return Passage{}, fmt.Errorf("read %q: %w: it has neither the form of a name, such as k3f9a-12, nor of a citation, such as notes/staging.md#L10-L20", name, ErrNoPassage)
	}
	if len(documents) == 1 {
		return m.read(ctx, current, name, documents[0], from, to)
	}
	var found []Passage
	var sources []string
	for _, document := range documents {
		p, err := m.read(ctx, current, name, document, from, to)
		if err == nil && p.StartLine == from {
			found, sources = append(found, p), append(sources, p.Source)
		} else if err != nil && !errors.Is(err, ErrNoPassage) {
			return Passage{}, err
		}
	}
	switch len(found) {
	case 0:
		return Passage{}, fmt.Errorf("read %q: no document of this name has a passage at line %d: %w", name, from, ErrNoPassage)
	case 1:
		return found[0], nil
	}
	return Passage{}, fmt.Errorf("read %q: %w of this name alone; read one of those by its citation: %s", name, ErrNoPassage, strings.Join(sources, ", "))
}

// read reads lines of a document, or with to 0 the unit that has a line.
func (m *Manager) read(ctx context.Context, current snapshot, name, document string, from, to int) (Passage, error) {
	records, err := current.keywords.Document(ctx, document)
	if err != nil {
		return Passage{}, fmt.Errorf("read %q: %w", name, err)
	}
	d, err := current.digests.of(ctx, current.view, document)
	if err != nil {
		return Passage{}, fmt.Errorf("read %q: %w", name, err)
	}
	units := unitsOf(document, d.Exchanges, records)
	if to == 0 { // a name stands for all of its unit
		at := slices.IndexFunc(units, func(u unit) bool { return u.start <= from && from <= u.end })
		if at < 0 {
			return Passage{}, fmt.Errorf("read %q: %s has no passage at line %d: %w", name, document, from, ErrNoPassage)
		}
		return m.passage(current, units, at, d.Statements), nil
	}
	within := unit{path: document, start: from, end: to}
	for _, r := range records {
		if r.StartLine <= to && r.EndLine >= from {
			within.records = append(within.records, r)
		}
	}
	isStatement := func(r store.Record) bool { return r.Kind == KindStatement }
	if slices.ContainsFunc(within.records, func(r store.Record) bool { return !isStatement(r) }) { // else they say again what another record says
		within.records = slices.DeleteFunc(within.records, isStatement)
	}
	if len(within.records) == 0 {
		return Passage{}, fmt.Errorf("read %q: nothing of these lines is indexed: %w", name, ErrNoPassage)
	}
	for _, u := range units {
		if u.start <= from && to <= u.end {
			within.exchange = u.exchange
		}
	}
	return m.passage(current, []unit{within}, 0, d.Statements), nil
}

func (m *Manager) passage(current snapshot, units []unit, at int, statements []digest.Statement) Passage {
	p := passageOf(units, at, statements)
	p.Gone = current.manifest.of(p.Path).Gone
	return m.judged(p, units[at])
}

// judged marks a passage that reads like instructions to a model, or takes its text out: a name
// must not open what a search marks or withholds.
func (m *Manager) judged(p Passage, u unit) Passage {
	for i, r := range u.records {
		hit := MemoryHit{Kind: r.Kind, Path: r.Path, Speaker: r.Speaker, Session: r.Session, Text: r.Text}
		if i == 0 {
			hit.Request, hit.Reply = p.Request, p.Reply
		}
		if v := m.Judge(hit); v.Flagged && p.Injection == nil {
			p.Injection = &v
		}
	}
	if p.Injection != nil && m.injections.Policy == injection.Withhold {
		v := p.Injection.WithoutExcerpts()
		p.Injection, p.Text, p.Request, p.Outcome, p.Reply = &v, "", "", "", ""
	}
	return p
}

// resolve returns the document of a citation, or those of a name: one, but for chance. to is 0 for
// a name.
func (m *manifest) resolve(name string) (documents []string, from, to int) {
	if document, from, to, ok := paths.ParseCitation(name); ok {
		if _, known := m.find(document); known {
			documents = []string{document}
		}
		return documents, from, to
	}
	key, line, found := strings.Cut(strings.ToLower(name), "-")
	from, err := strconv.Atoi(line)
	if !found || err != nil || from < 1 {
		return nil, 0, 0
	}
	for path := range m.names() {
		if documentKey(path) == key {
			documents = append(documents, path)
		}
	}
	slices.Sort(documents)
	return documents, from, 0
}

// A unit is an exchange of a log, a section of a document, or a message between people: what is
// listed, opened and told from duplicates as a whole.
type unit struct {
	path       string
	start, end int
	exchange   *digest.Exchange // nil unless it is one
	records    []store.Record   // of it, in order; those at hand, or all
}

// unitsOf parts records of one document, in order, into its exchanges and sections.
func unitsOf(document string, exchanges []digest.Exchange, records []store.Record) (units []unit) {
	for i := range exchanges {
		units = append(units, unit{path: document, start: exchanges[i].StartLine, end: exchanges[i].EndLine, exchange: &exchanges[i]})
	}
	var rest []unit
	for _, r := range records {
		if r.Kind == KindStatement {
			continue // it is in another record, too
		}
		if at := slices.IndexFunc(units, func(u unit) bool { return u.start <= r.StartLine && r.StartLine <= u.end }); at >= 0 {
			units[at].records = append(units[at].records, r)
			units[at].end = max(units[at].end, r.EndLine)
			continue
		}
		if last := len(rest) - 1; last >= 0 && sameUnit(rest[last].records[0], r) {
			rest[last].records, rest[last].end = append(rest[last].records, r), max(rest[last].end, r.EndLine)
			continue
		}
		rest = append(rest, unit{path: document, start: r.StartLine, end: r.EndLine, records: []store.Record{r}})
	}
	units = append(units, rest...)
	slices.SortStableFunc(units, func(a, b unit) int { return cmp.Compare(a.start, b.start) })
	return slices.DeleteFunc(units, func(u unit) bool { return len(u.records) == 0 })
}

// sameUnit reports whether two neighbouring records are of one section, or answer one request.
func sameUnit(a, b store.Record) bool {
	if a.Kind == source.KindConversation {
		return requestOf(a) != "" && requestOf(a) == requestOf(b)
	}
	return slices.Equal(a.Headings, b.Headings)
}

// passageOf returns a unit with the names of its neighbours. statements are those of its document.
func passageOf(units []unit, at int, statements []digest.Statement) Passage {
	u := units[at]
	p := Passage{Line: lineOf(u, nil)}
	if e := u.exchange; e != nil { // what is opened is not cut as a line is
		p.Reply = e.Reply
		if strings.HasSuffix(p.Request, "…") {
			p.Request = e.Request
		}
	}
	if at > 0 {
		p.Before = passageName(units[at-1].path, units[at-1].start)
	}
	if at+1 < len(units) {
		p.After = passageName(units[at+1].path, units[at+1].start)
	}
	var texts []string
	tokens := 0
	for i, r := range u.records {
		if tokens += r.Tokens; i > 0 && tokens > maxPassage {
			p.More = paths.Citation(u.path, r.StartLine, u.end)
			break
		}
		texts = append(texts, spokenBy(r, statements))
	}
	p.Text = strings.Join(texts, "\n\n")
	if hasSentence(p.Text, strings.TrimSuffix(p.Reply, "…")) {
		p.Reply = ""
	}
	return p
}

// spokenBy returns the text of a record, and that it is the user's, unless it says so.
func spokenBy(r store.Record, statements []digest.Statement) string {
	if !saidByUser(r.Kind, r.Speaker) || source.NamesUser(r.Text) {
		return r.Text
	}
	if asked := askedIn(r, statements); asked != "" {
		return "The user, " + digest.Told(r.Text, asked)
	}
	return "The user: " + r.Text
}

// askedIn returns the agent's question with which a record of the user begins, or "".
func askedIn(r store.Record, statements []digest.Statement) string {
	for _, s := range statements {
		if s.Line == r.StartLine && s.Asked != "" && strings.HasPrefix(r.Text, s.Asked) {
			return s.Asked
		}
	}
	return ""
}

// lineOf returns a unit in half a sentence. holds counts the words of the question that a sentence
// has; it may be nil.
func lineOf(u unit, holds func(sentence string) int) Line {
	first := u.records[0]
	l := Line{Name: passageName(u.path, u.start), Source: paths.Citation(u.path, u.start, u.end), Kind: first.Kind, Path: u.path, StartLine: u.start, EndLine: u.end, Session: first.Session, Time: first.Time}
	if e := u.exchange; e != nil {
		l.Request, l.Outcome, l.Reply = shortened(e.Request, maxRequest), shortened(e.Outcome, maxOutcome), shortened(e.Reply, maxRequest)
		if l.Outcome == "" {
			l.Files = e.Files // they stand for it
		}
		if l.Request == "" || l.Request == chunker.Unheaded {
			l.Request = path.Base(u.path)
		}
		if !e.Time.IsZero() {
			l.Time = e.Time
		}
		return l
	}
	l.Request = requestOf(first)
	if first.Kind != source.KindConversation {
		l.Request = strings.Join(append([]string{path.Base(u.path)}, withoutTitle(first.Headings)...), " › ")
	}
	l.Request, l.Outcome = shortened(l.Request, maxRequest), shortened(tellingSentence(u.records, holds), maxOutcome)
	if l.Request == "" { // a message that answers nothing
		l.Request, l.Outcome = l.Outcome, ""
	}
	return l
}

const (
	maxRequest = 72 // bytes
	maxOutcome = 96 // bytes
)

// withoutTitle returns the last two headings without the document's title, if there are others.
func withoutTitle(headings []string) []string {
	if len(headings) > 1 {
		headings = headings[1:]
	}
	return headings[max(0, len(headings)-2):]
}

// tellingSentence returns the sentence of the records that holds most words of a question, the
// first of equals.
func tellingSentence(records []store.Record, holds func(string) int) (best string) {
	held := -1
	for _, r := range records {
		for _, sentence := range sentencesOf(r.Text) {
			n := 0
			if holds != nil {
				n = holds(sentence)
			}
			if n > held {
				best, held = sentence, n
			}
		}
	}
	return best
}

// shortened returns one line of at most max bytes, cut between words.
func shortened(text string, max int) string {
	return excerpt.Words(strings.Join(strings.Fields(text), " "), max)
}

// markup matches Markdown that a line of a list does without.
var markup = lazy.Regexp("(?m)^\\s*(#{1,6}\\s.*|[-*_=|:+ ]{3,}|```.*)$|^\\s*(?:[-*+>]|\\d{1,3}[.)])\\s+|\\*\\*|__|`")

// sentencesOf returns the sentences and items of a text without markup.
func sentencesOf(text string) (all []string) {
	for line := range strings.SplitSeq(markup().ReplaceAllString(text, ""), "\n") {
		if row := strings.Trim(strings.TrimSpace(line), "|"); strings.HasPrefix(strings.TrimSpace(line), "|") {
			line = strings.Join(strings.FieldsFunc(row, func(r rune) bool { return r == '|' }), ":")
		}
		for from, to := range chunker.Sentences(line) {
			if sentence := line[from:to]; len(sentence) >= minSentence {
				all = append(all, sentence)
			}
		}
	}
	return all
}

// minSentence is in bytes: less says nothing by itself.
const minSentence = 16
