package session

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/store/keyword"
)

// A unit is a message, or a note's block.
type unit struct {
	session  *Session
	source   string
	path     string // as shown
	file     string
	line     int   // its first, from 1
	modified int64 // time of the file
	text     string
	folded   string         // text, or of a note whole, for a literal
	words    map[string]int // how often it has each term
	length   int            // in terms

	// Of a note: whole has lines above that no unit has, such as headings.
	whole string
	above int      // number of those lines
	extra []string // keywords, the note's title and the heading above

	// Of a message.
	speaker string
	at      time.Time
	before  string // the message before it

	vectors  atomic.Pointer[[][]float32] // of its pieces; nil until they are known
	redact   sync.Once
	redacted string // text without secrets, once redact was done
}

func (u *unit) citation(line int) string { return paths.Citation(u.path, line, line) }

// full includes the lines above.
func (u *unit) full() string { return cmp.Or(u.whole, u.text) }

// prepare fills in what recall compares with.
func (u *unit) prepare(terms *keyword.Terms) {
	u.folded = fold(u.full())
	all := terms.Of(u.text)
	u.length = len(all)
	for _, extra := range u.extra {
		all = append(all, terms.Of(extra)...)
	}
	u.words = map[string]int{}
	for _, term := range all {
		u.words[term]++
	}
}

type parsedFile struct {
	info   fs.FileInfo
	offset int64 // of a log: the bytes and lines that were read
	lines  int
	units  []*unit
}

// units also returns the query's terms as files spell them.
func (s *Session) units(ctx context.Context, scope, query string) ([]*unit, []keyword.Asked, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*unit
	for _, source := range []struct {
		name string
		read func() ([]*unit, error)
	}{{SourceDetail, s.notes}, {SourceMessages, s.messages}} {
		if scope == SourceDetail && source.name == SourceMessages || scope == SourceMessages && source.name == SourceDetail {
			continue
		}
		units, err := source.read()
		if err != nil {
			return nil, nil, fmt.Errorf("session %s: %w", s.ID, err)
		}
		all = append(all, units...)
	}
	return all, s.terms.Asked(query), ctx.Err()
}

// messages reads the current log before it lists the others, to miss none that is rotated
// meanwhile.
func (s *Session) messages() ([]*unit, error) {
	current := filepath.Join(s.Dir, messagesName)
	units, err := s.log(current)
	if err != nil {
		return nil, err
	}
	rotated, err := s.rotatedLogs()
	if err != nil {
		return nil, err
	}
	all := slices.Clip(units)
	for _, file := range rotated {
		info, err := os.Stat(file)
		if err != nil || s.known[current] != nil && os.SameFile(info, s.known[current].info) {
			continue
		}
		units, err := s.log(file)
		if err != nil {
			return nil, err
		}
		all = append(all, units...)
	}
	return all, nil
}

// log reads only new lines.
func (s *Session) log(path string) ([]*unit, error) {
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		delete(s.known, path)
		return nil, nil
	}
	file, info, err := safefile.OpenPath(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	log := &parsedFile{info: info}
	if known := s.known[path]; known != nil && os.SameFile(known.info, info) && info.Size() >= known.offset {
		log.offset, log.lines, log.units = known.offset, known.lines, slices.Clip(known.units)
	}
	data, err := io.ReadAll(io.NewSectionReader(file, log.offset, info.Size()-log.offset))
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(data) {
		if line[len(line)-1] != '\n' {
			break // it is being written
		}
		log.lines++
		log.offset += int64(len(line))
		var m Message
		if json.Unmarshal(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")), &m) != nil || strings.TrimSpace(m.Content) == "" {
			continue
		}
		u := &unit{session: s, source: SourceMessages, path: filepath.Base(path), file: path, line: log.lines, text: m.Content, speaker: m.Role, at: m.Time, modified: info.ModTime().UnixNano()}
		if n := len(log.units); n > 0 {
			u.before = log.units[n-1].text
		}
		u.prepare(s.terms)
		log.units = append(log.units, u)
	}
	s.known[path] = log
	return log.units, nil
}

func (s *Session) notes() ([]*unit, error) {
	var all []*unit
	root := filepath.Join(s.Dir, workingName, detailName)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == root {
			return filepath.SkipAll
		}
		if err != nil || !entry.Type().IsRegular() || !strings.EqualFold(filepath.Ext(path), ".md") {
			return err
		}
		units, err := s.note(path)
		all = append(all, units...)
		return err
	})
	return all, err
}

// note reads only a changed file.
func (s *Session) note(file string) ([]*unit, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if known := s.known[file]; known != nil && known.info.Size() == info.Size() && known.info.ModTime().Equal(info.ModTime()) && time.Since(info.ModTime()) > time.Second {
		return known.units, nil
	}
	data, _, err := safefile.ReadPath(file, maxFile)
	if errors.Is(err, safefile.ErrTooLarge) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	path, err := filepath.Rel(filepath.Join(s.Dir, workingName), file)
	if err != nil {
		return nil, err
	}
	units := blocksOf(strings.ToValidUTF8(strings.ReplaceAll(string(data), "\r\n", "\n"), "\uFFFD"))
	for _, u := range units {
		u.session, u.source, u.path, u.file, u.modified = s, SourceDetail, filepath.ToSlash(path), file, info.ModTime().UnixNano()
		u.prepare(s.terms)
	}
	s.known[file] = &parsedFile{info: info, units: units}
	return units, nil
}

// blocksOf joins a heading to the block under it.
func blocksOf(text string) []*unit {
	lines := strings.Split(text, "\n")
	keywords := slices.Clip(keywordsOf(text))
	var units []*unit
	from := 0 // the first line that belongs to no unit yet
	add := func(b chunker.Block, text string, extra ...string) {
		units = append(units, &unit{line: b.Start + 1, text: text, extra: append(keywords, slices.Compact(extra)...),
			whole: strings.Join(lines[from:b.End], "\n"), above: b.Start - from})
		from = b.End
	}
	title, heading := "", ""
	var bare *chunker.Block // a heading with nothing under it so far
	addBare := func() {
		if bare != nil && bare.Title != title {
			add(*bare, bare.Title, title)
		}
	}
	for b := range chunker.Blocks(text) {
		block := strings.Join(lines[b.Start:b.End], "\n")
		switch {
		case metaBlock().MatchString(block):
		case b.Level > 0:
			addBare()
			if title == "" && b.Level == 1 {
				title = b.Title
			}
			bare, heading = &b, b.Title
		default:
			add(b, block, title, heading)
			bare = nil
		}
	}
	if bare != nil {
		add(*bare, bare.Title, title)
	}
	if n := len(units); n > 0 && from < len(lines) {
		units[n-1].whole += "\n" + strings.Join(lines[from:], "\n")
	}
	return units
}

// A note's META comment holds its date and keywords.
var (
	metaBlock = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)^\s*<!--\s*META:.*-->\s*$`)
	})
	keywordsLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)<!--\s*META:.*?(?m:^)\s*(?:-\s*)?keywords:\s*(\[[^\]]*\]|[^\n]*).*?-->`)
	})
)

// keywordsOf reads a JSON list, or one with commas.
func keywordsOf(text string) []string {
	m := keywordsLine().FindStringSubmatch(text)
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
