package relevance

// Kinds are the kinds of candidates that have weights of their own: evidence that one kind of
// memory has, such as sessions or speakers, must not cost the others the weight of theirs.
var Kinds = []string{KindPeople, KindAssistant, KindDocuments}

const (
	KindPeople    = "people"    // turns of people who have names
	KindAssistant = "assistant" // turns of a user and an assistant
	KindDocuments = "documents" // everything else
)

// KindOf returns the kind of a candidate.
func KindOf(c Candidate) string {
	switch {
	case !c.Turn:
		return KindDocuments
	case isName(c.Speaker):
		return KindPeople
	}
	return KindAssistant
}

// kindTerm is the name of the term that makes sums of several kinds comparable.
const kindTerm = "kind"

func (m *Model) weightsOf(kind string) map[string]float64 {
	if weights, ok := m.Kinds[kind]; ok {
		return weights
	}
	return m.Weights
}

// handicaps returns what is taken off the sums of each kind where candidates of several kinds
// compete, nil where they are of one: as much as the sum of a candidate that is best by all
// evidence would be more than in the other kinds. So what counts is how much a candidate lacks of
// the best of its kind, and a kind with more terms has no advantage.
func (m *Model) handicaps(q Query, candidates []Candidate) map[string]float64 {
	if len(m.Kinds) == 0 {
		return nil
	}
	full := map[string]float64{}
	for _, c := range candidates {
		kind := KindOf(c)
		if _, ok := full[kind]; ok {
			continue
		}
		weights := m.weightsOf(kind)
		full[kind] = weights[Names[atKeywords]] + weights[Names[atDocument]]
		if q.Vectors {
			full[kind] += weights[Names[atCosine]] + weights[Names[atDocumentCosine]]
		}
	}
	if len(full) < 2 {
		return nil
	}
	least := -1.0
	for _, sum := range full {
		if least < 0 || sum < least {
			least = sum
		}
	}
	for kind := range full {
		full[kind] -= least
	}
	return full
}
