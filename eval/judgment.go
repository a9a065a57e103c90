package eval

import (
	"strings"
	"unicode"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/paths"
)

// Grades of a Judgment.
const (
	GradeNoise   = 0
	GradeRelated = 1 // harmless and of little use
	GradeWanted  = 2 // changes what the agent should do, or saves a search
)

// A Judgment grades a piece of memory for a prompt.
type Judgment struct {
	Path  string `json:"path"`
	Lines [2]int `json:"lines"` // first and last, from 1
	Text  string `json:"text"`  // its beginning
	Grade int    `json:"grade"`
}

const (
	// headRunes is how many characters of normalised texts beginAlike compares.
	headRunes = 60
	// minShared is the least length, in characters, of a text inside another. Shorter ones ("yes,
	// go on") occur anywhere.
	minShared = 16
	// minCompared is the fewest words to compare; sameWords is the share of the shorter text's
	// words in the longer.
	minCompared = 8
	sameWords   = 0.6
)

// gradeOf returns the grade of a hit, and whether it was judged.
//
// A judgment with the same first line and beginning decides. If chunks have changed, the best grade
// with overlapping text and lines counts. Headings of hits do not count; duplicates folded into a
// hit do.
func gradeOf(hit core.MemoryHit, judgments []Judgment) (grade int, judged bool) {
	grade, judged = gradeAt(hit, judgments)
	for _, citation := range hit.Also {
		if path, lines, ok := ParseCitation(citation); ok {
			hit.Path, hit.StartLine, hit.EndLine = path, lines[0], lines[1]
			again, known := gradeAt(hit, judgments)
			grade, judged = max(grade, again), judged || known
		}
	}
	return grade, judged
}

// gradeAt is gradeOf without the near duplicates.
func gradeAt(hit core.MemoryHit, judgments []Judgment) (grade int, judged bool) {
	text, headed := withoutRequest(hit)
	said := normalised(text)
	if !headed {
		for _, j := range judgments {
			if j.Path == hit.Path && j.Lines[0] == hit.StartLine && beginAlike(said, normalised(j.Text)) {
				grade, judged = max(grade, j.Grade), true
			}
		}
	}
	if judged {
		return grade, true
	}
	for _, j := range judgments {
		overlap := j.Lines[0] <= hit.EndLine && hit.StartLine <= j.Lines[1]
		if j.Path == hit.Path && overlap && sayTheSame(said, normalised(j.Text)) {
			grade, judged = max(grade, j.Grade), true
		}
	}
	return grade, judged
}

// withoutRequest removes the request that heads a hit's text, if there is one.
func withoutRequest(hit core.MemoryHit) (text string, found bool) {
	if hit.Kind != source.KindConversation {
		return hit.Text, false
	}
	first, rest, more := strings.Cut(strings.TrimSpace(hit.Text), "\n")
	if !more || strings.TrimSpace(rest) == "" {
		return hit.Text, false
	}
	begins := func(heading string) bool {
		line, whole := normalised(first), normalised(heading)
		return line != "" && (strings.HasPrefix(whole, line) || whole != "" && strings.HasPrefix(line, whole))
	}
	marked := strings.HasPrefix(first, "#") && hit.EndLine > hit.StartLine
	if marked || begins(hit.Request) {
		return rest, true
	}
	return hit.Text, false
}

// beginAlike reports whether one of two normalised texts begins with the other.
func beginAlike(a, b string) bool {
	a, b = head(a), head(b)
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == b || len([]rune(a)) >= minShared && strings.HasPrefix(b, a)
}

// sayTheSame reports whether one text begins inside the other, or the longer has most words of the
// shorter.
func sayTheSame(a, b string) bool {
	return a != "" && a == b || contains(a, head(b)) || contains(b, head(a)) || shareWords(a, b)
}

func contains(text, part string) bool {
	return len([]rune(part)) >= minShared && strings.Contains(text, part)
}

func shareWords(a, b string) bool {
	shorter, longer := strings.Fields(a), strings.Fields(b)
	if len(shorter) > len(longer) {
		shorter, longer = longer, shorter
	}
	if len(shorter) < minCompared {
		return false
	}
	left := map[string]int{}
	for _, word := range longer {
		left[word]++
	}
	shared := 0
	for _, word := range shorter {
		if left[word] > 0 {
			left[word]--
			shared++
		}
	}
	return float64(shared) >= sameWords*float64(len(shorter))
}

// normalised returns the words of a text in lower case with single spaces.
func normalised(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
	return strings.Join(words, " ")
}

func head(text string) string {
	if runes := []rune(text); len(runes) > headRunes {
		return string(runes[:headRunes])
	}
	return text
}

// ParseCitation reads "notes/staging.md#L10-L20" or "notes/staging.md#L10".
func ParseCitation(citation string) (path string, lines [2]int, ok bool) {
	path, first, last, ok := paths.ParseCitation(citation)
	return path, [2]int{first, last}, ok
}
