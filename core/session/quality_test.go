package session

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed/minilm"
)

// A long session adds overview and hits to a request, not messages.
func TestContextOfALongSession(t *testing.T) {
	d := newFixture(t)
	s := d.session()
	all := 0
	for i := range 1000 {
		text := fmt.Sprintf("We looked at service%d, whose port is %d, and talked about retries, queues and the release at some length.", i, 10_000+i)
		all += len(text)
		_, err := s.Append(t.Context(), Message{Role: "user", Content: text}, AppendOptions{})
		require.NoError(t, err)
	}
	require.NoError(t, os.WriteFile(s.OverviewPath(), []byte("# Working Memory\n\n## Current Task\nThe ports of all services.\n"), 0o600))
	overview, err := s.Overview(t.Context())
	require.NoError(t, err)
	query := "which port has service777"
	found, err := Recall(t.Context(), []*Session{s}, RecallRequest{Query: query}, RecallOptions{})
	require.NoError(t, err)
	require.Equal(t, "messages.jsonl#L778", found.Results[0].Citation, "and nothing is lost")
	given := len(overview) + len(found.Answer(query))
	require.Less(t, given, all/50)
	t.Logf("%d bytes said, %d bytes in the request", all, given)
}

// TestRecallOfLabelledChats measures recall on chats with known answers, in the layout of eval:
// MEMCORE_CHATS='…/locomo/conv-*' go test ./core/notes -run LabelledChats -v.
func TestRecallOfLabelledChats(t *testing.T) {
	pattern := os.Getenv("MEMCORE_CHATS")
	if pattern == "" {
		t.Skip("MEMCORE_CHATS names no folders")
	}
	folders, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	type line struct{ ID, Text, Speaker string }
	read := func(file string) (all []line) {
		f, err := os.Open(file)
		require.NoError(t, err)
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var l line
			require.NoError(t, json.Unmarshal(lines.Bytes(), &l))
			all = append(all, l)
		}
		return all
	}
	embedder := minilm.New()
	sum, questions := map[string]float64{}, 0
	for i, folder := range folders {
		s, err := New(t.TempDir(), fmt.Sprint(i))
		require.NoError(t, err)
		at := map[int]string{}
		for n, l := range read(filepath.Join(folder, "corpus.jsonl")) {
			at[n+1] = l.ID
			_, err := s.Append(t.Context(), Message{Role: "user", Content: l.Speaker + ": " + l.Text}, AppendOptions{})
			require.NoError(t, err)
		}
		_, err = s.Embed(t.Context(), embedder)
		require.NoError(t, err)
		relevant := map[string]map[string]bool{}
		judged, err := os.ReadFile(filepath.Join(folder, "qrels.tsv"))
		require.NoError(t, err)
		for row := range strings.Lines(string(judged)) {
			if cells := strings.Split(strings.TrimSpace(row), "\t"); len(cells) == 3 && cells[2] != "0" {
				if relevant[cells[0]] == nil {
					relevant[cells[0]] = map[string]bool{}
				}
				relevant[cells[0]][cells[1]] = true
			}
		}
		for _, q := range read(filepath.Join(folder, "queries.jsonl")) {
			if len(relevant[q.ID]) == 0 {
				continue
			}
			questions++
			for name, o := range map[string]RecallOptions{"words": {}, "words and meaning": {Embedder: embedder}} {
				found, err := Recall(t.Context(), []*Session{s}, RecallRequest{Query: q.Text}, o)
				require.NoError(t, err)
				for _, r := range found.Results {
					if relevant[q.ID][at[r.Line]] {
						sum[name] += 1 / float64(len(relevant[q.ID]))
					}
				}
			}
		}
	}
	for name, hits := range sum {
		t.Logf("recall@5 by %s: %.3f of %d questions", name, hits/float64(questions), questions)
	}
}
