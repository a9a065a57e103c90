package core

import (
	"time"

	"github.com/memcore/memcore/core/relevance"
)

// Scopes of memory.
const (
	ScopeProject = "project" // of this workspace
	ScopeGlobal  = "global"  // of this user, in every workspace
)

// A MemoryHit is one thing worth knowing.
type MemoryHit struct {
	// ID names the chunk; it stays the same while the text and its place in the document do.
	ID string `json:"id"`
	// Text is the chunk as found in its document: data from outside, not yet made safe.
	Text string `json:"text"`
	// Score is the calibrated relevance in [0, 1]: how sure memcore is that this helps.
	Score float64 `json:"score"`
	// Source is the citation: "notes/staging.md#L10-L20".
	Source string `json:"source"`
	// TokenEstimate is about how many tokens Text costs in a prompt.
	TokenEstimate int `json:"tokenEstimate"`

	Scope     string   `json:"scope"`              // ScopeProject or ScopeGlobal
	Kind      string   `json:"kind"`               // "markdown" or "conversation"
	Path      string   `json:"path"`               // the document
	StartLine int      `json:"startLine"`          // from 1
	EndLine   int      `json:"endLine"`            // included
	Headings  []string `json:"headings,omitempty"` // outermost first
	// Request is, in the log of an agent, the request that Text answers or, if the user says Text, follows; one line.
	Request string    `json:"request,omitempty"`
	Session string    `json:"session,omitempty"`
	Speaker string    `json:"speaker,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	// Also cites what says nearly the same and was folded into this hit.
	Also []string `json:"also,omitempty"`
	// Suspicion says why Text seems to be written for a model to obey; nil if it does not.
	Suspicion *Suspicion `json:"suspicion,omitempty"`
	// Explain has the parts of Score; nil unless asked for.
	Explain *Explanation `json:"explain,omitempty"`
}

// An Explanation says where a score comes from.
type Explanation struct {
	Cosine         *float64 `json:"cosine,omitempty"` // of query and chunk, in [-1, 1]; nil without vectors
	BM25           float64  `json:"bm25"`             // raw keyword score, 0 if no term is shared
	BM25Normalised float64  `json:"bm25Normalised"`   // divided by the best BM25 for this query, in [0, 1]
	Coverage       float64  `json:"coverage"`         // BM25 divided by the query's ceiling, in [0, 1]
	Document       float64  `json:"document"`         // BM25 of the whole document
	// Terms are what Fused is the sum of: value times weight. Those of 0 are left out.
	Terms    []relevance.Term `json:"terms,omitempty"`
	Reranked *float64         `json:"reranked,omitempty"` // what the Reranker says, in [0, 1]; nil if it was not asked
	// ByTime reports that the question names nothing but a time, and Score is what the time of the record gives it.
	ByTime      bool    `json:"byTime,omitempty"`
	Fused       float64 `json:"fused"`                 // the weighted sum that ranks
	Rank        int     `json:"rank"`                  // by Fused, from 1, before folding
	KeywordRank int     `json:"keywordRank,omitempty"` // in the keyword index's answer, 0 if not among it
	VectorRank  int     `json:"vectorRank,omitempty"`  // in the vector index's answer
	// Suspicion is how much Text seems to be written for a model to obey, in [0, 1], 0.5 being where it is suspicious; nil if
	// it was not judged, as what is not given is not.
	Suspicion *float64 `json:"suspicion,omitempty"`
	// Worth is how likely the candidate is wanted in a turn that is no question, in (0, 1); nil in one that is, and in
	// a search. It decides there instead of Score.
	Worth *float64 `json:"worth,omitempty"`
	// Why says, in a turn, why the candidate is given whatever its Score; "" if the score decided.
	Why string `json:"why,omitempty"`
	// Verdict is "kept", "below threshold", "adds too little to what is given", "duplicate of …", "over budget", "over limit",
	// "the question itself", "withheld as suspicious", "much weaker than the best", "too little of what the prompt is about", "says little that
	// the prompt does not" or "the prompt names the document".
	Verdict string `json:"verdict"`
}

// RetrieveOptions narrow RetrieveRelevant. The zero value is what an agent's turn wants.
type RetrieveOptions struct {
	// Scope is ScopeProject or ScopeGlobal; "" is both.
	Scope string
	// MinSimilarity is the least Score, in (0, 1]; 0 means the calibrated default for the first hit, and as many
	// more as are worth their place; negative means no threshold.
	MinSimilarity float64
	// TopK is how many candidates each index is asked for; 0 means 50.
	TopK int
	// Limit is how many hits are returned at most; 0 means 8.
	Limit int
	// TokenBudget is how many tokens all hits together may cost; 0 means 600, negative means no
	// limit. A first hit that is larger than the budget is returned all the same.
	TokenBudget int
	// Kind is "markdown" or "conversation"; "" is both.
	Kind string
	// Path is a document, or a folder of documents; "" is all.
	Path string
	// Since and Until bound the time of a turn, or of a file's last modification; Until is excluded, zero is no
	// bound. What has no time passes no bound.
	Since, Until time.Time
	// Now is what "last week" in the request counts from, in its location; zero is time.Now().
	Now time.Time
	// Not are paths of documents that are left out, such as those already in the system prompt.
	Not []string
	// Session names the conversation that the request is part of, as its log does. What was said in it since
	// SessionFrom is left out: its model has that in its context.
	Session     string
	SessionFrom time.Time
	// HalfLife is the age at which a score counts half, by the time of the turn or of the file; 0 means that
	// age does not matter.
	HalfLife time.Duration
	// Unrecorded leaves the hits out of the record of use, as is right for questions that only
	// measure.
	Unrecorded bool
	// Diversity is the weight, in [0, 1), of being unlike the hits before (maximal marginal relevance); 0 means the
	// order is that of scores.
	Diversity float64
	// Explain asks for Explanations, and for Result.Rejected.
	Explain bool
}

// SearchOptions narrow Search.
type SearchOptions struct {
	Scope         string  // "" is both
	Path          string  // a document, or a folder of documents; "" is all
	Unrecorded    bool    // as in RetrieveOptions
	Kind          string  // "markdown" or "conversation"; "" is both
	MinSimilarity float64 // least Score in (0, 1]; 0 or less means none: who searches wants to see
	Limit         int     // 0 means 10
	Explain       bool

	Since, Until time.Time // as in RetrieveOptions
	Now          time.Time // as in RetrieveOptions
}

// A Result is the answer to a query, and how far it can be trusted.
type Result struct {
	Hits []MemoryHit `json:"hits"`
	// State says what an empty answer means: only StateReady makes it "nothing is known".
	State State `json:"state"`
	// Degraded says why not both indexes answered, such as "embedding model is unavailable: …";
	// empty if both did.
	Degraded []string `json:"degraded,omitempty"`
	// Unembedded says how much of the memory was found by keywords only, because it has no vector yet;
	// nil if all of it has one, or none is wanted. Degraded says the same in words.
	Unembedded *Unembedded `json:"unembedded,omitempty"`
	// Stale says what has changed on disk and is not in this answer; nil if nothing.
	Stale *Staleness `json:"stale,omitempty"`
	// Silence says, in a turn without hits, why memory has nothing to say; "" for a search.
	Silence string `json:"silence,omitempty"`
	// Why says in words what memory knows the question by, or misses, if Explain was asked for.
	Why string `json:"why,omitempty"`
	// Rejected are candidates that were not returned, best first, if Explain was asked for.
	Rejected []MemoryHit `json:"rejected,omitempty"`
	// Withheld would have been hits, were they not suspicious, and Options.Injection "withhold". Their Text is empty, and so are
	// the excerpts in their Suspicion, unless Explain was asked for.
	Withheld []MemoryHit `json:"withheld,omitempty"`
	// Threshold is the least score that was asked of a hit.
	Threshold float64 `json:"threshold"`
	// Took is how long it took, by stage ("fold-in", "embed", "keywords", "vectors", "rerank", "screen", "total").
	Took map[string]time.Duration `json:"took,omitempty"`
}

// Unembedded says how much of a memory has no vector yet.
type Unembedded struct {
	Chunks  int `json:"chunks"`  // in all
	Pending int `json:"pending"` // of them without a vector
}

// A Staleness says how far an index is behind its documents.
type Staleness struct {
	Files  int    `json:"files"`  // changed, new or deleted documents that are not folded in
	Reason string `json:"reason"` // "time budget of 150ms used up", "another process is indexing", …
}

// A State says what an index can answer.
type State string

const (
	StateReady    State = "ready"    // all documents are in the keyword index
	StateBuilding State = "building" // a first or new index is not complete yet
	StateMissing  State = "missing"  // nothing was ever indexed here
	StateDamaged  State = "damaged"  // an index cannot be read; it has to be rebuilt
	StateNewer    State = "newer"    // a newer release made the index; it is neither read nor changed
)
