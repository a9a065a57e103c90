package core

import (
	"slices"
	"time"

	"github.com/memcore/memcore/core/digest"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/paths"
)

// Scopes of memory.
const (
	ScopeProject = "project" // of this workspace
	ScopeGlobal  = "global"  // of this user, in every workspace
)

// A MemoryHit is a chunk that is worth knowing.
type MemoryHit struct {
	// ID names the chunk while its text and place in the document stay.
	ID string `json:"id"`
	// Text is the chunk as found: data from outside, not yet made safe.
	Text string `json:"text"`
	// Score is the calibrated probability that the hit helps, in [0, 1].
	Score float64 `json:"score"`
	// Source is the citation: "notes/staging.md#L10-L20".
	Source string `json:"source"`
	// TokenEstimate is about how many tokens Text takes.
	TokenEstimate int `json:"tokenEstimate"`

	Scope     string   `json:"scope"`              // ScopeProject or ScopeGlobal
	Kind      string   `json:"kind"`               // "markdown", "conversation" or "document"
	Path      string   `json:"path"`               // the document
	StartLine int      `json:"startLine"`          // from 1
	EndLine   int      `json:"endLine"`            // included
	Headings  []string `json:"headings,omitempty"` // outermost first
	// Request is the request that Text answers, in an agent's log; one line.
	Request string `json:"request,omitempty"`
	// Reply is what the user said next, if that rejects or corrects what Text says; one line.
	Reply   string `json:"reply,omitempty"`
	Session string `json:"session,omitempty"`
	Speaker string `json:"speaker,omitempty"`
	// Branch is the branch of the repository on which the conversation began, if its log says it.
	Branch string    `json:"branch,omitempty"`
	Time   time.Time `json:"time,omitzero"`
	// Superseded is when the user said otherwise since, in the answer to a turn: in Result.Said, or in
	// what the conversation was given.
	Superseded time.Time `json:"superseded,omitzero"`
	// Asked is the agent's question with which Text begins, if the user answers one, in the answer
	// to a turn; see Told.
	Asked string `json:"asked,omitempty"`
	// States are the keys of what the user states in Text (Statement.Key), in the answer to a turn.
	States []string `json:"states,omitempty"`
	// Exact means that Text holds the query as it is written; only searches of sessions and exact
	// ones look for that.
	Exact bool `json:"exact,omitempty"`
	// Gone means that the file of Path is gone: an agent deleted its log. Manager.Read has what is
	// kept of it.
	Gone bool `json:"gone,omitempty"`
	// Also cites near duplicates that were folded into this hit.
	Also []string `json:"also,omitempty"`
	// Injection is set if Text seems to instruct a model.
	Injection *Injection `json:"injection,omitempty"`
	// Explain has the parts of Score, if asked for.
	Explain *Explanation `json:"explain,omitempty"`
}

// saidByUser reports whether a record or a hit is what the user said in a conversation.
func saidByUser(kind, speaker string) bool {
	return kind == source.KindConversation && speaker == "user"
}

// Told is Text with the agent's question told apart from the user's answer.
func (h MemoryHit) Told() string { return digest.Told(h.Text, h.Asked) }

// An Explanation shows where a score comes from.
type Explanation struct {
	Cosine         *float64 `json:"cosine,omitempty"` // of query and chunk, in [-1, 1]; nil without vectors
	BM25           float64  `json:"bm25"`             // raw keyword score, 0 if no term is shared
	BM25Normalised float64  `json:"bm25Normalised"`   // divided by the best BM25 for this query, in [0, 1]
	Coverage       float64  `json:"coverage"`         // BM25 divided by the query's ceiling, in [0, 1]
	Document       float64  `json:"document"`         // BM25 of the whole document
	// Terms are the summands of Fused, without those of 0.
	Terms []relevance.Term `json:"terms,omitempty"`
	// ByTime reports that Score is due to the time asked for.
	ByTime      bool    `json:"byTime,omitempty"`
	Fused       float64 `json:"fused"`                 // the weighted sum that ranks
	Rank        int     `json:"rank"`                  // by Fused, from 1, before folding
	KeywordRank int     `json:"keywordRank,omitempty"` // in the keyword index's answer, 0 if not among it
	VectorRank  int     `json:"vectorRank,omitempty"`  // in the vector index's answer
	// Injection is how suspicious Text is, in [0, 1]; from 0.5 it is flagged; nil if not judged.
	Injection *float64 `json:"injection,omitempty"`
	// Why says why the candidate is a hit whatever its Score; "" if the score decided.
	Why string `json:"why,omitempty"`
	// Verdict is "kept", "duplicate of …" or why this is no hit.
	Verdict string `json:"verdict"`
}

