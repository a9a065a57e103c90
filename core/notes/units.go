package notes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"github.com/memcore/memcore/store/keyword"
)

// A unit is what is found as a whole: a message, or a block of a note.
type unit struct {
	session *Session
	source  string
	path    string // as shown
	file    string
	line    int // of its first line, from 1
	text    string
	extra   []string // keywords of the note, its title and the heading above
	speaker string   // of a message
	before  string   // the message before it
	newer   int64    // larger is newer
	words   map[string]int
	length  int
	meaning atomic.Pointer[[][]float32] // vectors of its pieces; nil while it has none

	clean    sync.Once // redacted was looked for
	redacted *string   // the text without secrets; nil if it has none
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

// units returns what the session's files hold now, and the terms of a query as they spell them.
func (s *Session) units(ctx context.Context, scope, query string) ([]*unit, []keyword.Asked, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*unit
	if scope != SourceMessages {
		files, err := s.details()
		if err != nil {
			return nil, nil, fmt.Errorf("session %s: %w", s.ID, err)
		}
		for _, file := range files {
			units, err := s.note(file)
			if err != nil {
				return nil, nil, fmt.Errorf("session %s: %w", s.ID, err)
			}
			all = append(all, units...)
		}
	}
	if scope != SourceDetail {
		units, err := s.messages(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("session %s: %w", s.ID, err)
		}
		all = append(all, units...)
	}
	return all, s.terms.Asked(query), ctx.Err()
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
		u := &unit{session: s, source: SourceDetail, path: filepath.ToSlash(rel), file: file, line: b.Start + 1, text: text, extra: append(slices.Clip(keywords), slices.Compact(extra)...), newer: info.ModTime().UnixNano()}
		u.count(s.terms)
		now.units = append(now.units, u)
	}
	title, bare := "", (*chunker.Block)(nil) // a heading with nothing under it so far
	for b := range chunker.Blocks(text) {
		block := strings.Join(lines[b.Start:b.End], "\n")
		switch {
		case metaBlock().MatchString(block):
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
	metaBlock = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)^\s*<!--\s*META:.*-->\s*$`)
	})
	keywordsLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)<!--\s*META:.*?(?m:^)\s*(?:-\s*)?keywords:\s*(\[[^\]]*\]|[^\n]*).*?-->`)
	})
)

// KeywordsOf returns the keywords that a note's META comment has, in either spelling: "- keywords: […]" or "keywords: […]".
func KeywordsOf(text string) []string {
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
		role, text := messageText(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))) // an editor's mark
		if strings.TrimSpace(text) == "" {
			continue // torn, or without words
		}
		u := &unit{session: s, source: SourceMessages, path: filepath.Base(file), file: file, line: now.lines, text: text, speaker: role, newer: info.ModTime().UnixNano()}
		if n := len(now.units); n > 0 {
			u.before = now.units[n-1].text
		}
		u.count(s.terms)
		now.units = append(now.units, u)
	}
	s.seen[file] = now
	return now.units, nil
}

// messageText is who says what in a line of a log: the texts of its content, whatever the format's details.
func messageText(line []byte) (role, text string) {
	var message struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Text    string          `json:"text"`
		Message struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(line, &message) != nil {
		return "", ""
	}
	role = cmp.Or(message.Role, message.Message.Role)
	for _, raw := range []json.RawMessage{message.Content, message.Message.Content} {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return role, text
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
				return role, strings.Join(all, "\n")
			}
		}
	}
	return role, message.Text
}

func (u *unit) count(terms *keyword.Terms) {
	u.words = map[string]int{}
	all := terms.Of(u.text)
	u.length = len(all)
	for _, extra := range u.extra {
		all = append(all, terms.Of(extra)...)
	}
	for _, term := range all {
		u.words[term]++
	}
}
