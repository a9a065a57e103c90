package sets

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Formats of labelled data.
const (
	FormatBEIR        = "beir"
	FormatLoCoMo      = "locomo"      // locomo10.json (Maharana et al., 2024)
	FormatLongMemEval = "longmemeval" // longmemeval_s.json and its kin (Wu et al., 2025)
)

// Formats lists them.
var Formats = []string{FormatBEIR, FormatLoCoMo, FormatLongMemEval}

// ErrFormat marks errors about files in an unknown format.
var ErrFormat = errors.New("neither LoCoMo nor LongMemEval: want a JSON array of samples with \"conversation\" and \"qa\", or of questions with \"haystack_sessions\"")

// ReadChats reads a JSON file: a collection for each chat of LoCoMo or question of LongMemEval,
// with turns as documents. Format "" is detected.
func ReadChats(path, format string) ([]Collection, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read chats: %w", err)
	}
	defer file.Close()
	all, err := readChats(bufio.NewReaderSize(file, 1<<20), format)
	if err != nil {
		return nil, fmt.Errorf("read chats: %s: %w", path, err)
	}
	return all, nil
}

// readChats decodes sample by sample: the files are large.
func readChats(from io.Reader, format string) ([]Collection, error) {
	decoder := json.NewDecoder(from)
	if start, err := decoder.Token(); err != nil || start != json.Delim('[') {
		return nil, ErrFormat
	}
	var all []Collection
	names := map[string]bool{}
	for i := 0; decoder.More(); i++ {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return nil, fmt.Errorf("sample %d: %w", i+1, err)
		}
		c, err := chatOf(raw, format)
		if err == nil {
			err = fresh(names, "sample", c.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("sample %d: %w", i+1, err)
		}
		all = append(all, c)
	}
	if _, err := decoder.Token(); err != nil {
		return nil, fmt.Errorf("after sample %d: %w", len(all), err)
	}
	if len(all) == 0 {
		return nil, errors.New("it has no sample")
	}
	return all, nil
}

func chatOf(raw json.RawMessage, format string) (Collection, error) {
	if format == "" {
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(raw, &keys); err != nil {
			return Collection{}, ErrFormat
		}
		switch {
		case keys["conversation"] != nil && keys["qa"] != nil:
			format = FormatLoCoMo
		case keys["haystack_sessions"] != nil:
			format = FormatLongMemEval
		}
	}
	switch format {
	case FormatLoCoMo:
		return locomo(raw)
	case FormatLongMemEval:
		return longMemEval(raw)
	}
	return Collection{}, ErrFormat
}

// locomoSample is one chat. Conversation has the keys "session_3" (turns) and
// "session_3_date_time".
type locomoSample struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
	QA           []struct {
		Question string   `json:"question"`
		Evidence []string `json:"evidence"`
		Category int      `json:"category"`
	} `json:"qa"`
}

type locomoTurn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"` // of an image that was shared
}

// adversarial is the category of unanswerable questions.
const adversarial = 5