// RetrieveOptions narrow RetrieveRelevant. The zero value suits an agent's turn.
type RetrieveOptions struct {
	// Scope is ScopeProject or ScopeGlobal; "" is both.
	Scope string `json:"scope,omitzero"`
	// MinSimilarity is the least Score, in (0, 1]; negative means none. 0 is the calibrated default
	// for the first hit; further hits must be worth their place.
	MinSimilarity float64 `json:"minSimilarity,omitzero"`
	// Limit is the most hits; 0 means 8.
	Limit int `json:"limit,omitzero"`
	// TokenBudget is the most tokens of all hits; 0 means 600, negative no limit. The first hit may
	// exceed it.
	TokenBudget int `json:"tokenBudget,omitzero"`
	// Kind is "markdown", "conversation" or "document"; "" is all.
	Kind string `json:"kind,omitzero"`
	// Path is a document, or a folder of documents; "" is all.
	Path string `json:"path,omitzero"`
	// Since and Until (excluded) bound the time of a turn or a file's modification. Zero is no
	// bound; a chunk without a time passes none.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Now is what "last week" counts from, in its location; zero is time.Now().
	Now time.Time `json:"now,omitzero"`
	// Not are paths to leave out; one that ends with a slash is a folder.
	Not []string `json:"not,omitzero"`
	// Has are documents that the model's context has whole, by path or by absolute path of the
	// file. They are no hits; and if the best answer is in one of them, nothing else is a hit.
	Has []string `json:"has,omitzero"`
	// Given are keys (MemoryHit.ID, Line.Name, Statement.Key) of what the conversation was given
	// before. None of it is given again.
	Given []string `json:"given,omitzero"`
	// Lines is how many Result.Lines a turn may get, at most MaxLines; 0 is none. Ask for lines
	// only if the model can open one by its name.
	Lines int `json:"lines,omitzero"`
	// Session is the request's conversation, as its log names it. Its turns since SessionFrom are
	// left out: the model's context has them.
	Session     string    `json:"session,omitzero"`
	SessionFrom time.Time `json:"sessionFrom,omitzero"`
	// Unrecorded questions only measure: a Remote is not asked.
	Unrecorded bool `json:"unrecorded,omitzero"`
	// Explain asks for Explanations, Result.Why and Result.Rejected.
	Explain bool `json:"explain,omitzero"`
}

// SearchOptions narrow Search. Fields without a comment are as in RetrieveOptions.
type SearchOptions struct {
	// Sessions narrows the search to conversations and to the notes in the folders of sessions,
	// Session to one of them, by its ID in its log or the name of its folder. Both also find the
	// query as it is written, in parts of words too, and put that first; what has neither a word of
	// the query nor a near meaning is no hit. Errors wrap ErrNoConversation.
	Sessions bool
	Session  string
	// Exact keeps only hits that hold the query as it is written, in upper or lower case.
	Exact bool
	// Stated also finds sentences that a user stated in messages of which nothing else is indexed,
	// as hits of the conversation, unless Kind says otherwise.
	Stated bool

	Scope         string
	Path          string
	Unrecorded    bool
	Kind          string
	MinSimilarity float64 // least Score in (0, 1]; 0 or less means none
	Limit         int     // 0 means 10
	Explain       bool
	Since, Until  time.Time
	Now           time.Time
}

