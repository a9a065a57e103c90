package notes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/sanitize"
)

// Sources of working memory.
const (
	SourceDetail   = "detail"
	SourceMessages = "messages"
)

// A RecallRequest is what recall_memory is given.
type RecallRequest struct {
	Query string `json:"query" jsonschema:"Search query"`
	Scope string `json:"scope,omitempty" jsonschema:"Which sources to search: all (default), detail or messages"`
	Limit int    `json:"limit,omitempty" jsonschema:"Maximum results; default 5"`
}

// A Recalled is one piece of working memory that was found.
type Recalled struct {
	Session  string  `json:"session"`
	Source   string  `json:"source"` // detail or messages
	Path     string  `json:"path"`   // in the working memory: detail/auth-design.md, messages.jsonl
	File     string  `json:"file"`   // absolute
	Line     int     `json:"line"`
	Text     string  `json:"text"` // about the match, at most 300 characters
	Citation string  `json:"citation"`
	Score    float64 `json:"score"` // BM25; of one recall only
}

const (
	defaultRecall = 5
	mostRecall    = 100
	snippetLength = 300
)

// ErrScope means that a scope of a recall has no such name.
var ErrScope = errors.New("scope is none of all, detail, messages")

// Recall finds what sessions have written and said, by words, best first. It looks into the files as they are: a line that was written before the call is
// found. A Session that is kept reads only what is new. Citations of other sessions than the first begin with their ID.
func Recall(ctx context.Context, sessions []*Session, r RecallRequest) ([]Recalled, error) {
	if r.Scope != "" && r.Scope != "all" && r.Scope != SourceDetail && r.Scope != SourceMessages {
		return nil, fmt.Errorf("%w: %q", ErrScope, r.Scope)
	}
	limit := min(cmp.Or(max(r.Limit, 0), defaultRecall), mostRecall)
	var all []*unit
	for _, s := range sessions {
		units, err := s.units(ctx, r.Scope)
		if err != nil {
			return nil, err
		}
		all = append(all, units...)
	}
	found := []Recalled{}
	for _, m := range rankUnits(all, r.Query) {
		if len(found) == limit {
			break
		}
		hit := m.recalled(r.Query)
		if m.session != sessions[0] {
			hit.Citation = m.session.ID + "/" + hit.Citation
		}
		found = append(found, hit)
	}
	return found, ctx.Err()
}

// A unit is what is found as a whole: a message, or a block of a note.
type unit struct {
	session *Session
	source  string
	path    string // as shown
	file    string
	line    int // of its first line, from 1
	text    string
	words   map[string]int
	length  int
	extra   []string // keywords of the note, its title and the heading above
	order   int      // later is newer
}

// scanned is a file as it was read.
type scanned struct {
	size    int64
	modTime time.Time
	info    fs.FileInfo
	offset  int64 // of a log: up to where whole lines were read
	lines   int
	units   []*unit
}

// units returns what the session's files hold now.
func (s *Session) units(ctx context.Context, scope string) ([]*unit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*unit
	if scope != SourceMessages {
		files, err := s.details()
		if err != nil {
			return nil, fmt.Errorf("session %s: %w", s.ID, err)
		}
		for _, file := range files {
			units, err := s.note(file)
			if err != nil {
				return nil, fmt.Errorf("session %s: %w", s.ID, err)
			}
			all = append(all, units...)
		}
	}
	if scope != SourceDetail {
		units, err := s.messages(ctx)
		if err != nil {
			return nil, fmt.Errorf("session %s: %w", s.ID, err)
		}
		all = append(all, units...)
	}
	return all, ctx.Err()
}

// messages returns what all logs hold. The newest is read first: if it is put aside meanwhile, it is found once more, and known by that.
func (s *Session) messages(ctx context.Context) ([]*unit, error) {
	current := filepath.Join(s.Dir, messagesName)
	all, err := s.log(ctx, current)
	if err != nil {
		return nil, err
	}
	var info fs.FileInfo
	if known := s.seen[current]; known != nil {
		info = known.info
	}
	aside, err := s.aside()
	if err != nil {
		return nil, err
	}
	for _, file := range aside {
		if now, err := os.Stat(file); err != nil || info != nil && os.SameFile(now, info) {
			continue
		}
		units, err := s.log(ctx, file)
		if err != nil {
			return nil, err
		}
		all = append(slices.Clip(all), units...)
	}
	return all, nil
}

