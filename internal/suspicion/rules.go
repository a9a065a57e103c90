package suspicion

import "strings"

// A ruleSet has a bit for each rule, by its place.
type ruleSet uint32

const maxRules = 16

// A rule is what an attack says, in whatever words: classes of which one word each stands near the others.
type rule struct {
	name  string
	needs []classSet // one word of each set, in any order, no more than near words in all
	span  int        // words from the first to the last; 0 is near
	also  func(r *reading) bool
	// decides says that a window of which the rule holds is suspicious, whatever the classifier says.
	decides bool
}

func anyOf(all ...class) (s classSet) {
	for _, c := range all {
		s |= 1 << c
	}
	return s
}

// rules are at most maxRules. Their places are part of the model: a new one goes to the end.
var rules = []rule{
	{name: "drops instructions", needs: []classSet{anyOf(classDrop), anyOf(classOrders), anyOf(classBefore, classYou, classSystem)}, span: 9},
	{name: "asks for the prompt", needs: []classSet{anyOf(classReveal, classAnswer), anyOf(classOrders), anyOf(classYou, classSystem, classBefore)}, span: 9},
	{name: "asks for a secret", needs: []classSet{anyOf(classReveal, classSend), anyOf(classSecret, classPersonal), anyOf(classYou, classUser, classMachine)}, span: 10},
	{name: "keeps something from the user", needs: []classSet{anyOf(classConceal), anyOf(classUser)}, span: 6},
	{name: "gives a new role", needs: []classSet{anyOf(classRole, classNow, classSuppose), anyOf(classYou, classMachine), anyOf(classFree)}, span: 14},
	{name: "claims authority", needs: []classSet{anyOf(classSystem), anyOf(classOrders, classFree), anyOf(classUrgent, classNow)}, span: 8},
	{name: "sends data away", needs: []classSet{anyOf(classSend), anyOf(classSecret, classPersonal, classUser)}, span: 10,
		also: func(r *reading) bool { return r.shape[shapeLink] > 0 || strings.Contains(r.folded, "@") }},
	{name: "hidden text", also: func(r *reading) bool { return r.shape[shapeHidden] >= 1 }, decides: true},
	{name: "hidden markup with orders", needs: []classSet{anyOf(classDrop, classAnswer, classReveal, classConceal), anyOf(classOrders, classYou, classUser, classMachine)}, span: 12,
		also: func(r *reading) bool { return r.shape[shapeComment] > 0 }},
	{name: "imitates a chat template", also: func(r *reading) bool { return containsAny(r.folded, strongTokens) }, decides: true},
	{name: "dictates the answer", needs: []classSet{anyOf(classAnswer, classReveal), anyOf(classOnly), anyOf(classGrant, classNow, classUser)}, span: 12},
}

// strongTokens are of use in nothing but a chat template.
var strongTokens = []string{"<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|system|>", "<|start_header_id|>", "<|eot_id|>", "[/inst]", "<<sys>>", "<</sys>>",
	"<start_of_turn>", "<end_of_turn>"}

// apply finds which rules hold.
func (r *reading) apply() {
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
	if len(u.needs) == 0 {
		return true
	}
	span := u.span
	if span == 0 {
		span = near
	}
	for i, t := range r.tokens {
		if !meets(t.is, u.needs) {
			continue
		}
		found := 0
		for _, o := range r.tokens[i:min(i+span, len(r.tokens))] {
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

func meets(is classSet, needs []classSet) bool {
	for _, need := range needs {
		if is&need != 0 {
			return true
		}
	}
	return false
}

// deciding are the rules that decide alone.
func deciding(s ruleSet) bool {
	for i := range rules {
		if rules[i].decides && s&(1<<i) != 0 {
			return true
		}
	}
	return false
}
