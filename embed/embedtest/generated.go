package embedtest

import "strings"

// ruleWords are those of Generated.
var ruleWords = strings.Fields("memory index token vector chunk log note query score hit turn agent file line page word")

// Generated returns n words by a rule that the scripts which make reference vectors know, too.
func Generated(n int) string {
	var words []string
	for state := uint32(1); len(words) < n; {
		state = (state*1103515245 + 12345) % (1 << 31)
		words = append(words, ruleWords[state>>16%uint32(len(ruleWords))])
	}
	return strings.Join(words, " ")
}
