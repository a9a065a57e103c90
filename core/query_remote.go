package core

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/text/prompt"
	"github.com/memcore/memcore/internal/text/sanitize"
	"github.com/memcore/memcore/internal/text/secret"
)

// A Remote is a memory elsewhere, such as a team's. It is safe for concurrent use and heeds ctx.
// Its answers have its own paths.
//
// If its error has a method After() time.Duration, it is not asked for a turn before that.
type Remote interface {
	Retrieve(ctx context.Context, request string, o RetrieveOptions) (Result, error)
	Search(ctx context.Context, query string, o SearchOptions) (Result, error)
}

// RemotePath begins the paths of Options.Remote's documents. A question about such a path goes to
// the Remote alone, one about another path does not go there.
const RemotePath = "service:"

const (
	defaultRemoteBudget = 300 * time.Millisecond
	// searchPatience is how much longer than a turn a search waits.
	searchPatience = 10
	// maxRemoteRequest of a prompt is sent, in bytes.
	maxRemoteRequest = 64 << 10
)

// A remoteAnswer is that of a Remote.
type remoteAnswer struct {
	result Result
	err    error
	took   time.Duration
}

// both asks the index and the memory elsewhere.
type both struct{ *Manager }

// ask asks the index, and at the same time the Remote by elsewhere.
func (m both) ask(ctx context.Context, text string, s selection, elsewhere func(ctx context.Context, text string) (Result, error)) (Result, error) {
	if m.options.Remote == nil {
		result, _, err := m.askIndex(ctx, text, s)
		return result, err
	}
	if err := cmp.Or(s.check(), ctx.Err()); err != nil {
		return m.empty(s), err
	}
	started := time.Now()
	within, stop := context.WithCancel(ctx)
	defer stop()
	answer, why := m.askRemote(within, text, s, elsewhere)
	result, err := m.empty(s), error(nil)
	if !strings.HasPrefix(s.filter.Path, RemotePath) {
		if result, s, err = m.askIndex(ctx, text, s); err != nil {
			return result, err
		}
	}
	if answer != nil {
		select {
		case a := <-answer:
			why = m.join(ctx, &result, s, a)
		case <-ctx.Done():
			return result, ctx.Err()
		}
	}
	if why != "" {
		result.Degraded = append(result.Degraded, why)
	}
	result.Took["total"] = time.Since(started)
	return result, nil
}

// empty is an answer of the Remote alone without hits.
func (m both) empty(s selection) Result {
	return Result{Hits: []MemoryHit{}, State: StateReady, Threshold: max(s.threshold, 0), Took: map[string]time.Duration{}}
}

// askRemote starts to ask. It returns nil if it does not, and why if the answer will lack that.
func (m both) askRemote(ctx context.Context, text string, s selection, elsewhere func(context.Context, string) (Result, error)) (_ <-chan remoteAnswer, why string) {
	if !s.wantsRemote(text) {
		return nil, ""
	}
	if s.inTurn {
		if why := m.rest.why(time.Now()); why != "" {
			return nil, why
		}
	}
	text, _ = secret.Redact(strings.ToValidUTF8(text[:min(len(text), maxRemoteRequest)], ""))
	budget := m.remoteBudget(ctx, s.inTurn)
	answer := make(chan remoteAnswer, 1)
	go func() {
		began := time.Now()
		within, stop := context.WithTimeoutCause(ctx, budget, fmt.Errorf("no answer within %v", budget.Round(time.Millisecond)))
		defer stop()
		result, err := elsewhere(within, text)
		if err != nil && within.Err() != nil && ctx.Err() == nil {
			err = context.Cause(within)
		}
		answer <- remoteAnswer{result, err, time.Since(began)}
	}()
	return answer, ""
}

// wantsRemote reports whether a question concerns the Remote: neither small talk nor about a
// document here, and no measurement.
func (s *selection) wantsRemote(text string) bool {
	if path := s.filter.Path; s.recalls || s.exact || s.unrecorded || path != "" && !strings.HasPrefix(path, RemotePath) || strings.TrimSpace(text) == "" {
		return false
	}
	if !s.decides {
		return true
	}
	t := turnOf(text)
	words := strings.FieldsFunc(t.text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && r != '\''
	})
	return t.silence == "" && (slices.ContainsFunc(words, prompt.IsTelling) || len(timesAsked(t.text, s.now).spans) > 0)
}

