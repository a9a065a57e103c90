package injection

import (
	"strings"

	"github.com/memcore/memcore/internal/text/lazy"
)

var (
	// runsDownload matches a shell's line that runs what an address answers.
	runsDownload = lazy.Regexp(`\b(?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod)\b[^|\n]*\|\s*(?:sudo\s+(?:-\w+\s+)*)?(?:/\S*/)?(?:(?:ba|z|da|k|fi|pw)?sh|iex|invoke-expression|(?:python|node|perl|ruby|php)[\d.]*)(?:\s*$|\s+-(?:\s|$)|\s*[^\s\w-]|\s+-?s\b|\s+[a-z]{2,})` +
		`|\b(?:(?:ba|z|da|k|fi)?sh|eval|source|iex|exec)\b[^|\n]{0,12}(?:\$\(|<\(|` + "`" + `)\s*(?:curl|wget)\b`)
	// freed matches the names of a model without rules.
	freed = lazy.Regexp(`\byou(?:'re| are)\s+(?:now\s+)?(?:(?:called|named|acting as|an?|the|in)\s+)*(?:dan\b|stan\b|dude\b|aim\b|jailbroken|jail-broken|unrestricted|unfiltered|uncensored|unchained|developer mode|god mode|sudo mode|do anything now)`)
)

// Seizes reports whether what the user is said to have ordered reads as if somebody else had
// planted it, also if Judge passes it as the user's: it is given as the user's own words. What only
// the threshold of foreign text flags needs a sign beside it, such as an address: "from now on you
// write in Dutch" is like an attack, too.
func (f *Filter) Seizes(order string) bool {
	if f == nil || f.Policy == Off {
		return false
	}
	folded := fold(order)
	if runsDownload().MatchString(folded) || freed().MatchString(folded) {
		return true
	}
	for _, found := range judge(order, Foreign, shipped()).Findings {
		if len(found.Rules) > 0 || containsAny(fold(found.Excerpt), linkMarks) {
			return true
		}
	}
	shape := shapesOf(order, folded)
	return shape[shapeSecrets] && (shape[shapeLink] || strings.Contains(folded, "@"))
}
