package relevance

// Kinds each have their own weights, so evidence that a kind never has costs it nothing.
var Kinds = []string{KindPeople, KindAssistant, KindDocuments}

const (
	KindPeople    = "people"    // turns of people with names
	KindAssistant = "assistant" // turns of a user and an assistant
	KindDocuments = "documents" // everything else
)

func KindOf(c Candidate) string {
	switch {
	case !c.Turn:
		return KindDocuments
	case IsName(c.Speaker):
		return KindPeople
	}
	return KindAssistant
}

// kindTerm makes sums of several kinds comparable.
const kindTerm = "kind"

func (m *Model) weightsOf(kind string) map[string]float64 {
	if weights, ok := m.Kinds[kind]; ok {
		return weights
	}
	return m.Weights
}

// handicaps make the kinds' sums of full evidence equal, so that more terms are no advantage; nil
// for one kind.
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
