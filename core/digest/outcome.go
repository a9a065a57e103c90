package digest

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/markdown/fence"
	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/memcore/memcore/internal/text/lazy"
)

const (
	// minWorth is the worth of an outcome, good that from which a later one replaces an earlier
	// one.
	minWorth = 2
	good     = 5
)

var (
	announcing = lazy.Regexp(`(?i)^(?:\W*(?:now|next|first|ok|okay|great|good|perfect|excellent|alright|right|so|and|then|finally|also|yes|done|sure|got it|i see|wonderful|nice)\b[,.!:]*\s*)*` +
		`(?:let me|let's|let us|i'll|i will|i'm going to|i am going to|i'm now|i need to|we need to|i should|time to|checking|looking|reading|running|updating|adding|creating|continuing|considering|planning|exploring|searching|thinking|preparing|i'm (?:exploring|planning|considering|thinking|preparing|putting|looking|checking)|here(?:'s| is| are)|below (?:is|are)|` +
		`summary|changes made|files (?:created|changed|modified)|what (?:changed|was done|i did)|now i|ich werde|lass mich|voy a|je vais)\b|^(?:让我|我来|我将|まず|次に)`)
	// intending says what the agent is about to do, or repeats what the user wants.
	intending = lazy.Regexp(`(?i)\b(?:i'll|i will|let me|i'm going to|i should|i need to|we need to (?:add|check|look|see|fix|update)|i have a good understanding|double-check)\b|^\W*(?:you want|you'd like|i understand|i see that you|wait\b|good (?:idea|question|point|catch))|^read file:`)
	praising  = lazy.Regexp(`(?i)^\W*(?:perfect|great|excellent|done|good|nice|awesome|you're (?:absolutely )?(?:right|welcome)|absolutely|got it|understood|makes sense|sure|of course|thanks)\b[^.!]{0,24}[.!]?$`)
	passing   = lazy.Regexp(`(?i)\b(?:all|both|the|\d+|every)\b.{0,30}\b(?:tests?|checks?|lint(?:er|ing)?|builds?|assertions?)\b.{0,30}\b(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?|green|clean|compiles?)\b|\b(?:build|lint\w*|tests?|compil\w+|code) (?:now )?(?:is clean|pass(?:es|ed)?|succeed(?:s|ed)|successful)|^\W*(?:0 issues|no (?:lint|linting) (?:issues|errors))`)
	offering  = lazy.Regexp(`(?i)^\W*(?:if you|let me know|would you|do you|should i|shall i|want me|feel free|please (?:let|tell|confirm|review|run|check|try)|you can (?:now )?(?:test|run|try|review|verify)|ready (?:to|for)|is there|anything else|falls du|soll ich)\b`)
	// about are headings whose text says what was found.
	about = lazy.Regexp(`(?i)^(?:the )?(?:root cause|cause|problem|issue|reason|fix|solution|decision|answer|finding|conclusion|result|recommendation|ursache|lösung|entscheidung|causa|solución|décision|原因|解决方案|结论|決定|結論)s?:?$`)
)

// Points of words and of pairs of words: what was found, what was done, what holds. Tables of words
// are many times faster than expressions.
const (
	foundPoints = 4
	donePoints  = 2
	ruledPoints = 1
)

var telltale = sync.OnceValue(func() map[string]int {
	table := map[string]int{}
	for points, words := range map[int]string{
		foundPoints: `because cause caused cause: reason: fix: decision: culprit instead rather otherwise therefore decided turns_out root_cause due_to so_that no_longer none_of only_works only_if only_when only_handles must_be must_not has_to
			issue_is issue_was problem_is problem_was bug_is bug_was reason_is reason_was fix_is fix_was solution_is solution_was cause_is cause_was
			is_missing was_missing were_missing was_never is_never is_unused is_wrong was_wrong not_supported won't_work doesn't_work doesn't_match doesn't_exist doesn't_support doesn't_handle doesn't_have doesn't_include doesn't_use
			didn't_work didn't_match can't_be cannot_be can't_use does_not did_not do_not weil ursache stattdessen behoben porque causa parce_que au_lieu en_vez`,
		donePoints: `fixed added created moved renamed changed updated removed deleted replaced implemented refactored extracted split merged switched converted introduced dropped bumped pinned wired moves adds uses returns now keeps falls_back supports
			hinzugefügt geändert entfernt ersetzt añadido cambiado eliminado ajouté supprimé modifié`,
		ruledPoints: `always never must should only requires needs by_default immer nie muss siempre nunca toujours jamais`,
	} {
		for word := range strings.FieldsSeq(words) {
			table[strings.ReplaceAll(word, "_", " ")] = points
		}
	}
	return table
})

// wideTelltale are those of scripts without spaces.
var wideTelltale = []struct {
	text   string
	points int
}{
	{"原因", foundPoints}, {"问题是", foundPoints}, {"因为", foundPoints}, {"解决", foundPoints}, {"修复", foundPoints}, {"而不是", foundPoints}, {"ため", foundPoints}, {"修正", foundPoints},
	{"添加", donePoints}, {"删除", donePoints}, {"修改", donePoints}, {"改为", donePoints}, {"追加", donePoints}, {"削除", donePoints}, {"変更", donePoints},
	{"必须", ruledPoints}, {"总是", ruledPoints}, {"不能", ruledPoints}, {"必ず", ruledPoints}, {"常に", ruledPoints},
}

