// Package journal records what happens in a workspace: what each event of an agent's session got,
// why not more, and what the agent opened of it.
//
// The journal is one file, to which all processes append lines of JSON. What a session has already,
// explain, status and the pages are read from it.
package journal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/jsonfile"
)

const (
	// maxFile is the size at which a file of the journal is full, in bytes.
	maxFile = 2 << 20
	// oldFiles is how many full files are kept.
	oldFiles = 4
	// What is read for one session, in bytes from the end.
	minTail = 256 << 10
	maxTail = 4 << 20
)

// A Journal is safe for concurrent use, also by processes. The zero Journal keeps nothing.
type Journal struct {
	file string
	max  int64 // bytes of a file
}

// In returns the journal whose newest file has this name. It need not exist.
func In(file string) Journal { return Journal{file: file, max: maxFile} }

// Files returns the names of its files, the oldest first. Some may be missing.
func (j Journal) Files() (names []string) {
	for n := oldFiles; n >= 0; n-- {
		names = append(names, j.old(n))
	}
	return names
}

// old returns the name of the nth file before the newest.
func (j Journal) old(n int) string {
	if n == 0 {
		return j.file
	}
	ext := filepath.Ext(j.file)
	return fmt.Sprintf("%s.%d%s", strings.TrimSuffix(j.file, ext), n, ext)
}

// Append adds what is known of an event.
func (j Journal) Append(ctx context.Context, e Entry) error {
	return j.Begin(ctx, &e, nil)
}

// Begin adds an event. decide, if any, sees what its session has, and may change the event before
// it is added. Until then no other process adds anything.
func (j Journal) Begin(ctx context.Context, e *Entry, decide func(Session)) error {
	if j.file != "" {
		unlock, err := jsonfile.Lock(ctx, j.file)
		if err != nil {
			return wrap("write", err)
		}
		defer unlock()
	}
	dropped := e.At
	if decide != nil {
		s, err := j.Session(e.Head)
		if err != nil {
			return err
		}
		if !s.Begun && s.Prompts == 0 {
			dropped = s.Dropped
		}
		e.Resets = e.Resets || !s.known // the next event need not look further back
		decide(s)
	}
	if e.Resets {
		e.Dropped = dropped
	}
	return wrap("write", j.add(*e))
}

// add appends an entry's lines in one write. The caller has the lock.
func (j Journal) add(e Entry) error {
	if j.file == "" {
		return nil
	}
	lines, err := e.lines()
	if err != nil {
		return err
	}
	if info, err := os.Stat(j.file); err == nil && info.Size() >= j.max {
		j.makeRoom()
	}
	return jsonfile.AppendLine(j.file, bytes.TrimSuffix(lines, []byte("\n")))
}