var (
	locomoSession  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^session_(\d+)$`) })
	locomoEvidence = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`D:?(\d+):(\d+)`) })
)

func locomo(raw json.RawMessage) (Collection, error) {
	var sample locomoSample
	if err := json.Unmarshal(raw, &sample); err != nil {
		return Collection{}, err
	}
	if sample.ID == "" {
		return Collection{}, errors.New("sample_id is missing")
	}
	c := Collection{Name: "locomo/" + sample.ID, Judgments: map[string]map[string]int{}}
	ids := map[string]bool{}
	for _, session := range sessionsOf(sample) {
		var turns []locomoTurn
		if err := json.Unmarshal(sample.Conversation["session_"+session], &turns); err != nil {
			return c, fmt.Errorf("session %s: %w", session, err)
		}
		var date string
		if said := sample.Conversation["session_"+session+"_date_time"]; said != nil {
			if err := json.Unmarshal(said, &date); err != nil {
				return c, fmt.Errorf("date of session %s: %w", session, err)
			}
		}
		c.timeOf(date, fmt.Sprintf("%s, session %s", c.Name, session))
		for _, t := range turns {
			if err := fresh(ids, "turn", t.ID); err != nil {
				return c, fmt.Errorf("session %s: %w", session, err)
			}
			text := t.Speaker + ": " + t.Text
			if t.Caption != "" {
				text += " [image: " + t.Caption + "]"
			}
			c.Documents = append(c.Documents, Document{ID: t.ID, Text: text, Speaker: t.Speaker, Session: Label(session), Date: date})
		}
	}
	for i, qa := range sample.QA {
		q := Query{ID: fmt.Sprintf("%s-q%03d", sample.ID, i), Text: qa.Question}
		answerable := qa.Category != adversarial
		q.Meta.Answerable = &answerable
		c.Queries = append(c.Queries, q)
		c.judgeTurns(q.ID, evidenceOf(qa.Evidence), ids)
	}
	return c, nil
}

// sessionsOf returns the session numbers of a sample in order.
func sessionsOf(sample locomoSample) []string {
	var numbers []int
	for key := range sample.Conversation {
		if m := locomoSession().FindStringSubmatch(key); m != nil {
			n, _ := strconv.Atoi(m[1])
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	names := make([]string, len(numbers))
	for i, n := range numbers {
		names[i] = strconv.Itoa(n)
	}
	return names
}

// evidenceOf reads annotations: perhaps several turns, leading zeros, extra colons.
func evidenceOf(written []string) []string {
	var turns []string
	for _, text := range written {
		for _, m := range locomoEvidence().FindAllStringSubmatch(text, -1) {
			session, _ := strconv.Atoi(m[1])
			turn, _ := strconv.Atoi(m[2])
			turns = append(turns, fmt.Sprintf("D%d:%d", session, turn))
		}
	}
	return turns
}

// judgeTurns marks known turns as answers to a query.
func (c *Collection) judgeTurns(query string, turns []string, known map[string]bool) {
	for _, id := range turns {
		if !known[id] {
			continue
		}
		if c.Judgments[query] == nil {
			c.Judgments[query] = map[string]int{}
		}
		c.Judgments[query][id] = 1
	}
}

// longMemEvalQuestion is a question with the chats to search.
type longMemEvalQuestion struct {
	ID         string   `json:"question_id"`
	Question   string   `json:"question"`
	Date       string   `json:"question_date"`
	SessionIDs []string `json:"haystack_session_ids"`
	Dates      []string `json:"haystack_dates"`
	Sessions   [][]struct {
		Role      string `json:"role"`
		Content   string `json:"content"`
		HasAnswer bool   `json:"has_answer"`
	} `json:"haystack_sessions"`
	Answers []string `json:"answer_session_ids"`
}

// longMemEval numbers sessions, since their names reveal the answer. If a session with the answer
// has no marked turn, all turns of its user count.
func longMemEval(raw json.RawMessage) (Collection, error) {
	var q longMemEvalQuestion
	if err := json.Unmarshal(raw, &q); err != nil {
		return Collection{}, err
	}
	if q.ID == "" {
		return Collection{}, errors.New("question_id is missing")
	}
	if len(q.SessionIDs) != len(q.Sessions) || len(q.Dates) != len(q.Sessions) {
		return Collection{}, fmt.Errorf("question %s has %d sessions, %d names and %d dates of them", q.ID, len(q.Sessions), len(q.SessionIDs), len(q.Dates))
	}
	c := Collection{Name: "longmemeval/" + q.ID, Judgments: map[string]map[string]int{}}
	var marked []string
	known := map[string]bool{}
	for i, session := range q.Sessions {
		var here, users []string
		c.timeOf(q.Dates[i], fmt.Sprintf("%s, session %d", c.Name, i+1))
		for j, turn := range session {
			d := Document{ID: fmt.Sprintf("%d#%d", i+1, j), Text: turn.Role + ": " + turn.Content, Session: Label(strconv.Itoa(i + 1)), Date: q.Dates[i]}
			known[d.ID] = true
			c.Documents = append(c.Documents, d)
			if turn.HasAnswer {
				here = append(here, d.ID)
			}
			if turn.Role == "user" {
				users = append(users, d.ID)
			}
		}
		if slices.Contains(q.Answers, q.SessionIDs[i]) && len(here) == 0 {
			here = users
		}
		marked = append(marked, here...)
	}
	query := Query{ID: q.ID, Text: q.Question, Now: c.timeOf(q.Date, c.Name+", question_date")}
	query.Meta.QuestionDate = q.Date
	answerable := !strings.HasSuffix(q.ID, "_abs")
	query.Meta.Answerable = &answerable
	c.Queries = []Query{query}
	c.judgeTurns(q.ID, marked, known)
	return c, nil
}
