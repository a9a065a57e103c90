package prompt

import "strings"

// ofSolved matches questions about the last solved problem, without a topic such as "what bug did
// we fix in the parser?".
var ofSolved = lazily(`(?i)^[^.?!\n]{0,40}?(` +
	`\b(what|which) (\w+ )?(bugs?|problems?|issues?|errors?|failures?|crash(es)?) (did|have|had) (we|you|i) (just |last |recently )?(fix|fixed|solve|solved|resolve|resolved|debug|debugged)` +
	`|\bwhat did (we|you|i) (just |last |recently )?(fix|solve|resolve|debug)` +
	`|\b(what|which) (was|is) the (last|latest|most recent|previous) (bug|problem|issue|error|crash)( (that )?(we|you|i) (have |had )?(fixed|solved|resolved|debugged))?` +
	`|\bwelche[nrs]? (bugs?|fehler|problem|absturz) (haben wir|hast du|habe ich)( (letztes mal|zuletzt|das letzte mal))? (behoben|gefixt|gelöst|repariert)` +
	`)( (the )?(last|previous) (time|session)| in the (last|previous) session| last| recently| before| earlier| previously| here| together| the other day)*[\s\p{P}\p{S}]*$` +
	`|^(我们|你)?(上次|上回|之前|最近)(我们|你)?(修复|修|解决|修好)了?(的是)?(什么|哪个|哪些)(样的)?\s*(bug|问题|错误|故障)?[\s\p{P}\p{S}]*$`)

// AsksWhatWasSolved reports whether a prompt asks "what bug did we fix last time?", in English,
// German or Chinese.
func (p Prompt) AsksWhatWasSolved() bool {
	own := strings.TrimSpace(strings.ReplaceAll(p.Own, "’", "'"))
	return own != "" && len(own) <= maxAboutSelf && p.Pasted == 0 && !p.Orders && p.Kind != Command && ofSolved.MatchString(own)
}
