package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/safefile"
)

// An Info describes a session without its text.
type Info struct {
	ID       string    `json:"id"`
	Dir      string    `json:"dir"`           // absolute
	Log      string    `json:"log,omitempty"` // that the agent keeps, if memcore reads it; absolute
	Messages int       `json:"messages"`      // that memcore noted
	Prompts  int       `json:"prompts"`       // of these, messages of the user
	Bytes    int64     `json:"bytes"`         // of all its files
	Began    time.Time `json:"began,omitzero"`
	Used     time.Time `json:"used"` // last change
	Overview bool      `json:"overview"`
	Queued   bool      `json:"queued"` // it waits for reflection
}

// Infos describes all sessions of a folder, the last used first.
func Infos(sessions string) ([]Info, error) {
	ids, err := List(sessions)
	if err != nil {
		return nil, err
	}
	all := make([]Info, 0, len(ids))
	for _, id := range ids {
		s, err := Open(sessions, id)
		if errors.Is(err, ErrNoSession) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		i, err := s.Info()
		if err != nil {
			return nil, err
		}
		all = append(all, i)
	}
	return all, nil
}

// Info describes the session.
func (s *Session) Info() (Info, error) {
	i := Info{ID: s.ID, Dir: s.Dir, Log: s.Log(), Used: lastUsed(s.Dir), Queued: s.Queued()}
	err := filepath.WalkDir(s.Dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return ignoreMissing(err)
		}
		info, err := entry.Info()
		if err == nil {
			i.Bytes += info.Size()
		}
		return ignoreMissing(err)
	})
	logs, failed := s.rotatedLogs()
	if err = errors.Join(err, ignoreMissing(failed)); err != nil {
		return i, fmt.Errorf("session %s: %w", s.ID, err)
	}
	for _, log := range append(logs, filepath.Join(s.Dir, messagesName)) {
		if err := i.count(log); err != nil {
			return i, fmt.Errorf("session %s: %w", s.ID, err)
		}
	}
	overview, _, err := safefile.ReadPath(s.OverviewPath(), maxFile)
	i.Overview = err == nil && FilledIn(string(overview)) != ""
	return i, nil
}

// count adds the messages of a log.
func (i *Info) count(log string) error {
	file, _, err := safefile.OpenPath(log)
	if err != nil {
		return ignoreMissing(err)
	}
	defer file.Close()
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			i.Messages++
			if bytes.HasPrefix(line, []byte(`{"role":"user",`)) {
				i.Prompts++
			}
			var m struct {
				Time time.Time `json:"timestamp"`
			}
			if (i.Messages == 1 || i.Began.IsZero()) && json.Unmarshal(line, &m) == nil {
				i.Began = m.Time
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// lastUsed is the last change of a session's folder, or of the log that its agent keeps.
func lastUsed(dir string) (used time.Time) {
	files := []string{dir}
	for _, name := range []string{messagesName, filepath.Join(workingName, overviewName), filepath.Join(workingName, detailName)} {
		files = append(files, filepath.Join(dir, name))
	}
	if log := (&Session{Dir: dir}).Log(); log != "" {
		files = append(files, log)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.ModTime().After(used) {
			used = info.ModTime()
		}
	}
	return used
}

// goneMark begins the name of a session that is being deleted. No ID begins so.
const goneMark = ".gone-"

// Delete deletes a session with all its files. After a crash the session is there or gone; the next
// Delete removes what is left of it.
func Delete(sessions, id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	root, err := os.OpenRoot(sessions)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", ErrNoSession, filepath.Join(sessions, id))
	}
	if err != nil {
		return fmt.Errorf("delete session %s: %w", id, err)
	}
	defer root.Close()
	if info, err := root.Lstat(id); err != nil || !info.IsDir() {
		return fmt.Errorf("%w: %s", ErrNoSession, filepath.Join(sessions, id))
	}
	err = root.RemoveAll(goneMark + id)
	if err == nil {
		err = root.Rename(id, goneMark+id)
	}
	if err == nil {
		err = removeGone(root)
	}
	if err != nil {
		return fmt.Errorf("delete session %s: %w", id, err)
	}
	return nil
}

// removeGone removes what is left of deleted sessions.
func removeGone(root *os.Root) error {
	folder, err := root.Open(".")
	if err != nil {
		return err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	for _, name := range names {
		if strings.HasPrefix(name, goneMark) {
			err = errors.Join(err, root.RemoveAll(name))
		}
	}
	return errors.Join(err, safefile.SyncFolder(root.Name()))
}
