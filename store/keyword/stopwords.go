package keyword

import "strings"

// stopWords are English words without a subject. Queries drop them, texts never; that brings 6 more
// of 100 answers into the first ten. May and Will are also names and not listed.
var stopWords = setOf(`
	a an the
	i me my mine myself we us our ours ourselves you your yours yourself yourselves
	he him his himself she her hers herself it its itself they them their theirs themselves
	this that these those there here
	what which who whom whose when where why how
	am is are was were be been being
	do does did doing done have has had having
	can could shall should would might must
	and or but nor so if than then as because while
	of in on at by for with about from to into onto over under between through during
	not no yes too very just also only
	any some each every all both few more most other such same own
	im youre hes shes theyre ive youve weve theyve id youd wed theyd ill youll theyll
	isnt arent wasnt werent dont doesnt didnt havent hasnt hadnt cant couldnt shouldnt wouldnt wont
	whats whos wheres whens hows thats theres lets
	let tell know please
`)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(words) {
		set[word] = true
	}
	return set
}
