package eval

import (
	"testing"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
)

func TestGradeOf(t *testing.T) {
	const (
		request = "Why does the nightly export stop after the third file? It worked last week."
		answer  = "The export stops because the temporary folder is full: rotate() keeps every archive. I set keep to 3 and added a test."
		step    = "Let me look at the rotation code first, and at what the temporary folder holds."
	)
	long := request + " I have tried it with the small set too, and there it never stops, so I guess that it is about the size."
	chat := func(first, last int, request, text string) core.MemoryHit {
		return core.MemoryHit{Kind: source.KindConversation, Path: "sessions/a.jsonl", StartLine: first, EndLine: last, Request: request, Text: text}
	}
	file := func(first, last int, text string) core.MemoryHit {
		return core.MemoryHit{Kind: source.KindMarkdown, Path: "notes/export.md", StartLine: first, EndLine: last, Headings: []string{"Export"}, Text: text}
	}
	judged := func(path string, first, last, grade int, text string) Judgment {
		return Judgment{Path: path, Lines: [2]int{first, last}, Grade: grade, Text: text}
	}
	log, notes := "sessions/a.jsonl", "notes/export.md"
	for name, test := range map[string]struct {
		hit       core.MemoryHit
		judgments []Judgment
		grade     int
		judged    bool
	}{
		"the chunk as it was judged": {chat(8, 8, "", answer), []Judgment{judged(log, 8, 8, 2, answer)}, 2, true},
		"its judged text is cut":     {chat(8, 8, "", answer), []Judgment{judged(log, 8, 8, 2, answer[:40])}, 2, true},
		"case and punctuation":       {chat(8, 8, "", "**THE EXPORT** stops: because the temporary folder is full"), []Judgment{judged(log, 8, 8, 2, "The export stops because the temporary folder is full.")}, 2, true},
		"another path":               {chat(8, 8, "", answer), []Judgment{judged("sessions/b.jsonl", 8, 8, 2, answer)}, 0, false},
		"another line":               {chat(8, 8, "", answer), []Judgment{judged(log, 9, 9, 2, answer)}, 0, false},
		"another chunk of the line":  {chat(8, 8, "", answer), []Judgment{judged(log, 8, 8, 2, "Everything is committed now, the changelog names it, and the ticket is closed.")}, 0, false},
		"the chunk itself before what it shares words with": {chat(8, 8, "", step),
			[]Judgment{judged(log, 8, 8, 0, step), judged(log, 8, 8, 2, step[4:]+" The folder is full.")}, 0, true},

		"an exchange has its answer's grade": {chat(3, 8, "Why does the nightly export stop", answer),
			[]Judgment{judged(log, 3, 3, 1, request), judged(log, 8, 8, 2, answer)}, 2, true},
		"the request as heading is not the request": {chat(3, 8, request, "## "+request+"\n\n"+answer), []Judgment{judged(log, 3, 3, 2, request)}, 0, false},
		"nor if it is shortened":                    {chat(3, 8, "Why does the nightly export stop…", "Why does the nightly export stop…\n\n"+answer), []Judgment{judged(log, 3, 3, 2, request)}, 0, false},
		"nor if only its mark tells":                {chat(3, 8, "", "## "+request+"\n\n"+answer), []Judgment{judged(log, 3, 3, 2, request)}, 0, false},
		"nor is a heading the judged beginning":     {chat(3, 8, request, request+"\n\n"+answer), []Judgment{judged(log, 3, 3, 2, request), judged(log, 8, 8, 1, answer)}, 1, true},
		"a request that stands for itself":          {chat(3, 3, "", long), []Judgment{judged(log, 3, 3, 2, request)}, 2, true},
		"a part of the answer": {chat(3, 8, "Why", "rotate() keeps every archive. I set keep to 3 and added a test."),
			[]Judgment{judged(log, 8, 8, 2, answer)}, 2, true},
		"what stands between them is another thing": {chat(3, 8, "Why", answer), []Judgment{judged(log, 5, 5, 2, step)}, 0, false},
		"short texts occur anywhere":                {chat(3, 8, "Why", "Yes, go on. "+answer), []Judgment{judged(log, 5, 5, 2, "go on")}, 0, false},
		"the best of several":                       {chat(3, 8, "Why", step+" "+answer), []Judgment{judged(log, 5, 5, 0, step), judged(log, 8, 8, 2, answer)}, 2, true},

		"a file cut elsewhere": {file(10, 30, "# Export\n\nIt runs at two.\n\n"+answer), []Judgment{judged(notes, 14, 40, 2, answer)}, 2, true},
		"most of its words": {file(10, 30, "Keep is 3, says the test: the export stops because its temporary folder is full of archives."),
			[]Judgment{judged(notes, 12, 20, 1, "the export stops because the temporary folder is full of every archive")}, 1, true},
		"a Markdown heading counts": {file(10, 11, "# Export of the nightly archive\n\nAt two."), []Judgment{judged(notes, 10, 11, 1, "# Export of the nightly archive\n\nAt two.")}, 1, true},
		"what was folded into it": {core.MemoryHit{Kind: source.KindConversation, Path: log, StartLine: 2, EndLine: 2, Text: answer, Also: []string{"notes/export.md#L14-L40"}},
			[]Judgment{judged(notes, 14, 40, 2, answer)}, 2, true},
		"not judged": {file(10, 30, answer), nil, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			grade, known := gradeOf(test.hit, test.judgments)
			if grade != test.grade || known != test.judged {
				t.Errorf("gradeOf = %d, %t, want %d, %t", grade, known, test.grade, test.judged)
			}
		})
	}
}
