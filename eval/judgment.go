package eval

import (
	"strings"
	"unicode"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
)

// Grades of a Judgment.
const (
	GradeNoise   = 0
	GradeRelated = 1 // harmless and of little use
	GradeWanted  = 2 // changes what the agent should do, or saves it a search
)

// A Judgment says what a piece of memory is worth to one prompt.
type Judgment struct {
	Path  string `json:"path"`
	Lines [2]int `json:"lines"` // first and last, from 1
	Text  string `json:"text"`  // its beginning
	Grade int    `json:"grade"`
}

const (
	// headRunes are how many characters of two normalised texts are compared to find that they
	// begin alike.
	headRunes = 60
	// leastShared is the least length, in characters, of a text that counts as found inside another
	// one: shorter ones ("yes, go on") occur anywhere.
	leastShared = 16
	// leastCompared is from how many words on two texts are compared word by word, and sameWords the
	// share of the shorter one's that the longer one must have.
	leastCompared = 8
	sameWords     = 0.6
)

// gradeOf returns what a hit is worth by judgments on the same prompt; judged is false if none is
// about it.
//
// A judgment of a chunk with the same first line and beginning decides. Where memory is cut
// otherwise than when it was judged, the best grade of those whose text and lines the hit shares
// counts. What the hit has in its heading alone, such as the request that an answer belongs to,
// does not count.
//
// A hit stands for what was folded into it, too, since that says nearly the same.
func gradeOf(hit core.MemoryHit, judgments []Judgment) (grade int, judged bool) {
	grade, judged = gradeAt(hit, judgments)
	for _, citation := range hit.Also {
		if path, lines, ok := parseCitation(citation); ok {
			hit.Path, hit.StartLine, hit.EndLine = path, lines[0], lines[1]
			again, known := gradeAt(hit, judgments)
			grade, judged = max(grade, again), judged || known
		}
	}
	return grade, judged
}

// gradeAt is gradeOf for the hit's own place.
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

// withoutRequest returns a hit's text without the request that it has as its heading, and whether
// there was one.
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

// beginAlike reports whether two normalised texts have the same beginning, as far as both go.
func beginAlike(a, b string) bool {
	a, b = head(a), head(b)
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == b || len([]rune(a)) >= leastShared && strings.HasPrefix(b, a)
}

// sayTheSame reports whether two normalised texts are pieces of one text: one begins inside the
// other, or the longer one has most words of the shorter.
func sayTheSame(a, b string) bool {
	return a != "" && a == b || contains(a, head(b)) || contains(b, head(a)) || shareWords(a, b)
}

func contains(text, part string) bool {
	return len([]rune(part)) >= leastShared && strings.Contains(text, part)
}

func shareWords(a, b string) bool {
	shorter, longer := strings.Fields(a), strings.Fields(b)
	if len(shorter) > len(longer) {
		shorter, longer = longer, shorter
	}
	if len(shorter) < leastCompared {
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

// normalised returns the words of a text in lower case, with single spaces between them.
func normalised(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
	return strings.Join(words, " ")
}

// head is the beginning of a normalised text.
func head(text string) string {
	if runes := []rune(text); len(runes) > headRunes {
		return string(runes[:headRunes])
	}
	return text
}
