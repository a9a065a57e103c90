package eval

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/memcore/memcore/core"
)

// Kinds of turns that ask for what the user once said, and of prompts that no memory should answer.
const (
	KindSaidOrder    = "said, order"    // an order for which the statement matters
	KindSaidQuestion = "said, question" // a question that the statement answers
	KindSaidStart    = "said, start"    // the start of a session, for a standing statement
	KindOrdinary     = "ordinary"
)

// A Statement is what the user said once, in one log.
type Statement struct {
	Text   string `json:"statement"`
	Source string `json:"source"` // citation of its line: "sessions/s01.jsonl#L5"
}

// A Said is a line of cases.jsonl about a statement. It makes a turn of its order, of its question
// (either may be empty) and, if it is standing, of the start of a session.
type Said struct {
	Statement
	ID       string `json:"id"`
	State    string `json:"state"`
	Kind     string `json:"kind"`     // "rule", "correction", "preference", "decision", "fact" or "reversal"
	Standing bool   `json:"standing"` // whether an order wants it without a shared word
	Order    string `json:"order"`
	Question string `json:"question"`
	// Instead is what the user had said before about the same. It no longer holds.
	Instead *Statement `json:"instead"`
}

// parseTurns reads a line of cases.jsonl: a turn, or a statement with its turns.
func parseTurns(line []byte) ([]Turn, error) {
	var s Said
	if err := json.Unmarshal(line, &s); err != nil {
		return nil, err
	}
	if s.Text == "" {
		turn, err := parseTurn(line)
		return []Turn{turn}, err
	}
	path, lines, ok := ParseCitation(s.Source)
	if !ok {
		return nil, fmt.Errorf("statement %s: source is %q, want a citation like sessions/s01.jsonl#L5", s.ID, s.Source)
	}
	if s.Order == "" && s.Question == "" {
		return nil, fmt.Errorf("statement %s: it has neither an order nor a question", s.ID)
	}
	gold := []Judgment{{Path: path, Lines: lines, Text: s.Text, Grade: GradeWanted}}
	var turns []Turn
	for _, t := range []Turn{
		{ID: s.ID + "/order", Kind: KindSaidOrder, Prompt: s.Order},
		{ID: s.ID + "/question", Kind: KindSaidQuestion, Prompt: s.Question},
		{ID: s.ID + "/start", Kind: KindSaidStart, Prompt: s.Text},
	} {
		if t.Prompt == "" || t.Kind == KindSaidStart && !s.Standing {
			continue
		}
		t.State, t.Gold, t.said = s.State, gold, &s
		if err := t.check(); err != nil {
			return nil, err
		}
		turns = append(turns, t)
	}
	return turns, nil
}

// minSharedRunes is the least length of a part of a statement that stands for it.
const minSharedRunes = 8

// callBefore is how many lines before a tool's answer, in which the user said something, its call
// may stand: an index may cite that.
const callBefore = 1

// holds reports whether a text has the statement. A part of it, or most of its words, is enough
// where the citation agrees: an index may cut sentences at other places.
func (s Statement) holds(path string, lines [2]int, texts ...string) bool {
	statement := normalised(s.Text)
	at, line, _ := ParseCitation(s.Source)
	here := path == at && lines[0] <= line[0] && line[0] <= lines[1]+callBefore
	for _, text := range texts {
		text = normalised(text)
		if strings.Contains(text, statement) {
			return true
		}
		part := utf8.RuneCountInString(text) >= minSharedRunes && strings.Contains(statement, text)
		if here && (part || shareWords(text, statement)) {
			return true
		}
	}
	return false
}

// grade grades a hit. A statement counts wherever it stands, also as the request above an answer.
func (t Turn) grade(hit core.MemoryHit) (grade int, judged bool) {
	lines := [2]int{hit.StartLine, hit.EndLine}
	if t.said != nil && t.said.holds(hit.Path, lines, hit.Text, hit.Request) {
		return GradeWanted, true
	}
	if t.said != nil && t.said.Instead != nil && t.said.Instead.holds(hit.Path, lines, hit.Text, hit.Request) {
		return GradeNoise, true
	}
	if t.said != nil {
		return GradeNoise, false
	}
	return gradeOf(hit, t.judgments())
}

// gradeLines grades a line of a list, by the passages that lie in what it opens, or around it.
func (t Turn) gradeLines(path string, lines [2]int) (grade int, judged bool) {
	within := func(a, b [2]int) bool { return b[0] <= a[0] && a[1] <= b[1] }
	for _, j := range t.judgments() {
		if j.Path == path && (within(j.Lines, lines) || within(lines, j.Lines)) {
			grade, judged = max(grade, j.Grade), true
		}
	}
	return grade, judged
}
