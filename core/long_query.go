package core

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// maxQueryWindows is how many windows of a query are embedded, so that a log pasted into a turn does
	// not hold it up: those at its beginning and at its end, where people say what they want.
	maxQueryWindows = 8
	// maxQueryBytes is how much of a query is looked at for that, half at either end.
	maxQueryBytes = 1 << 17
)

// QueryCut begins the reason in Result.Degraded that is the query's own: it is too long to be embedded whole.
const QueryCut = "query is long"

// A longQuery is cut into texts that the model reads whole: its first and its last paragraph, and what
// is between them, at the borders of sentences and lines where that can be.
type longQuery struct {
	first, middle, last []string
	note                string // what was left out
}

func (q longQuery) texts() []string { return slices.Concat(q.first, q.middle, q.last) }

// mean makes one vector of those of the texts. Each of the three parts counts alike: a page of log
// lines must not drown the question below it.
func (q longQuery) mean(vectors [][]float32) []float32 {
	a, b := len(q.first), len(q.first)+len(q.middle)
	var parts [][]float32
	for _, part := range [][][]float32{vectors[:a], vectors[a:b], vectors[b:]} {
		if len(part) > 0 {
			parts = append(parts, meanOf(part))
		}
	}
	return meanOf(parts)
}

func (m *Manager) cutQuery(text string) longQuery {
	var q longQuery
	if len(text) <= maxQueryBytes && m.readsWhole(text) {
		q.middle = []string{text}
		return q
	}
	cut := len(text) > maxQueryBytes
	if cut {
		half := maxQueryBytes / 2
		text = strings.ToValidUTF8(text[:half], "") + "\n\n" + strings.ToValidUTF8(text[len(text)-half:], "")
	}
	first, middle, last := paragraphs(strings.TrimSpace(text))
	q.first, q.middle, q.last = m.windows(first), m.windows(middle), m.windows(last)
	if len(q.texts()) > maxQueryWindows {
		q.first, q.last = ends(q.first, 2), ends(q.last, 2)
		q.middle = ends(q.middle, maxQueryWindows-len(q.first)-len(q.last))
		cut = true
	}
	if cut {
		q.note = fmt.Sprintf(QueryCut+": of its meaning, only %d passages at its beginning and end were searched for", len(q.texts()))
	}
	if len(q.texts()) == 0 {
		q.middle = []string{""} // white space, or nothing a chunk is made of
	}
	return q
}

// paragraphs returns the first and the last paragraph of a text, and what is between them.
func paragraphs(text string) (first, middle, last string) {
	middle = text
	if i := strings.LastIndex(middle, "\n\n"); i >= 0 {
		middle, last = middle[:i], middle[i:]
	}
	if i := strings.Index(middle, "\n\n"); i >= 0 {
		first, middle = middle[:i], middle[i:]
	}
	return first, middle, last
}

// ends are the first and last of some texts, n in all.
func ends(texts []string, n int) []string {
	if len(texts) <= n {
		return texts
	}
	half := n / 2
	return slices.Concat(texts[:n-half], texts[len(texts)-half:])
}