// makeRoom moves full files on, over the oldest. Windows moves no file that another process reads
// just then: the next entry tries again.
func (j Journal) makeRoom() {
	for n := oldFiles; n > 0; n-- {
		if err := os.Rename(j.old(n-1), j.old(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
}

func wrap(do string, err error) error {
	if err != nil {
		return fmt.Errorf("%s the journal of the workspace: %w", do, err)
	}
	return nil
}

// Entries returns all entries, the oldest first, without those that another process answered
// instead. Result is not read.
func (j Journal) Entries() ([]Entry, error) {
	all, err := j.read(math.MaxInt64, func(line []byte) bool { return !bytes.HasPrefix(line, resultLine) })
	all = slices.DeleteFunc(all, func(e Entry) bool { return !e.isKnown() })
	slices.SortStableFunc(all, func(a, b Entry) int { return a.At.Compare(b.At) })
	return all, err
}

// Of returns the entries of a session or subagent in the last maxTail bytes, like Entries.
func (j Journal) Of(h Head) ([]Entry, error) { return j.of(h, maxTail) }

// Recent is Of, but may leave out what was before the agent last dropped its history, so that it
// reads little. A subagent, which begins without an event of its own, is looked for in less.
func (j Journal) Recent(h Head) (own []Entry, err error) {
	max := int64(maxTail)
	if h.Sub != "" {
		max = 4 * minTail
	}
	for size := int64(minTail); size <= max; size *= 4 {
		own, err = j.of(h, size)
		if err != nil || slices.ContainsFunc(own, func(e Entry) bool { return e.Resets }) {
			break
		}
	}
	return own, err
}

func (j Journal) of(h Head, size int64) (own []Entry, err error) {
	name, err := json.Marshal(h.Session)
	if err != nil {
		return nil, wrap("read", err)
	}
	name = append([]byte(`"session":`), name...)
	all, err := j.read(size, func(line []byte) bool {
		return !bytes.HasPrefix(line, resultLine) && bytes.Contains(line, name)
	})
	for _, e := range all {
		if e.Agent == h.Agent && e.Session == h.Session && e.Sub == h.Sub && e.isKnown() {
			own = append(own, e)
		}
	}
	return own, err
}

// Explain reads the results of entries.
func (j Journal) Explain(entries ...*Entry) error {
	places := map[string]*Entry{}
	for _, e := range entries {
		places[e.ID] = e
	}
	found, err := j.read(math.MaxInt64, func(line []byte) bool {
		id, _, _ := bytes.Cut(bytes.TrimPrefix(line, resultLine), []byte(`"`))
		return bytes.HasPrefix(line, resultLine) && places[string(id)] != nil
	})
	for _, f := range found {
		if e := places[f.ID]; e != nil {
			e.Result = f.Result
		}
	}
	return err
}

// Opened adds that the agent opened something, by its key or citation, to the last entry that gave
// it.
func (j Journal) Opened(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		return wrap("write", err)
	}
	all, err := j.read(maxTail, func(line []byte) bool { return bytes.Contains(line, quoted) })
	for _, e := range slices.Backward(all) {
		for _, g := range e.Shown() {
			if g.Key == name || g.Source == name {
				return j.Append(ctx, Entry{Head: e.Head, Opened: []string{g.Key}})
			}
		}
	}
	return err
}

// resultLine begins the lines with results. They are most of the journal.
var resultLine = []byte(`{"of":"`)

// read joins, by entry, the lines that are wanted in the last bytes of the journal, without entries
// that another process answered instead. Damaged lines are left out.
func (j Journal) read(size int64, wanted func(line []byte) bool) (all []Entry, err error) {
	var parts [][]byte // the newest first
	for n := 0; j.file != "" && n <= oldFiles && size > 0; n++ {
		data, err := tail(j.old(n), size)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, wrap("read", err)
		}
		parts, size = append(parts, data), size-int64(len(data))
	}
	places := map[string]int{} // in all, by ID
	for _, data := range slices.Backward(parts) {
		for text := range bytes.Lines(data) {
			var line Entry
			if !wanted(text) || json.Unmarshal(text, &line) != nil || line.ID == "" {
				continue
			}
			at, known := places[line.ID]
			if !known {
				at = len(all)
				places[line.ID] = at
				all = append(all, Entry{Head: line.Head})
			}
			all[at].take(line)
		}
	}
	answered := func(e Entry) bool { _, known := places[e.Instead]; return known }
	all = slices.DeleteFunc(all, answered)
	for i := range all {
		if all[i].Instead != "" { // no answer of either process reached the agent
			all[i].Undelivered = cmp.Or(all[i].Undelivered, undeliveredInstead)
		}
	}
	return all, nil
}

// undeliveredInstead is said of an event whose other process ended before it wrote anything.
const undeliveredInstead = "the hook ended before it could answer in place of the daemon"

// tail returns the last bytes of a file. They may begin within a line, which is damaged then.
func tail(file string, size int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data := make([]byte, min(size, info.Size()))
	n, err := f.ReadAt(data, info.Size()-int64(len(data)))
	if err == io.EOF { // it was rewritten meanwhile, and is shorter
		err = nil
	}
	return data[:n], err
}

// isKnown reports whether more is known of an event than what a later line adds.
func (e Entry) isKnown() bool { return !e.At.IsZero() }

// Forget removes what was given of places, and words of the texts. The hash of a prompt goes with
// it.
func (j Journal) Forget(ctx context.Context, places []Place, texts ...string) error {
	f := newForgetting(places, texts)
	return j.rewrite(ctx, func(e *Entry) (keep bool) { f.from(e); return true })
}

// ForgetSessions removes the entries of sessions.
func (j Journal) ForgetSessions(ctx context.Context, gone func(agent, session string) bool) error {
	return j.rewrite(ctx, func(e *Entry) (keep bool) { return !gone(e.Agent, e.Session) })
}

// rewrite changes lines, or removes those that change does not keep.
func (j Journal) rewrite(ctx context.Context, change func(*Entry) (keep bool)) error {
	if _, err := os.Stat(filepath.Dir(j.file)); j.file == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlock, err := jsonfile.Lock(ctx, j.file)
	if err != nil {
		return wrap("forget in", err)
	}
	defer unlock()
	for _, file := range j.Files() {
		data, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return wrap("forget in", err)
		}
		var kept []byte
		for line := range bytes.Lines(data) {
			kept = append(kept, rewritten(line, change)...)
		}
		if !bytes.Equal(kept, data) {
			if err := jsonfile.Write(file, kept); err != nil {
				return wrap("forget in", err)
			}
		}
	}
	return nil
}

// rewritten returns what stays of a line. Of a damaged one nothing does: it may say what has to go.
// One that does not change stays as it is, with what only a newer memcore knows.
func rewritten(line []byte, change func(*Entry) (keep bool)) []byte {
	var e Entry
	if json.Unmarshal(line, &e) != nil {
		return nil
	}
	before, _ := json.Marshal(e)
	if !change(&e) {
		return nil
	}
	if after, err := json.Marshal(e); err == nil && !bytes.Equal(after, before) {
		line = after
	}
	return append(bytes.TrimRight(line, "\r\n"), '\n')
}
