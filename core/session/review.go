package session

import (
	"bufio"
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
	"strings"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/safefile"
)

// A Position in a log, in bytes and lines.
type Position struct {
	Offset int64 `json:"offset"`
	Line   int   `json:"line"`
}

// Unreviewed returns about size bytes of messages among the newest of what was said, and the
// position for MarkReviewed, the same at the end. It reads the log that the session's agent keeps,
// if there is one.
func (s *Session) Unreviewed(ctx context.Context, newest, size int64) ([]Message, Position, error) {
	said, at, err := s.unreviewed(ctx, newest, size)
	if err != nil {
		return nil, at, fmt.Errorf("session %s: %w", s.ID, err)
	}
	for i, m := range said {
		said[i].Citation = s.ID + "/" + m.Citation
	}
	return said, at, ctx.Err()
}

func (s *Session) unreviewed(ctx context.Context, newest, size int64) (said []Message, at Position, err error) {
	own := filepath.Join(s.Dir, messagesName)
	log := cmp.Or(s.Log(), own)
	file, info, err := safefile.OpenPath(log)
	if errors.Is(err, fs.ErrNotExist) && log != own { // the agent has deleted it, or has not begun it
		log = own
		file, info, err = safefile.OpenPath(log)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Position{}, nil
	}
	if err != nil {
		return nil, at, err
	}
	defer file.Close()
	if at = s.reviewed(); at.Offset > info.Size() { // the log was rotated
		at = Position{}
	}
	if strings.EqualFold(filepath.Ext(log), ".json") { // it is rewritten as it grows
		if at.Offset == info.Size() {
			return nil, at, nil
		}
		turns, err := source.Transcript(ctx, log, maxTranscript)
		return messagesOf(turns, log), Position{Offset: info.Size()}, err
	}
	at, data, err := linesFrom(file, info.Size(), at, newest)
	if err != nil {
		return nil, at, err
	}
	begin := at
	for line := range bytes.Lines(data) {
		next := Position{at.Offset + int64(len(line)), at.Line + 1}
		full := at != begin && next.Offset-begin.Offset > size
		if full || line[len(line)-1] != '\n' { // the last line is being written
			break
		}
		at = next
	}
	data = data[:at.Offset-begin.Offset]
	if log == own {
		return messagesIn(data, messagesName, begin.Line), at, nil
	}
	turns, err := source.TurnsIn(ctx, log, data, begin.Line+1)
	return messagesOf(turns, log), at, err
}

// linesFrom reads a log from a position, but skips whole lines before about its newest bytes. It
// also returns where that begins.
func linesFrom(file io.ReaderAt, size int64, at Position, newest int64) (Position, []byte, error) {
	rest := bufio.NewReaderSize(io.NewSectionReader(file, at.Offset, size-at.Offset), 64<<10)
	for size-at.Offset > max(newest, 0) {
		line, err := rest.ReadSlice('\n')
		length := int64(len(line))
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = rest.ReadSlice('\n')
			length += int64(len(line))
		}
		if errors.Is(err, io.EOF) { // the last line is being written
			return at, nil, nil
		}
		if err != nil {
			return at, nil, err
		}
		at = Position{at.Offset + length, at.Line + 1}
	}
	data, err := io.ReadAll(rest)
	return at, data, err
}

func (s *Session) reviewed() (at Position) {
	data, err := os.ReadFile(filepath.Join(s.Dir, reviewedName))
	if err != nil || json.Unmarshal(data, &at) != nil || at.Offset < 0 || at.Line < 0 {
		return Position{}
	}
	return at
}

// MarkReviewed saves how far the log was reviewed.
func (s *Session) MarkReviewed(at Position) error {
	if at == s.reviewed() {
		return nil
	}
	data, err := json.Marshal(at)
	if err == nil {
		err = os.WriteFile(filepath.Join(s.Dir, reviewedName), data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("session %s: %w", s.ID, err)
	}
	return nil
}