// remoteBudget leaves a quarter of the time to what follows.
func (m both) remoteBudget(ctx context.Context, inTurn bool) time.Duration {
	budget := cmp.Or(m.options.RemoteBudget, defaultRemoteBudget)
	if !inTurn {
		budget *= searchPatience
	}
	if deadline, ok := ctx.Deadline(); ok {
		budget = min(budget, time.Until(deadline)*3/4)
	}
	return budget
}

// join adds the Remote's hits to the result by score. It returns why there are none, if they are
// missing.
func (m both) join(ctx context.Context, result *Result, s selection, a remoteAnswer) (why string) {
	result.Took["service"] = a.took
	m.rest.note(a.err, time.Now())
	if a.err != nil {
		return fmt.Sprintf("the memory service did not answer: %v", a.err)
	}
	if a.result.State != StateReady {
		result.Degraded = append(result.Degraded, "the memory service did not answer in full: its index is "+string(a.result.State))
	}
	for _, text := range a.result.Degraded {
		result.Degraded = append(result.Degraded, "the memory service did not answer in full: "+text)
	}
	q := &query{selection: s, m: m.Manager, took: result.Took}
	q.judgeHits()
	j := joining{query: q, local: result.Hits}
	result.Hits = []MemoryHit{}
	for _, hit := range a.result.Hits {
		j.remote(result, m.remoteHit(hit))
	}
	j.rest(result)
	for _, hit := range a.result.Withheld {
		result.Withheld = append(result.Withheld, withholdRemote(m.remoteHit(hit), s.explain))
	}
	if s.explain {
		for _, hit := range a.result.Rejected {
			result.Rejected = append(result.Rejected, m.remoteHit(hit))
		}
	}
	if len(result.Hits) > 0 {
		result.Silence = ""
	}
	return ""
}

// withholdRemote withholds what the service itself withholds.
func withholdRemote(hit MemoryHit, explain bool) MemoryHit {
	hit.Injection = cmp.Or(hit.Injection, &Injection{})
	return withhold(hit, explain)
}

// A joining takes hits of index and Remote, each in its own order, under one limit and budget.
type joining struct {
	*query
	local  []MemoryHit // left
	said   []words     // by the hits taken
	tokens int
}

// remote takes a hit of the Remote, after local hits that are better or say the same.
func (j *joining) remote(result *Result, hit MemoryHit) {
	said := wordsOf(hit.Text)
	for len(j.local) > 0 && (j.local[0].Score >= hit.Score || said.repeats([]words{wordsOf(j.local[0].Text)}) == 0) {
		j.take(result, j.local[0])
		j.local = j.local[1:]
	}
	for _, other := range j.local { // it comes, with a lower score
		if said.overlap(wordsOf(other.Text)) >= nearDuplicate {
			j.reject(result, hit, "duplicate of "+other.Source)
			return
		}
	}
	if same := said.repeats(j.said); same >= 0 {
		kept := &result.Hits[same]
		kept.Also = append(slices.Clip(kept.Also), hit.Source)
		j.reject(result, hit, "duplicate of "+kept.Source)
		return
	}
	if hit.Score < j.threshold && !j.decides {
		j.reject(result, hit, VerdictThreshold)
		return
	}
	if flagged := j.flag(&hit); flagged || j.withhold && hit.Injection != nil {
		result.Withheld = append(result.Withheld, withhold(hit, j.explain))
		return
	}
	if j.judge != nil && hit.Injection != nil {
		hit.Request = "" // as for a hit that is flagged here
	}
	j.take(result, hit)
}

// rest takes the local hits that are left.
func (j *joining) rest(result *Result) {
	for _, hit := range j.local {
		j.take(result, hit)
	}
}

func (j *joining) take(result *Result, hit MemoryHit) {
	most := j.budget
	if len(result.Hits) == 0 { // the first may exceed a small budget, but no service may fill a prompt
		most = max(most, defaultTokenBudget)
		if !isRemote(hit) {
			most = max(most, hit.TokenEstimate)
		}
	}
	switch {
	case len(result.Hits) >= j.limit:
		j.reject(result, hit, verdictLimit)
	case j.budget >= 0 && j.tokens+hit.TokenEstimate > most:
		j.reject(result, hit, verdictBudget)
	default:
		if j.explain {
			hit.Explain = explained(hit, verdictKept)
		}
		result.Hits = append(result.Hits, hit)
		j.said = append(j.said, wordsOf(hit.Text))
		j.tokens += hit.TokenEstimate
	}
}

