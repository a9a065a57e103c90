package use

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/beneath"
	"github.com/memcore/memcore/internal/jsonfile"
)

// A Log is a file of JSON lines: turns, and judgements of turns before. When it is full it becomes
// the earlier half, in a file beside it, and that one goes. It is safe for concurrent use, also by
// several processes. Lines that are damaged are skipped.
type Log struct {
	file string
	full int64
}

// fullLog is the size at which a log begins anew.
const fullLog = 512 << 10

// NewLog returns the log in a file, which need not exist.
func NewLog(file string) Log { return Log{file: file, full: fullLog} }

func (l Log) earlier() string {
	ext := filepath.Ext(l.file)
	return strings.TrimSuffix(l.file, ext) + ".earlier" + ext
}

// A judgement is what became of the hits of a turn.
type judgement struct {
	Of   string    `json:"of"` // the turn's ID
	At   time.Time `json:"at"`
	Hits []Hit     `json:"hits"` // of each ID, Used and Why
}

// Note adds a turn.
func (l Log) Note(ctx context.Context, t Turn) error {
	if err := l.append(ctx, t); err != nil {
		return fmt.Errorf("note what was given: %w", err)
	}
	return nil
}

// Judge notes what became of hits of a turn. What was used once stays so.
func (l Log) Judge(ctx context.Context, turn string, hits []Hit) error {
	j := judgement{Of: turn, At: time.Now().UTC().Truncate(time.Second)}
	for _, hit := range hits {
		j.Hits = append(j.Hits, Hit{ID: hit.ID, Used: hit.Used, Why: hit.Why})
	}
	if err := l.append(ctx, j); err != nil {
		return fmt.Errorf("note what was used: %w", err)
	}
	return nil
}

func (l Log) append(ctx context.Context, record any) error {
	line, err := json.Marshal(record)
	if err != nil {
		return err
	}
	unlock, err := jsonfile.Lock(ctx, l.file)
	if err != nil {
		return err
	}
	defer unlock()
	if info, err := os.Stat(l.file); err == nil && info.Size() >= l.full {
		if err := os.Rename(l.file, l.earlier()); err != nil {
			return err
		}
	}
	file, err := os.OpenFile(l.file, os.O_RDWR|os.O_CREATE|os.O_APPEND|beneath.Nonblock, 0o600)
	if err != nil {
		return err
	}
	// A process that was ended while it wrote has left a line without an end.
	var last [1]byte
	if info, err := file.Stat(); err == nil && info.Size() > 0 {
		if _, err := file.ReadAt(last[:], info.Size()-1); err == nil && last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}

// Turns returns the turns since a time, in their order, each hit with its verdict.
func (l Log) Turns(_ context.Context, since time.Time) ([]Turn, error) {
	var all records
	for _, file := range []string{l.earlier(), l.file} {
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("what was given: %w", err)
		}
		all.read(data)
	}
	turns := slices.DeleteFunc(all.turns, func(t Turn) bool { return t.At.Before(since) })
	slices.SortStableFunc(turns, func(a, b Turn) int { return a.At.Compare(b.At) })
	return turns, nil
}

// Turn returns the turn with an ID; ok is false if there is none.
func (l Log) Turn(ctx context.Context, id string) (t Turn, ok bool, err error) {
	turns, err := l.Turns(ctx, time.Time{})
	if i := slices.IndexFunc(turns, func(t Turn) bool { return t.ID == id }); i >= 0 {
		return turns[i], true, err
	}
	return Turn{}, false, err
}

// records are those of a log as they are read.
type records struct {
	turns []Turn
	at    map[string]int // a turn's place in turns, by ID
}

// read takes the lines of a file, and passes over those that are no records.
func (r *records) read(data []byte) {
	if r.at == nil {
		r.at = map[string]int{}
	}
	for line := range bytes.Lines(data) {
		var record struct {
			Turn
			Of string `json:"of"`
		}
		if json.Unmarshal(line, &record) != nil {
			continue
		}
		t := record.Turn
		if at, known := r.at[record.Of]; known && record.Of != "" {
			r.turns[at].judged(t.Hits)
		} else if _, known := r.at[t.ID]; t.ID != "" && !known && record.Of == "" {
			r.at[t.ID] = len(r.turns)
			for i := range t.Hits {
				t.Hits[i].Used, t.Hits[i].Why = Unknown, ""
			}
			r.turns = append(r.turns, t)
		}
	}
}

// judged takes over verdicts.
func (t *Turn) judged(hits []Hit) {
	for _, said := range hits {
		i := slices.IndexFunc(t.Hits, func(h Hit) bool { return h.ID == said.ID })
		if i >= 0 && t.Hits[i].Used != Yes && slices.Contains([]Verdict{Yes, No, Unknown}, said.Used) {
			t.Hits[i].Used, t.Hits[i].Why = said.Used, said.Why
		}
	}
}

// Forget removes the turns that were given something of a document ("" is none), and those whose
// prompt, or what shows a use, says one of the texts. It returns how many went.
func (l Log) Forget(ctx context.Context, path string, texts ...string) (gone int, err error) {
	if _, err := os.Stat(filepath.Dir(l.file)); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	unlock, err := jsonfile.Lock(ctx, l.file)
	if err != nil {
		return 0, fmt.Errorf("forget what was given: %w", err)
	}
	defer unlock()
	turns, err := l.Turns(ctx, time.Time{})
	if err != nil {
		return 0, err
	}
	forgotten := map[string]bool{}
	for _, t := range turns {
		if t.tells(path, texts) {
			forgotten[t.ID] = true
		}
	}
	for _, file := range []string{l.earlier(), l.file} {
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("forget what was given: %w", err)
		}
		if err := rewrite(file, data, forgotten); err != nil {
			return 0, fmt.Errorf("forget what was given: %w", err)
		}
	}
	return len(forgotten), nil
}

// rewrite writes a file without the records of turns, and without damaged lines, of which nobody
// knows what they say.
func rewrite(file string, data []byte, forgotten map[string]bool) error {
	var kept bytes.Buffer
	for line := range bytes.Lines(data) {
		var record struct {
			Turn string `json:"turn"`
			Of   string `json:"of"`
		}
		if json.Unmarshal(line, &record) != nil || forgotten[record.Turn] || forgotten[record.Of] {
			continue
		}
		kept.Write(bytes.TrimRight(line, "\r\n"))
		kept.WriteByte('\n')
	}
	if bytes.Equal(kept.Bytes(), data) {
		return nil
	}
	return jsonfile.Write(file, kept.Bytes())
}

// tells reports whether a turn says something of a document, or one of the texts.
func (t Turn) tells(path string, texts []string) bool {
	says := func(where string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(plain(where), plain(text)) })
	}
	return says(t.Prompt) || slices.ContainsFunc(t.Hits, func(h Hit) bool {
		return path != "" && h.Path == path || says(h.Why)
	})
}

func plain(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }
