package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/text/sanitize"
	"github.com/memcore/memcore/internal/text/secret"
)

// maxSummarised is how many of a log's last bytes are searched for a summary.
const maxSummarised = 4 << 20

// KeepSummary makes a note of the newest summary in a log, with which its agent goes on after it
// has compacted its history. Each summary becomes one note. A log without one is no error.
func (s *Session) KeepSummary(ctx context.Context, log string) error {
	t, err := summaryIn(ctx, log)
	if t.Text == "" || err != nil {
		return err
	}
	return s.keepSummary(t)
}

// Compacted returns when an agent last compacted its history, as its log has it; zero for never.
func Compacted(ctx context.Context, log string) (time.Time, error) {
	t, err := summaryIn(ctx, log)
	return t.Time, err
}

// summaryIn returns the newest summary in a log, without text if there is none.
func summaryIn(ctx context.Context, log string) (chunker.Turn, error) {
	turns, err := source.Transcript(ctx, log, maxSummarised)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return chunker.Turn{}, err
	}
	for _, t := range slices.Backward(turns) {
		if t.Speaker == source.SummarySpeaker && strings.TrimSpace(t.Text) != "" {
			return t, nil
		}
	}
	return chunker.Turn{}, nil
}

func (s *Session) keepSummary(t chunker.Turn) error {
	at := t.Time.UTC()
	text, _ := sanitize.Reveal(strings.ToValidUTF8(t.Text, "\uFFFD"))
	text, _ = secret.Redact(strings.TrimSpace(text))
	note := fmt.Sprintf("# Summary before the compaction of %s\n\n<!--\nMETA:\n- created: %s\n- keywords: [\"compaction\", \"summary\"]\n-->\n\n%s\n",
		at.Format("2006-01-02 15:04"), at.Format("2006-01-02T15:04:05Z"), text)
	name := filepath.Join(workingName, detailName, at.Format("2006-01-02T15-04-05Z")+"-compaction.md")
	err := safefile.Create(paths.Resolve(s.Dir), name, []byte(note), 0o600)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("session %s: summary: %w", s.ID, err)
	}
	return nil
}