// note returns the blocks of a note.
func (s *Session) note(file string) ([]*unit, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	known := s.seen[file]
	if known != nil && known.size == info.Size() && known.modTime.Equal(info.ModTime()) && time.Since(info.ModTime()) > time.Second {
		return known.units, nil
	}
	data, _, err := readFrom(file, nil, 0)
	if err != nil || len(data) > maxFile {
		return nil, err
	}
	rel, err := filepath.Rel(filepath.Join(s.Dir, workingName), file)
	if err != nil {
		return nil, err
	}
	text := strings.ToValidUTF8(strings.ReplaceAll(string(data), "\r\n", "\n"), "\uFFFD")
	lines := strings.Split(text, "\n")
	keywords, heading := KeywordsOf(text), ""
	now := &scanned{size: info.Size(), modTime: info.ModTime()}
	add := func(b chunker.Block, text string, extra ...string) {
		u := &unit{session: s, source: SourceDetail, path: filepath.ToSlash(rel), file: file, line: b.Start + 1, text: text, extra: append(slices.Clip(keywords), extra...), order: int(info.ModTime().Unix())}
		u.count()
		now.units = append(now.units, u)
	}
	title, bare := "", (*chunker.Block)(nil) // a heading with nothing under it so far
	for b := range chunker.Blocks(text) {
		block := strings.Join(lines[b.Start:b.End], "\n")
		switch {
		case metaBlock.MatchString(block):
		case b.Level > 0: // it is found with what stands under it, or else by itself
			if bare != nil && bare.Title != title {
				add(*bare, bare.Title, title)
			}
			if title == "" && b.Level == 1 {
				title = b.Title
			}
			bare = &b
		case bare != nil:
			add(b, block, title, bare.Title)
			bare = nil
		default:
			add(b, block, title, heading)
		}
		if b.Level > 0 {
			heading = b.Title
		}
	}
	if bare != nil {
		add(*bare, bare.Title, title)
	}
	s.seen[file] = now
	return now.units, nil
}

// metaBlock is the comment of a note that says when it was made and what it is about.
var (
	metaBlock    = regexp.MustCompile(`(?s)^\s*<!--\s*META:.*-->\s*$`)
	keywordsLine = regexp.MustCompile(`(?s)<!--\s*META:.*?(?m:^)\s*(?:-\s*)?keywords:\s*(\[[^\]]*\]|[^\n]*).*?-->`)
)

// KeywordsOf returns the keywords that a note's META comment has, in either spelling: "- keywords: […]" or "keywords: […]".
func KeywordsOf(text string) []string {
	m := keywordsLine.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	var list []string
	if json.Unmarshal([]byte(m[1]), &list) == nil {
		return list
	}
	for item := range strings.SplitSeq(strings.Trim(m[1], "[] "), ",") {
		if item = strings.Trim(strings.TrimSpace(item), `"'`); item != "" {
			list = append(list, item)
		}
	}
	return list
}

// log returns the messages of a log, reading only what is new.
func (s *Session) log(ctx context.Context, file string) ([]*unit, error) {
	known := s.seen[file]
	if known == nil {
		known = &scanned{}
	}
	data, info, err := readFrom(file, known.info, known.offset)
	if errors.Is(err, fs.ErrNotExist) {
		delete(s.seen, file) // what it was is put aside
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if known.info != nil && (!os.SameFile(known.info, info) || info.Size() < known.offset) {
		known = &scanned{} // another file has its name now
	}
	now := &scanned{info: info, offset: known.offset, lines: known.lines, units: slices.Clip(known.units)}
	for len(data) > 0 && ctx.Err() == nil {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if !whole {
			break // it is being written
		}
		data = rest
		now.lines++
		now.offset += int64(len(line)) + 1
		text := messageText(line)
		if strings.TrimSpace(text) == "" {
			continue // torn, or without words
		}
		u := &unit{session: s, source: SourceMessages, path: filepath.Base(file), file: file, line: now.lines, text: text, order: int(info.ModTime().Unix())}
		u.count()
		now.units = append(now.units, u)
	}
	s.seen[file] = now
	return now.units, nil
}

// messageText is what a line of a log says: the texts of its content, whatever the format's details.
func messageText(line []byte) string {
	var message struct {
		Content json.RawMessage `json:"content"`
		Text    string          `json:"text"`
		Message struct {
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(line, &message) != nil {
		return ""
	}
	for _, raw := range []json.RawMessage{message.Content, message.Message.Content} {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return text
		}
		var parts []struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(raw, &parts) == nil {
			var all []string
			for _, p := range parts {
				if p.Text != "" {
					all = append(all, p.Text)
				}
			}
			if len(all) > 0 {
				return strings.Join(all, "\n")
			}
		}
	}
	return message.Text
}

func (u *unit) count() {
	u.words = map[string]int{}
	for _, w := range terms(u.text) {
		u.words[w]++
		u.length++
	}
	for _, extra := range u.extra {
		for _, w := range terms(extra) {
			u.words[w]++
		}
	}
}

// terms are the words of a text as they are compared: in lower case, without English inflection; of scripts without blanks, pairs of letters.
func terms(text string) []string {
	var all []string
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) && r != '_'
	}) {
		if !strings.ContainsFunc(word, isWide) {
			all = append(all, stem(word))
			continue
		}
		runes := []rune(word)
		for i := range runes {
			if i+1 < len(runes) {
				all = append(all, string(runes[i:i+2]))
			} else if len(runes) == 1 {
				all = append(all, word)
			}
		}
	}
	return all
}

