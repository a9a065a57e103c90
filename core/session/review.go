package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
)

// A Position in a log, in bytes and lines.
type Position struct {
	Offset int64 `json:"offset"`
	Line   int   `json:"line"`
}

// Unreviewed returns about size bytes of messages among the newest of the log, and the position for
// MarkReviewed, the same at the log's end.
func (s *Session) Unreviewed(ctx context.Context, newest, size int64) ([]Message, Position, error) {
	at, data, err := s.unreviewed(newest)
	if err != nil {
		return nil, at, fmt.Errorf("session %s: %w", s.ID, err)
	}
	var all []Message
	begin := at
	for line := range bytes.Lines(data) {
		next := Position{at.Offset + int64(len(line)), at.Line + 1}
		full := at != begin && next.Offset-begin.Offset > size
		if full || line[len(line)-1] != '\n' { // the last line is being written
			break
		}
		at = next
		var m Message
		if json.Unmarshal(line, &m) == nil && m.Content != "" {
			m.Citation = paths.Citation(s.ID+"/"+messagesName, at.Line, at.Line)
			all = append(all, m)
		}
	}
	return all, at, ctx.Err()
}

// unreviewed also returns where that begins.
func (s *Session) unreviewed(newest int64) (at Position, data []byte, err error) {
	file, info, err := safefile.OpenPath(filepath.Join(s.Dir, messagesName))
	if errors.Is(err, fs.ErrNotExist) {
		return at, nil, nil
	}
	if err != nil {
		return at, nil, err
	}
	defer file.Close()
	if at = s.reviewed(); at.Offset > info.Size() { // the log was rotated
		at = Position{}
	}
	data, err = io.ReadAll(io.NewSectionReader(file, at.Offset, info.Size()-at.Offset))
	if skip := int64(len(data)) - max(newest, 0); skip > 0 {
		end := bytes.IndexByte(data[skip-1:], '\n')
		if end >= 0 {
			skip += int64(end)
		} else {
			skip = int64(bytes.LastIndexByte(data, '\n') + 1)
		}
		at = Position{at.Offset + skip, at.Line + bytes.Count(data[:skip], []byte{'\n'})}
		data = data[skip:]
	}
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
