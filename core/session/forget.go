package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/safefile"
)

// Forget takes out of the messages of all sessions of a folder what forget takes out of the turns
// that it gets, for good. Lines keep their places and lengths, so that who reads or appends
// meanwhile loses nothing.
func Forget(sessions string, forget func([]chunker.Turn) (hidden int)) error {
	ids, err := List(sessions)
	for _, id := range ids {
		s := &Session{ID: id, Dir: filepath.Join(sessions, id)}
		logs, failed := s.rotatedLogs()
		for _, log := range append(logs, filepath.Join(s.Dir, messagesName)) {
			failed = errors.Join(failed, forgetIn(log, forget))
		}
		if failed = ignoreMissing(failed); failed != nil {
			err = errors.Join(err, fmt.Errorf("forget in session %s: %w", id, failed))
		}
	}
	return err
}

func forgetIn(log string, forget func([]chunker.Turn) int) error {
	data, info, err := safefile.ReadPath(log, 2*maxLog)
	if err != nil {
		return ignoreMissing(err)
	}
	type place struct{ start, length int } // of the text in the file, as JSON
	var turns []chunker.Turn
	var places []place
	at := 0
	for line := range bytes.Lines(data) {
		var m struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		var text string
		if json.Unmarshal(line, &m) == nil && json.Unmarshal(m.Content, &text) == nil {
			places = append(places, place{at + bytes.Index(line, m.Content), len(m.Content)})
			turns = append(turns, chunker.Turn{Line: len(turns) + 1, EndLine: len(turns) + 1, Role: m.Role, Text: text})
		}
		at += len(line)
	}
	before := make([]string, len(turns))
	for i, t := range turns {
		before[i] = t.Text
	}
	if forget(turns) == 0 {
		return nil
	}
	file, err := os.OpenFile(log, os.O_WRONLY|safefile.Nonblock, 0)
	if err != nil {
		return err
	}
	for i, t := range turns {
		if t.Text == before[i] || err != nil {
			continue
		}
		left, encoding := json.Marshal(t.Text)
		if room := places[i].length - len(left); encoding == nil && room >= 0 {
			left = append(left[:len(left)-1], strings.Repeat(" ", room)+`"`...)
		} else {
			left = []byte(`"` + strings.Repeat(" ", places[i].length-2) + `"`)
		}
		_, err = file.WriteAt(left, int64(places[i].start))
	}
	err = errors.Join(err, file.Sync(), file.Close())
	return errors.Join(err, os.Chtimes(log, info.ModTime(), info.ModTime())) // it was not used now
}