func isWide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// stem takes the commonest endings off, so that "tests", "tested" and "testing" are one.
func stem(word string) string {
	for _, ending := range []string{"ing", "ed", "es", "s"} {
		if base, ok := strings.CutSuffix(word, ending); ok && len(base) >= 3 && !strings.HasSuffix(word, "ss") {
			return strings.TrimSuffix(base, "e")
		}
	}
	if len(word) > 4 {
		return strings.TrimSuffix(word, "e")
	}
	return word
}

// A match is a unit that was found.
type match struct {
	*unit
	score float64
}

// Constants of BM25 (Robertson and Zaragoza 2009), and what a whole query in the text is worth.
const (
	saturation   = 1.2
	lengthWeight = 0.75
	phraseBonus  = 1.5
)

// rankUnits returns the units that have a word of the query, best first, of equal ones the newer.
func rankUnits(units []*unit, query string) []match {
	wanted := terms(query)
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	having, total := map[string]int{}, 0
	for _, u := range units {
		total += u.length
		for _, w := range wanted {
			if u.words[w] > 0 {
				having[w]++
			}
		}
	}
	if len(units) == 0 || len(wanted) == 0 {
		return nil
	}
	average := max(float64(total)/float64(len(units)), 1)
	phrase := strings.ToLower(strings.TrimSpace(query))
	var found []match
	for _, u := range units {
		score := 0.0
		for _, w := range wanted {
			if tf := float64(u.words[w]); tf > 0 {
				idf := math.Log(1 + (float64(len(units)-having[w])+0.5)/(float64(having[w])+0.5))
				score += idf * tf * (saturation + 1) / (tf + saturation*(1-lengthWeight+lengthWeight*float64(u.length)/average))
			}
		}
		if score == 0 {
			continue
		}
		if len(wanted) > 1 && strings.Contains(strings.ToLower(u.text), phrase) {
			score *= phraseBonus
		}
		found = append(found, match{u, score})
	}
	slices.SortStableFunc(found, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.order, a.order), cmp.Compare(b.line, a.line))
	})
	return found
}

func (m match) recalled(query string) Recalled {
	index, at := m.bestLine(query)
	line := m.line
	if m.source == SourceDetail {
		line += index
	}
	return Recalled{Session: m.session.ID, Source: m.source, Path: m.path, File: m.file, Line: line, Text: snippet(m.text, at), Citation: fmt.Sprintf("%s#L%d", m.path, line), Score: m.score}
}

// bestLine is the line of the text that has most words of the query, from 0, and where in the text it or the first of those words stands.
func (m match) bestLine(query string) (index, at int) {
	wanted := map[string]bool{}
	for _, w := range terms(query) {
		wanted[w] = true
	}
	most, offset := 0, 0
	for i, line := range strings.SplitAfter(m.text, "\n") {
		having := map[string]bool{}
		for _, w := range terms(line) {
			if wanted[w] {
				having[w] = true
			}
		}
		if len(having) > most {
			most, index, at = len(having), i, offset+firstOf(line, having)
		}
		offset += len(line)
	}
	return index, at
}

// firstOf is about where in a line the first of some terms stands.
func firstOf(line string, having map[string]bool) int {
	first := len(line)
	for w := range having {
		if at := strings.Index(strings.ToLower(line), w); at >= 0 && at < first {
			first = at
		}
	}
	if first >= len(line) {
		return 0
	}
	for first > 0 && !utf8.RuneStart(line[first]) {
		first--
	}
	return first
}

// snippet is a text on one line around a place, made safe to be shown to a model.
func snippet(text string, at int) string {
	runesBefore := utf8.RuneCountInString(text[:at])
	runes := []rune(text)
	if len(runes) > snippetLength {
		start := max(0, min(runesBefore-snippetLength/2, len(runes)-snippetLength))
		cut := runes[start:min(len(runes), start+snippetLength)]
		if start > 0 {
			cut[0] = '…'
		}
		if start+snippetLength < len(runes) {
			cut[len(cut)-1] = '…'
		}
		runes = cut
	}
	safe, _ := sanitize.Text(string(runes))
	return strings.Join(strings.Fields(safe), " ")
}

// RecallAnswer is what recall_memory says to the model.
func RecallAnswer(query string, found []Recalled) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Found %d result(s) for: %q\n", len(found), query)
	for i, r := range found {
		fmt.Fprintf(&b, "\n[%d] Source: %s\n", i+1, r.Source)
		if r.Source == SourceDetail {
			fmt.Fprintf(&b, "    File: %s:%d\n", r.Path, r.Line)
		} else {
			fmt.Fprintf(&b, "    Line: %d\n", r.Line)
		}
		fmt.Fprintf(&b, "    Content: %s\n    Citation: %s\n", r.Text, r.Citation)
	}
	return b.String()
}
