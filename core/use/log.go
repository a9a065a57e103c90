package use

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
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/jsonfile"
)

// A Log is a file of JSON lines: turns, and verdicts. A full log replaces "….earlier.jsonl". It is
// safe for concurrent use, also by processes.
type Log struct {
	file string
	full int64 // bytes
}

const fullLog = 512 << 10

// NewLog accepts a missing file.
func NewLog(file string) Log { return Log{file: file, full: fullLog} }

func (l Log) earlier() string {
	ext := filepath.Ext(l.file)
	return strings.TrimSuffix(l.file, ext) + ".earlier" + ext
}

// A record is a turn, or verdicts on turn Of.
type record struct {
	Turn
	Of string `json:"of,omitempty"`
}

// Note adds a turn.
func (l Log) Note(ctx context.Context, t Turn) error {
	if err := l.append(ctx, t); err != nil {
		return fmt.Errorf("note what was given: %w", err)
	}
	return nil
}

// Judge adds verdicts. A used hit stays used.
func (l Log) Judge(ctx context.Context, turn string, hits []Hit) error {
	verdicts := struct {
		Of   string    `json:"of"`
		At   time.Time `json:"at"`
		Hits []Hit     `json:"hits"`
	}{Of: turn, At: time.Now().UTC().Truncate(time.Second)}
	for _, hit := range hits {
		verdicts.Hits = append(verdicts.Hits, Hit{ID: hit.ID, Used: hit.Used, Why: hit.Why})
	}
	if err := l.append(ctx, verdicts); err != nil {
		return fmt.Errorf("note what was used: %w", err)
	}
	return nil
}

func (l Log) append(ctx context.Context, line any) error {
	data, err := json.Marshal(line)
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
	return jsonfile.AppendLine(l.file, data)
}

func read(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("what was given: %w", err)
	}
	return data, nil
}

// Turns returns the turns since a time, in order, with verdicts.
func (l Log) Turns(_ context.Context, since time.Time) ([]Turn, error) {
	var turns []Turn
	places := map[string]int{} // in turns, by ID
	for _, file := range []string{l.earlier(), l.file} {
		data, err := read(file)
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(data) {
			var r record
			if json.Unmarshal(line, &r) != nil {
				continue
			}
			at, judged := places[r.Of]
			_, known := places[r.ID]
			switch {
			case judged:
				turns[at].setVerdicts(r.Hits)
			case r.Of == "" && r.ID != "" && !known:
				for i := range r.Hits {
					r.Hits[i].Used, r.Hits[i].Why = Unknown, ""
				}
				places[r.ID] = len(turns)
				turns = append(turns, r.Turn)
			}
		}
	}
	turns = slices.DeleteFunc(turns, func(t Turn) bool { return t.At.Before(since) })
	slices.SortStableFunc(turns, func(a, b Turn) int { return a.At.Compare(b.At) })
	return turns, nil
}

func (t *Turn) setVerdicts(verdicts []Hit) {
	for _, v := range verdicts {
		i := slices.IndexFunc(t.Hits, func(h Hit) bool { return h.ID == v.ID })
		if i >= 0 && t.Hits[i].Used != Yes && slices.Contains([]Verdict{Yes, No, Unknown}, v.Used) {
			t.Hits[i].Used, t.Hits[i].Why = v.Used, v.Why
		}
	}
}

// Turn returns the turn with an ID, if there is one.
func (l Log) Turn(ctx context.Context, id string) (t Turn, ok bool, err error) {
	turns, err := l.Turns(ctx, time.Time{})
	if i := slices.IndexFunc(turns, func(t Turn) bool { return t.ID == id }); i >= 0 {
		return turns[i], true, err
	}
	return Turn{}, false, err
}

// silenceForgotten is the silence of turns whose hits are all forgotten.
const silenceForgotten = "what it got is forgotten"

// Forget removes hits in a place and verdicts with one of the texts, and turns whose prompt has
// one. It returns how many turns it changed.
func (l Log) Forget(ctx context.Context, p Place, texts ...string) (changed int, err error) {
	return l.edit(ctx, func(t Turn) (Turn, bool) {
		hits := slices.DeleteFunc(slices.Clone(t.Hits), func(h Hit) bool {
			first, last := h.cited()
			return p.Has(h.Path, first, last) || Says(h.Why, texts)
		})
		if len(hits) == 0 && len(t.Hits) > 0 {
			t.Silence = silenceForgotten
		}
		t.Hits = hits
		return t, !Says(t.Prompt, texts)
	})
}

// ForgetTurns removes the turns for which gone is true, and returns how many.
func (l Log) ForgetTurns(ctx context.Context, gone func(Turn) bool) (removed int, err error) {
	return l.edit(ctx, func(t Turn) (Turn, bool) { return t, !gone(t) })
}

// edit keeps of each turn what change returns, and returns how many are not as before.
func (l Log) edit(ctx context.Context, change func(Turn) (now Turn, keep bool)) (changed int, err error) {
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
	edited := map[string]*Turn{} // nil is gone
	for _, t := range turns {
		if now, keep := change(t); !keep {
			edited[t.ID] = nil
		} else if len(now.Hits) < len(t.Hits) {
			edited[t.ID] = &now
		}
	}
	for _, file := range []string{l.earlier(), l.file} {
		data, err := read(file)
		if err != nil {
			return 0, err
		}
		var kept []byte
		for line := range bytes.Lines(data) {
			kept = append(kept, editLine(line, edited)...)
		}
		if !bytes.Equal(kept, data) {
			if err := jsonfile.Write(file, kept); err != nil {
				return 0, fmt.Errorf("forget what was given: %w", err)
			}
		}
	}
	return len(edited), nil
}

// editLine returns what stays of a line. A damaged one may be of an edited turn.
func editLine(line []byte, edited map[string]*Turn) []byte {
	var r record
	if json.Unmarshal(line, &r) != nil {
		return nil
	}
	now, changed := edited[cmp.Or(r.Of, r.ID)]
	switch {
	case changed && now == nil:
		return nil
	case changed:
		r.Hits = slices.DeleteFunc(r.Hits, func(h Hit) bool {
			return !slices.ContainsFunc(now.Hits, func(kept Hit) bool { return kept.ID == h.ID })
		})
		if r.Of == "" {
			r.Silence = now.Silence
		}
		line, _ = json.Marshal(r) // never fails
	}
	return append(bytes.TrimRight(line, "\r\n"), '\n')
}

// Says reports whether a text has one of others, whatever their white space and case.
func Says(text string, others []string) bool {
	plain := func(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }
	text = plain(text)
	return slices.ContainsFunc(others, func(other string) bool { return strings.Contains(text, plain(other)) })
}
