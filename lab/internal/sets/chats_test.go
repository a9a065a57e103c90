package sets

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const locomoText = `[{"sample_id": "c1", "conversation": {"speaker_a": "Ann", "speaker_b": "Ben",
  "session_10": [{"speaker": "Ben", "dia_id": "D10:1", "text": "The kiln is at 1240 degrees."}],
  "session_10_date_time": "9:05 am on 3 March, 2024",
  "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "Look at this!", "blip_caption": "a blue vase"},
                {"speaker": "Ben", "dia_id": "D2:2", "text": "Lovely."}],
  "session_2_date_time": "1:56 pm on 8 May, 2023"},
 "qa": [{"question": "What did Ann share?", "answer": "a vase", "evidence": ["D2:01; D:10:1", "D99:1"], "category": 1},
        {"question": "Where does Ben live?", "adversarial_answer": "Rome", "evidence": ["D2:2"], "category": 5},
        {"question": "Nobody knows", "answer": 3, "evidence": [], "category": 2}]}]`

const longMemEvalText = `[{"question_id": "g1", "question": "What did I buy?", "answer": "a lamp", "question_date": "2023/06/01 (Thu) 10:00",
  "haystack_session_ids": ["answer_x", "noise_1", "answer_y"], "haystack_dates": ["2023/05/30 (Tue) 16:40", "", "2023/05/31 (Wed) 08:00"],
  "answer_session_ids": ["answer_x", "answer_y"],
  "haystack_sessions": [[{"role": "user", "content": "I bought a lamp.", "has_answer": true}, {"role": "assistant", "content": "Nice."}],
    [{"role": "user", "content": "Hello"}],
    [{"role": "user", "content": "The lamp is green."}, {"role": "assistant", "content": "I see."}]]},
 {"question_id": "g2_abs", "question": "What did I sell?", "haystack_session_ids": [], "haystack_dates": [], "haystack_sessions": [], "answer_session_ids": []}]`

func TestReadLoCoMo(t *testing.T) {
	all, err := readChats(strings.NewReader(locomoText), "")
	require.NoError(t, err)
	require.Len(t, all, 1)
	c := all[0]
	require.Equal(t, []Document{
		{ID: "D2:1", Text: "Ann: Look at this! [image: a blue vase]", Speaker: "Ann", Session: "2", Date: "1:56 pm on 8 May, 2023"},
		{ID: "D2:2", Text: "Ben: Lovely.", Speaker: "Ben", Session: "2", Date: "1:56 pm on 8 May, 2023"},
		{ID: "D10:1", Text: "Ben: The kiln is at 1240 degrees.", Speaker: "Ben", Session: "10", Date: "9:05 am on 3 March, 2024"},
	}, c.Documents, "sessions in the order of their numbers")
	require.Equal(t, map[string]map[string]int{"c1-q000": {"D2:1": 1, "D10:1": 1}, "c1-q001": {"D2:2": 1}}, c.Judgments)
	for i, want := range []bool{false, true, false} {
		if got := c.Queries[i].Unanswerable(); got != want {
			t.Errorf("%q is unanswerable: %t, want %t", c.Queries[i].Text, got, want)
		}
	}
}

func TestReadLongMemEval(t *testing.T) {
	all, err := readChats(strings.NewReader(longMemEvalText), "")
	require.NoError(t, err)
	require.Len(t, all, 2)
	c := all[0]
	require.Equal(t, "longmemeval/g1", c.Name)
	require.Len(t, c.Documents, 5)
	require.Equal(t, Document{ID: "3#1", Text: "assistant: I see.", Session: "3", Date: "2023/05/31 (Wed) 08:00"}, c.Documents[4])
	require.Equal(t, map[string]map[string]int{"g1": {"1#0": 1, "3#0": 1}}, c.Judgments, "marked turns; in a session without marks those of the user")
	for _, d := range c.Documents {
		if strings.Contains(d.ID+string(d.Session), "answer") {
			t.Errorf("document %+v tells that it holds the answer", d)
		}
	}
	require.True(t, all[1].Queries[0].Unanswerable())
}

// Chats are read, indexed and asked.
func TestRunChats(t *testing.T) {
	for name, text := range map[string]string{"locomo10.json": locomoText, "longmemeval_s.json": longMemEvalText} {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		collections, err := Collections(path, "")
		require.NoError(t, err)
		report, err := RunAll(t.Context(), openWordy, collections[:1], Options{})
		require.NoError(t, err)
		if got := report.All.Scores["recall@5"]; got != 1 || report.All.Queries != 1 {
			t.Errorf("%s: recall@5 of %d queries = %v, want 1 of 1", name, report.All.Queries, got)
		}
	}
}

func TestReadChatsRefuses(t *testing.T) {
	for want, text := range map[string]string{
		"neither LoCoMo":     `{"sample_id": "x"}`,
		"sample 1: neither":  `[{"a": 1}]`,
		"it has no sample":   "[]",
		"sample 2":           strings.TrimSuffix(locomoText, "]") + "," + strings.TrimPrefix(locomoText, "["),
		"after sample 1":     strings.TrimSuffix(locomoText, "]"),
		"0 sessions, 1 name": `[{"question_id": "q", "haystack_sessions": [], "haystack_session_ids": ["a"]}]`,
		"session 1":          `[{"sample_id": "c", "conversation": {"session_1": 5}, "qa": []}]`,
		"turn has no id":     `[{"sample_id": "c", "conversation": {"session_1": [{"text": "x"}]}, "qa": []}]`,
	} {
		if _, err := readChats(strings.NewReader(text), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("readChats(%.60q) = %v, want an error with %q", text, err, want)
		}
	}
	if _, err := readChats(strings.NewReader(locomoText), FormatLongMemEval); err == nil {
		t.Error("LoCoMo read as LongMemEval: no error")
	}
	if _, err := readChats(strings.NewReader("[1]"), ""); !errors.Is(err, ErrFormat) {
		t.Errorf("readChats([1]) = %v, want ErrFormat", err)
	}
}

func FuzzReadChats(f *testing.F) {
	f.Add(locomoText)
	f.Add(longMemEvalText)
	f.Fuzz(func(t *testing.T, text string) {
		all, err := readChats(strings.NewReader(text), "")
		if err == nil && len(all) == 0 {
			t.Error("no collection and no error")
		}
		for _, c := range all {
			newCorpus(c.Documents)
		}
	})
}
