package injection

import (
	"slices"
	"strings"
)

// A ruleSet has a bit per rule.
type ruleSet uint32

// A rule is a phrase of attacks, in any words and language.
type rule struct {
	name  string
	needs []classSet // a word of each, in any order
	span  int        // most words from the first to the last
	also  func(r *reading) bool
}

func anyOf(all ...class) (s classSet) {
	for _, c := range all {
		s |= 1 << c
	}
	return s
}

var rules = []rule{
	{name: "drops instructions", needs: []classSet{anyOf(classDrop), anyOf(classOrders), anyOf(classBefore, classYou, classSystem)}, span: 9},
	{name: "asks for the prompt", needs: []classSet{anyOf(classReveal, classAnswer), anyOf(classOrders), anyOf(classYou, classSystem, classBefore)}, span: 9},
	{name: "asks for a secret", needs: []classSet{anyOf(classReveal, classSend), anyOf(classSecret, classPersonal), anyOf(classYou, classUser, classMachine)}, span: 10},
	{name: "keeps something from the user", needs: []classSet{anyOf(classConceal), anyOf(classUser)}, span: 6},
	{name: "gives a new role", needs: []classSet{anyOf(classRole, classNow, classSuppose), anyOf(classYou, classMachine), anyOf(classFree)}, span: 14},
	{name: "claims authority", needs: []classSet{anyOf(classSystem), anyOf(classOrders, classFree), anyOf(classUrgent, classNow)}, span: 8},
	{name: "sends data away", needs: []classSet{anyOf(classSend), anyOf(classSecret, classPersonal, classUser)}, span: 10,
		also: func(r *reading) bool { return r.shape[shapeLink] || strings.Contains(r.folded, "@") }},
	{name: "hidden markup with orders", needs: []classSet{anyOf(classDrop, classAnswer, classReveal, classConceal), anyOf(classOrders, classYou, classUser, classMachine)}, span: 12,
		also: func(r *reading) bool { return r.shape[shapeComment] }},
	{name: "dictates the answer", needs: []classSet{anyOf(classAnswer, classReveal), anyOf(classOnly), anyOf(classGrant, classNow, classUser)}, span: 12},
	{name: "adds code that reaches out", needs: []classSet{anyOf(classRun, classSend, classAnswer, classOnly), anyOf(classFollowing)}, span: 14,
		also: func(r *reading) bool { return r.shape[shapeReach] }},
}

// applyRules finds the rules that match.
func (r *reading) applyRules() {
	for i := range rules {
		if rules[i].holds(r) {
			r.rules |= 1 << i
		}
	}
}

func (u *rule) holds(r *reading) bool {
	if u.also != nil && !u.also(r) {
		return false
	}
	for i, t := range r.tokens {
		if !slices.ContainsFunc(u.needs, func(need classSet) bool { return t.is&need != 0 }) {
			continue
		}
		found := 0
		for _, o := range r.tokens[i:min(i+u.span, len(r.tokens))] {
			for k, need := range u.needs {
				if o.is&need != 0 {
					found |= 1 << k
				}
			}
		}
		if found == 1<<len(u.needs)-1 {
			return true
		}
	}
	return false
}

// templateTokens occur in chat templates only. Package sanitize escapes each of them
// (TestChatTokensAreDefused).
var templateTokens = []string{"<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|system|>",
	"<|start_header_id|>", "<|eot_id|>", "[/inst]", "<<sys>>", "<</sys>>", "<start_of_turn>",
	"<end_of_turn>"}

// maxHidden is how many invisible characters a window of honest text may have.
const maxHidden = 7

// certain returns why a window is flagged whatever its score, or "".
func certain(text, folded string) string {
	hidden := 0
	for _, r := range text {
		if isInvisible(r) {
			hidden++
		}
	}
	switch {
	case hidden > maxHidden:
		return "hidden text"
	case containsAny(folded, templateTokens):
		return "imitates a chat template"
	}
	return ""
}