func (j *joining) reject(result *Result, hit MemoryHit, verdict string) {
	if j.explain {
		hit.Explain = explained(hit, verdict)
		result.Rejected = append(result.Rejected, hit)
	}
}

// explained is a hit's explanation with a verdict; a Remote may have given none.
func explained(hit MemoryHit, verdict string) *Explanation {
	e := Explanation{Fused: hit.Score}
	if hit.Explain != nil {
		e = *hit.Explain
	}
	e.Verdict = verdict
	return &e
}

func isRemote(hit MemoryHit) bool { return strings.HasPrefix(hit.Path, RemotePath) }

// remoteHit names a hit's document as one of the Remote, and trusts none of its numbers.
func (m both) remoteHit(hit MemoryHit) MemoryHit {
	hit.Path = paths.Spelled(RemotePath + hit.Path)
	if strings.Trim(hit.ID, "0123456789abcdef") != "" || len(hit.ID) > sha256.Size*2 {
		hit.ID = hashOf([]byte(hit.ID))
	}
	hit.ID = RemotePath + hit.ID
	hit.StartLine = max(hit.StartLine, 1)
	hit.EndLine = max(hit.EndLine, hit.StartLine)
	hit.Source = paths.Citation(hit.Path, hit.StartLine, hit.EndLine)
	hit.Score = min(max(hit.Score, 0), 1)
	hit.Session, hit.Branch, hit.Speaker = "", "", sanitize.Speaker(hit.Speaker)
	if hit.Injection != nil { // without the words of its findings
		hit.Injection = &Injection{Flagged: hit.Injection.Flagged, Score: hit.Injection.Score}
	}
	var also []string
	for _, citation := range hit.Also {
		if name, first, last, ok := paths.ParseCitation(RemotePath + citation); ok {
			also = append(also, paths.Citation(name, first, last))
		}
	}
	hit.Also, hit.States = also, nil
	if !slices.Contains(source.Kinds, hit.Kind) {
		hit.Kind = source.KindDocument
	}
	if hit.Scope != ScopeGlobal {
		hit.Scope = ScopeProject
	}
	shown := hit.Text + hit.Request
	hit.TokenEstimate = (len(shown) + bytesPerToken - 1) / bytesPerToken
	if count := m.options.Chunking.Count; count != nil {
		hit.TokenEstimate = count(shown)
	}
	return hit
}

// A rest keeps turns from asking a Remote that fails, ever longer. With a file, all processes that
// name it heed it.
type rest struct {
	file string
	mu   sync.Mutex
	restState
}

type restState struct {
	Failures int       `json:"failures"` // in a row
	Until    time.Time `json:"until,omitzero"`
	Why      string    `json:"why,omitempty"`
}

const (
	// forgiven failures in a row cause no rest: a network may lose an answer.
	forgiven  = 1
	firstRest = 5 * time.Second
	maxRest   = 2 * time.Minute
)

// read reads the file again: another process may have noted something.
func (r *rest) read() {
	if r.file == "" {
		return
	}
	if known, err := jsonfile.LoadDerived[restState](r.file); err == nil {
		r.restState = known
	}
}

// why says why the Remote is not asked now; "" if it is.
func (r *rest) why(now time.Time) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read()
	left := r.Until.Sub(now)
	if left <= 0 || left > 24*time.Hour { // a changed clock
		return ""
	}
	return fmt.Sprintf("the memory service is asked again in %v: %s", max(left.Round(time.Second), time.Second), r.Why)
}

// note notes an answer or failure.
func (r *rest) note(err error, now time.Time) {
	if errors.Is(err, context.Canceled) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read()
	before := r.restState
	if err == nil {
		r.restState = restState{}
	} else {
		r.Failures, r.Why = min(r.Failures, 1000)+1, err.Error()
		var told interface{ After() time.Duration }
		wait := time.Duration(0)
		if n := r.Failures - forgiven; n > 0 {
			wait = min(firstRest<<min(n-1, 10), maxRest)
		}
		if errors.As(err, &told) {
			wait = max(wait, min(told.After(), time.Hour))
		}
		r.Until = now.Add(wait)
	}
	if r.file == "" || r.restState == before {
		return
	}
	err = safefile.MkdirAll(filepath.Dir(r.file), 0o700)
	if err == nil {
		err = jsonfile.Save(r.file, r.restState)
	}
	if err != nil {
		r.file = "" // each process for itself
	}
}
