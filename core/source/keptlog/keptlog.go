// Package keptlog keeps what memcore has read of agents' logs, for the time when the agents have
// deleted them.
//
// A Store is a folder with one file a log, named after a hash of the document's path. The file is
// written while the log is still there, since no agent announces that it deletes one. It holds the
// turns without secrets and, of tools, only what a digest looks at, as lines of JSON in frames of
// Zstandard. What a growing log says later is appended as a frame that replaces all turns from its
// first line on.
package keptlog

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/safefile"
)

// Extension ends the names of the files.
const Extension = ".jsonl.zst"

const (
	// windowSize is what a reader holds of the text of a frame.
	windowSize = 1 << 20
	// maxText and maxLine bound the text of a file and of a turn in it, in bytes, since the file
	// may come from another machine: some kilobytes unpack to gigabytes.
	maxText = 256 << 20
	maxLine = 64 << 20
)

// A Store is safe for concurrent readers beside one writer of each log.
type Store struct{ dir string }

// In returns the store in a folder, which need not exist.
func In(dir string) Store { return Store{dir} }

// A Log says which log was read. The fields are those of source.Document and source.Content.
type Log struct {
	Path    string    `json:"path"`
	File    string    `json:"file,omitempty"` // "" if it is not on this machine
	Scope   string    `json:"scope"`
	Format  string    `json:"format"`
	Session string    `json:"session,omitempty"`
	Branch  string    `json:"branch,omitempty"`
	Size    int64     `json:"size"`
	ModTime time.Time `json:"modTime"`
	Agent   bool      `json:"agent,omitempty"`
	// From is the first line of the turns that follow; they replace all known ones from there on.
	From int `json:"from"`
	// Turns is their number; Frame sets it.
	Turns int `json:"turns,omitempty"`
	// Number is that of the format of the lines; Frame sets it.
	Number int `json:"number"`
}

// formatNumber counts up when lines change their meaning. The file is the only copy of a log that
// is gone, so that older numbers have to be read, too.
const formatNumber = 1

// Gone reports whether the file of the log is gone, or was emptied.
func (l Log) Gone() bool { return Gone(l.File) }

// Gone reports whether a file is gone, or was emptied.
func Gone(file string) bool {
	info, err := os.Lstat(file)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// Name returns the name of a document's file.
func Name(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:16]) + Extension
}

// IsName reports whether a text has the form of a file's name.
func IsName(text string) bool {
	hash, ok := strings.CutSuffix(text, Extension)
	_, err := hex.DecodeString(hash)
	return ok && err == nil && len(hash) == 32
}

// Names returns the names of all files.
func (s Store) Names() (map[string]bool, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list kept logs: %w", err)
	}
	names := make(map[string]bool, len(entries))
	for _, entry := range entries {
		if IsName(entry.Name()) {
			names[entry.Name()] = true
		}
	}
	return names, nil
}

// Size returns the size of a document's file in bytes; 0 if there is none.
func (s Store) Size(path string) int64 {
	info, err := os.Lstat(filepath.Join(s.dir, Name(path)))
	if err != nil {
		return 0
	}
	return info.Size()
}

// packer is one for all frames: to make one takes longer than to pack the turns of most logs.
var packer = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(windowSize))
})

// Frame encodes turns for Write or Append.
func Frame(log Log, turns []chunker.Turn) ([]byte, error) {
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	log.Turns, log.Number = len(turns), formatNumber
	err := lines.Encode(line{Log: &log})
	for i := range turns {
		err = errors.Join(err, lines.Encode(line{Turn: &turns[i]}))
	}
	packed, failed := packer()
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	return packed.EncodeAll(text.Bytes(), nil), nil
}

// Write replaces the file of a document by a frame. Its time of change is that of the log.
func (s Store) Write(log Log, frame []byte) error {
	err := safefile.MkdirAll(s.dir, 0o700)
	if err == nil {
		err = safefile.Replace(s.dir, Name(log.Path), frame, 0o600)
	}
	return s.dated(log, err)
}

// Append adds a frame to the file of a document, which must be there. A frame that a crash cut off
// is not read, so the caller compares Size with what it was, and writes anew if they differ.
func (s Store) Append(log Log, frame []byte) error {
	file, err := os.OpenFile(filepath.Join(s.dir, Name(log.Path)), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = file.Write(frame)
		err = errors.Join(err, file.Close())
	}
	return s.dated(log, err)
}

func (s Store) dated(log Log, err error) error {
	if err == nil && !log.ModTime.IsZero() {
		err = os.Chtimes(filepath.Join(s.dir, Name(log.Path)), log.ModTime, log.ModTime)
	}
	if err != nil {
		return fmt.Errorf("keep %s in %s: %w", log.Path, s.dir, err)
	}
	return nil
}