// A Result answers a query and says how far to trust the answer.
type Result struct {
	Hits []MemoryHit `json:"hits"`
	// State tells what an empty answer means: nothing is known only with StateReady.
	State State `json:"state"`
	// Degraded says why an index did not answer in full, and which sources cannot be listed:
	// memcore's own words, then perhaps a colon and words of others ("no search by vectors: …").
	Degraded []string `json:"degraded,omitempty"`
	// Unembedded counts chunks without a vector, which only keywords find; may be nil. Degraded
	// says the same in words.
	Unembedded *Unembedded `json:"unembedded,omitempty"`
	// Stale counts changes on disk that this answer lacks.
	Stale *Staleness `json:"stale,omitempty"`
	// Said are what the user once stated and what governs the prompt, at most two.
	Said []Statement `json:"said,omitempty"`
	// Lines list what may matter and is not sure enough to be given whole, best first.
	Lines []Line `json:"lines,omitempty"`
	// Silence says why a turn has no hits; "" for a search.
	Silence string `json:"silence,omitempty"`
	// Why says, with Explain, how memory knows the question or what it misses.
	Why string `json:"why,omitempty"`
	// Rejected, with Explain, are the other candidates, best first.
	Rejected []MemoryHit `json:"rejected,omitempty"`
	// Withheld are suspicious hits, if Options.Injection is "withhold". Their Text is empty, and
	// without Explain so are the excerpts in their Injection.
	Withheld []MemoryHit `json:"withheld,omitempty"`
	// Threshold is the least score of a hit.
	Threshold float64 `json:"threshold"`
	// Took is the time by stage: "fold-in", "embed", "keywords", "vectors", "injection",
	// "service", "total".
	Took map[string]time.Duration `json:"took,omitempty"`
}

// Keys returns the keys of what the result gives, for RetrieveOptions.Given of later turns.
func (r Result) Keys() (keys []string) {
	for _, h := range r.Hits {
		keys = append(append(keys, h.ID), h.States...)
	}
	for _, s := range r.Said {
		keys = append(keys, s.Key)
	}
	for _, l := range r.Lines {
		keys = append(keys, l.Name)
	}
	return keys
}

// Unembedded counts chunks without a vector.
type Unembedded struct {
	Chunks  int `json:"chunks"`  // in all
	Pending int `json:"pending"` // of them without a vector
}

// A Staleness is how far an index is behind its documents.
type Staleness struct {
	Files  int    `json:"files"`  // changed, new or deleted documents that are not indexed yet
	Reason string `json:"reason"` // "time budget of 150ms used up", "another process is indexing", …
}

// A State is what an index can answer.
type State string

const (
	StateReady    State = "ready"    // all documents are in the keyword index
	StateBuilding State = "building" // the index is not complete yet
	StateMissing  State = "missing"  // there is no index
	StateDamaged  State = "damaged"  // the index cannot be read and has to be rebuilt
	StateNewer    State = "newer"    // a newer release made the index; it is not used
	StateClosed   State = "closed"   // the Manager is closed
)

// bytesPerToken is the usual length of a request's token.
const bytesPerToken = 4

func hitOf(c *candidate, rank int, explain bool) MemoryHit {
	r := c.record
	hit := MemoryHit{
		ID: r.ID, Text: r.Text, Score: c.Score, Source: paths.Citation(r.Path, r.StartLine, r.EndLine), TokenEstimate: r.Tokens,
		Scope: r.Scope, Kind: r.Kind, Path: r.Path, StartLine: r.StartLine, EndLine: r.EndLine,
		Headings: r.Headings, Request: requestOf(r), Session: r.Session, Speaker: r.Speaker, Time: r.Time,
		Exact: c.written,
	}
	for _, same := range c.copies {
		if at := paths.Citation(same.Path, same.StartLine, same.EndLine); at != hit.Source && !slices.Contains(hit.Also, at) {
			hit.Also = append(hit.Also, at)
		}
	}
	if r.Kind == source.KindConversation {
		hit.Headings = nil
		hit.TokenEstimate += (len(hit.Request) + bytesPerToken - 1) / bytesPerToken // it is shown, too
	}
	if explain {
		hit.Explain = &Explanation{Cosine: c.cosine, BM25: c.BM25, BM25Normalised: c.normalised, Coverage: c.coverage,
			Document: c.Document, Terms: c.Terms, ByTime: c.byTime, Fused: c.Sum, Rank: rank,
			KeywordRank: c.keywordRank, VectorRank: c.vectorRank, Why: c.sure}
	}
	return hit
}