// points scores a line by its words, each kind once, and returns where the first word of the most
// telling kind ends, or 0.
func points(text string) (n, end int) {
	table := telltale()
	seen, most := 0, 0
	note := func(points, at int) {
		if points == 0 {
			return
		}
		if points > most {
			most, end = points, at
		}
		seen |= 1 << points
	}
	last, from := "", -1
	for i := 0; i <= len(text); i++ {
		if i < len(text) && (isLetter(rune(text[i])) || text[i] == '\'' || text[i] == ':') {
			if from < 0 {
				from = i
			}
			continue
		}
		if from < 0 {
			continue
		}
		word := strings.ToLower(text[from:i])
		note(table[word], i)
		if last != "" {
			note(table[last+" "+word], i)
		}
		last, from = word, -1
	}
	if !isASCII(text) {
		for _, w := range wideTelltale {
			if at := strings.Index(text, w.text); at >= 0 {
				note(w.points, at+len(w.text))
			}
		}
	}
	for _, points := range []int{foundPoints, donePoints, ruledPoints} {
		if seen&(1<<points) != 0 {
			n += points
		}
	}
	return n, end
}

// worth says how much a line of an answer says, 0 for nothing.
func worth(text string) int { return worthAbove(text, 0) }

// worthAbove returns 0 also for what is worth no more than least.
func worthAbove(text string, least int) int {
	words := strings.Count(text, " ") + 1
	wide := utf8.RuneCountInString(text)*2 < len(text)
	if text == "" || words < 3 && !wide || wide && len(text) < 24 || strings.HasSuffix(text, ":") || strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") {
		return 0
	}
	n, _ := points(text)
	n++
	if isSpecific(text) {
		n++
	}
	if len(text) >= 60 {
		n++
	}
	if n <= least || announcing().MatchString(text) || praising().MatchString(text) || offering().MatchString(text) {
		return 0
	}
	if words < 6 && !wide && !isSpecific(text) {
		n = min(n, 2)
	}
	if n > 2 && (strings.Contains(text, "pass") || strings.Contains(text, "succe") || strings.Contains(text, "clean")) && passing().MatchString(text) {
		n = 2
	}
	if n > 1 && intending().MatchString(text) {
		n = 1
	}
	if n <= least {
		return 0
	}
	return n
}

// isSpecific reports whether a line has a name of code, a path or a number.
func isSpecific(text string) bool {
	for i := 1; i < len(text)-1; i++ {
		switch c := text[i]; {
		case c >= '0' && c <= '9', c == '_', c == '/':
			return true
		case (c == '.' || c == ':') && isLetter(rune(text[i-1])) && isLetter(rune(text[i+1])):
			return true
		case c >= 'A' && c <= 'Z' && text[i-1] >= 'a' && text[i-1] <= 'z':
			return true
		}
	}
	return false
}

// outcomeOf returns the sentence of an answer that says most, or "".
func outcomeOf(text string, redact func(string) string) string {
	text = excerpt.Tail(text, maxRead) // an answer ends with what it found
	best, most, heading := "", 0, ""
	var open fence.Fence
	for l := range strings.SplitSeq(text, "\n") {
		var isCode bool
		if open, isCode = open.Next(l); isCode {
			continue
		}
		trimmed := strings.TrimSpace(l)
		switch {
		case trimmed == "", isTask(trimmed), strings.HasPrefix(trimmed, "|"), strings.HasPrefix(trimmed, ">"), strings.Contains(trimmed, " | "):
			continue
		case isHeading(trimmed):
			heading = ""
			if title := plain(listMark().ReplaceAllString(trimmed, "")); about().MatchString(title) {
				heading = strings.TrimSuffix(title, ":")
			}
			continue
		}
		l = listMark().ReplaceAllString(l, "")
		for from, to := range chunker.Sentences(l) {
			sentence := plain(l[from:to])
			if heading != "" {
				sentence = heading + ": " + sentence
			}
			if n := worthAbove(sentence, most); n > most {
				best, most = sentence, n
			}
		}
		heading = ""
	}
	if most < minWorth {
		return ""
	}
	return clause(line(redact(best)))
}

// isTask reports whether a line is an entry of a list of tasks, which says what is planned or
// ticked off and is repeated from answer to answer.
func isTask(l string) bool {
	l = strings.TrimLeft(l, "-*+ ")
	return strings.HasPrefix(l, "[ ]") || strings.HasPrefix(l, "[x]") || strings.HasPrefix(l, "[X]") || strings.HasPrefix(l, "✅ [") || strings.HasPrefix(l, "☐") || strings.HasPrefix(l, "☑")
}

var boldLine = lazy.Regexp(`^(?:[-*+•]\s+|\d{1,3}[.)]\s+)?\*\*[^*]+\*\*:?$`)

// isHeading reports whether a line is a heading, or bold text alone.
func isHeading(l string) bool {
	return strings.HasPrefix(l, "#") || strings.HasPrefix(l, "---") || strings.HasPrefix(l, "**") && boldLine().MatchString(l) || boldLine().MatchString(l)
}

// clause shortens a sentence so that its finding stays.
func clause(sentence string) string {
	sentence = strings.TrimSpace(sentence)
	if len(sentence) <= maxOutcome {
		return sentence
	}
	if _, end := points(sentence); end > maxOutcome*3/4 {
		from := strings.LastIndexAny(sentence[:end], ",;:—–(，；：")
		if from < 0 || end-from > maxOutcome*3/4 || end-from < 12 {
			from = strings.LastIndexByte(sentence[:end-maxOutcome/2], ' ')
		}
		if from > 0 {
			_, n := utf8.DecodeRuneInString(sentence[from:])
			sentence = "… " + strings.TrimSpace(sentence[from+n:])
		}
	}
	return excerpt.Words(sentence, maxOutcome)
}