// Remove forgets a log. One that is not there is no error.
func (s Store) Remove(path string) error {
	if err := os.Remove(filepath.Join(s.dir, Name(path))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget what is kept of %s: %w", path, err)
	}
	return nil
}

// An Old log is one that is gone.
type Old struct {
	Path    string    `json:"path"`
	ModTime time.Time `json:"modTime"` // of the log
	Bytes   int64     `json:"bytes"`   // that its file in the store takes
}

// Old returns the logs that are gone and last changed before a time, oldest first. Damaged files
// are none of them.
func (s Store) Old(ctx context.Context, before time.Time) (all []Old, err error) {
	names, err := s.Names()
	for name := range names {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		info, statErr := os.Lstat(filepath.Join(s.dir, name))
		if statErr != nil || !info.ModTime().Before(before) {
			continue
		}
		if log, headErr := s.Head(name); headErr == nil && log.Gone() {
			all = append(all, Old{log.Path, info.ModTime(), info.Size()})
		}
	}
	slices.SortFunc(all, func(a, b Old) int { return cmp.Or(a.ModTime.Compare(b.ModTime), cmp.Compare(a.Path, b.Path)) })
	return all, err
}

// ErrDamaged means that a file, or its end, cannot be read.
var ErrDamaged = errors.New("what is kept of a log is damaged")

// Head returns what the file of this name says first of its log. Errors wrap ErrDamaged, or are
// those of the file.
func (s Store) Head(name string) (Log, error) {
	var log Log
	err := s.read(name, func(l line) bool {
		if l.Log != nil {
			log = *l.Log
		}
		return false
	})
	if err == nil && Name(log.Path) != name {
		err = fmt.Errorf("%w: %s is named after another document than %.200q", ErrDamaged, name, log.Path)
	}
	return log, err
}

// Read returns the turns of a log, with its last Log. If a frame is damaged, what precedes it comes
// with an error that wraps ErrDamaged.
func (s Store) Read(path string) (log Log, turns []chunker.Turn, err error) {
	var frame []chunker.Turn // not yet complete
	head := Log{}
	err = s.read(Name(path), func(l line) bool {
		if l.Log != nil {
			head, frame = *l.Log, nil
		}
		if l.Turn != nil {
			frame = append(frame, *l.Turn)
		}
		if len(frame) == head.Turns && head.From > 0 {
			turns = append(slices.DeleteFunc(turns, func(t chunker.Turn) bool { return t.Line >= head.From }), frame...)
			log, head, frame = head, Log{}, nil
		}
		return true
	})
	log.From, log.Turns, log.Number = 1, 0, 0
	return log, turns, err
}

// Copy returns the file of this name for another machine: in one frame, of a log whose file is not
// there, with all text as redact returns it. Errors are those of Head.
func (s Store) Copy(name string, redact func(string) string) ([]byte, error) {
	log, err := s.Head(name)
	if err != nil {
		return nil, err
	}
	log, turns, err := s.Read(log.Path)
	if err != nil {
		return nil, err
	}
	for i, t := range turns {
		turns[i].Text, turns[i].Asked = redact(t.Text), redact(t.Asked)
		for j, use := range t.Tools {
			t.Tools[j].Input, t.Tools[j].Output = redact(use.Input), redact(use.Output)
		}
	}
	log.File = ""
	return Frame(log, turns)
}

// A line is one of the two.
type line struct {
	Log  *Log          `json:"log,omitempty"`
	Turn *chunker.Turn `json:"turn,omitempty"`
}

// read calls do for each line until it returns false.
func (s Store) read(name string, do func(line) bool) error {
	file, _, err := safefile.OpenPath(filepath.Join(s.dir, name))
	if err != nil {
		return fmt.Errorf("read what is kept of a log: %w", err)
	}
	defer file.Close()
	unpacked, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(windowSize))
	if err != nil {
		return fmt.Errorf("read what is kept of a log: %w", err)
	}
	defer unpacked.Close()
	text := &io.LimitedReader{R: unpacked, N: maxText}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrDamaged, name, cmp.Or(lines.Err(), err))
		}
		if l.Log != nil && l.Log.Number > formatNumber {
			return fmt.Errorf("%w: %s: a newer memcore has written it: update this one", ErrDamaged, name)
		}
		if !do(l) {
			return nil
		}
	}
	err = lines.Err()
	if err == nil && text.N == 0 {
		err = fmt.Errorf("it holds more than %d MB of text", maxText>>20)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
	}
	return nil
}
