package core

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memcore/memcore/core/digest"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/prompt"
	"github.com/memcore/memcore/store"
)

// A Statement is what the user once said and what governs a prompt.
type Statement struct {
	// Key is for RetrieveOptions.Given.
	Key string `json:"key"`
	// Text is as the user said it, in one line: data, not yet made safe.
	Text string `json:"text"`
	// Asked is the agent's question with which Text begins, if the user answers one; see Told.
	Asked string `json:"asked,omitempty"`
	// Name opens it with Manager.Read, shorter than its citation, Source.
	Name     string      `json:"name"`
	Source   string      `json:"source"`
	Path     string      `json:"path"`
	Line     int         `json:"line"`
	Kind     digest.Kind `json:"kind,omitempty"`
	Standing bool        `json:"standing,omitempty"` // it holds for all work, not for one order
	// Sure is the probability that it is standing; 0 if it is not.
	Sure    float64   `json:"sure,omitempty"`
	Session string    `json:"session,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	Gone    bool      `json:"gone,omitempty"` // as in MemoryHit
	// Score is the evidence that it governs the prompt, in [0, 1]; 1 if the prompt's moment asks
	// for it.
	Score float64 `json:"score,omitempty"`

	moments []digest.Moment
}

const (
	// maxSaid is how many statements a turn gets.
	maxSaid = 2
	// sameReply is the least overlap of a reply and a statement that says it.
	sameReply = 0.5
	// A statement is given if its cosine to the prompt, on the scale of Model.Nearness, is
	// minSaid; telling words in common count as sharedWord of that once. Without a cosine each
	// counts as wordAlone, if they are half of the prompt's. Statements that share no word with an
	// order are given at the start of a session, and at their moments. A statement that does not
	// stand, or whose Sure is less than minSure, has to be nearer, minOnce, and no moment brings
	// it.
	minSaid  = 0.55
	minAsked = 0.42 // for a question, which names what it asks for
	minOnce  = 0.65
	minSure  = 0.5
	// What is less near, but at least minListed, has a place in a list, beside exchanges and
	// sections that would crowd it out: at most maxListed statements, where there is a list.
	minListed  = 0.15
	maxListed  = 2
	sharedWord = 0.1
	// sharedMoment counts for what was said of the work that an order asks for.
	sharedMoment = 0.1
	wordAlone    = 0.2
)

// Told is Text with the agent's question told apart from the user's answer.
func (s Statement) Told() string { return digest.Told(s.Text, s.Asked) }

func statementOf(document string, s digest.Statement) Statement {
	sum := sha256.Sum256([]byte(strings.ToLower(s.Text)))
	return Statement{Key: "said-" + hex.EncodeToString(sum[:6]), Text: s.Text, Asked: s.Asked, Name: passageName(document, s.Line), Source: paths.Citation(document, s.Line, s.Line),
		Path: document, Line: s.Line, Kind: s.Kind, Standing: s.Standing, Sure: s.Sure, Session: s.Session, Time: s.Time, moments: s.Moments}
}

// notAsked begins Result.Degraded if statements cannot be read.
const notAsked = "what the user stated was not asked: "

// turnStatements are what the user once stated about a prompt.
type turnStatements struct {
	said []Statement // governs it
	near []Statement // may govern it, for a list
	had  []Statement // governs it, and the conversation has it already
	// claims are of all that was asked for; what they supersede does not come without them.
	claims []claimed
}

// A claimed is a candidate for a statement with what it claims.
type claimed struct {
	*candidate
	claim func() digest.Claim
}

// said returns what the user once stated about a prompt, and what failed meanwhile: that costs the
// statements, not the turn. Statements are ranked among themselves: among thousands of chunks they
// would drown.
func (q *query) said(ctx context.Context, t *turn) (all turnStatements, degraded []string) {
	add := func(s Statement, to *[]Statement, max int) {
		is := func(a Statement) bool { return a.Key == s.Key }
		if len(*to) < max && !t.repeats(s) && !q.filtered(s) && !slices.ContainsFunc(all.said, is) && !slices.ContainsFunc(all.near, is) {
			*to = append(*to, s)
		}
	}
	addStanding := func() { // what is near the work itself comes before what is for its end
		standing, err := q.standingAt(t.moments)
		if err != nil {
			degraded = append(degraded, notAsked+err.Error())
		}
		for _, s := range standing {
			if s.Score = 1; q.given[s.Key] {
				add(s, &all.had, maxSaid)
			} else {
				add(s, &all.said, maxSaid)
			}
		}
	}
	if strings.TrimSpace(t.text) == "" || t.silence != "" || t.Kind == prompt.Pasted {
		addStanding()
		return all, degraded
	}
	inside := *q
	inside.took = map[string]time.Duration{}
	inside.filter.Kind, inside.filter.NotKind = KindStatement, ""
	g, err := inside.gather(ctx, t.text)
	if degraded = append(degraded, g.degraded...); err != nil {
		addStanding()
		return all, append(degraded, notAsked+err.Error())
	}
	q.fetchDigests(ctx, g.candidates)
	telling := relevance.TellingWords(t.Prompt, g.question)
	model := q.index.relevance
	// The texts in a language that the embedder does not know are all near each other: how much
	// nearer one is than most still tells something of those that share a word with the prompt.
	known := model.Knows(g.question.Text) && model.KnowsLanguage(g.question.Language)
	usual := 0.0
	if !known {
		usual = medianNearness(model, g.candidates)
	}
	half := relevance.MassOf(telling, ^uint64(0)) / 2
	for _, c := range g.candidates {
		held := relevance.MassOf(telling, c.Holds)
		if c.Cosine != nil && (known || held > 0) {
			c.value = min(sharedWord*held, sharedWord) + model.Nearness(*c.Cosine) - usual
		}
		if (!known || c.Cosine == nil) && held >= half {
			c.value = max(c.value, wordAlone*held)
		}
		if len(t.moments) > 0 && isAbout(q.statementAt(ctx, c), t.moments) {
			c.value += sharedMoment
		}
	}
	slices.SortStableFunc(g.candidates, func(a, b *candidate) int { return cmp.Compare(b.value, a.value) })
	least := minSaid
	if t.question {
		least = minAsked
	}
	all.claims = make([]claimed, len(g.candidates))
	for i, c := range g.candidates {
		all.claims[i] = claimed{c, sync.OnceValue(func() digest.Claim { return digest.ClaimOf(c.Text) })}
	}
	var found, others []Statement
	for _, c := range g.candidates {
		if c.value < minListed || c.value < least && len(others) >= 2*maxListed {
			break
		}
		s := q.statementAt(ctx, c)
		isNear := c.value >= least && (s.Sure >= minSure || c.value >= minOnce)
		if newer, ok := q.laterWord(ctx, s.Text, s.Time, all.claims, digest.Claim.Replaces); ok {
			s = newer
		}
		switch s.Score = min(c.value, 1); {
		case isNear:
			found = append(found, s)
		case !digest.Introduces(s.Text): // who they are has a road of its own, and may be declined there
			others = append(others, s)
		}
	}
	addAll := func(some []Statement, to *[]Statement, max int) {
		// Of two on one subject the newer holds, whichever is nearer to the prompt.
		some, _ = withoutReplaced(some)
		slices.SortStableFunc(some, func(a, b Statement) int { return cmp.Compare(b.Score, a.Score) })
		for _, s := range some {
			if q.given[s.Key] || q.given[s.AtStart()] {
				add(s, &all.had, maxSaid)
				max-- // what is less near takes no place of what the conversation has
			} else {
				add(s, to, max)
			}
		}
	}
	addAll(found, &all.said, maxSaid)
	addStanding()
	addAll(others, &all.near, maxListed)
	return all, degraded
}

// medianNearness returns the median nearness of candidates that have a cosine; 0 if none has.
func medianNearness(model *relevance.Model, all []*candidate) float64 {
	var near []float64
	for _, c := range all {
		if c.Cosine != nil {
			near = append(near, model.Nearness(*c.Cosine))
		}
	}
	if len(near) == 0 {
		return 0
	}
	slices.Sort(near)
	return near[len(near)/2]
}

// line returns the entry of a list for a statement, which says all of it.
func (s Statement) line() Line {
	return Line{Name: s.Name, Request: shortened(s.Text, maxRequest+maxOutcome), Source: s.Source, Kind: KindStatement, Path: s.Path,
		StartLine: s.Line, EndLine: s.Line, Session: s.Session, Time: s.Time, Gone: s.Gone}
}

// laterWord returns the newest of the claims that the user made after a time and that replaces, in
// some sense, what a text says. It need not be near the prompt itself: "Valkey, not Redis" is farther
// from "set up the cache" than "Redis" was.
func (q *query) laterWord(ctx context.Context, text string, since time.Time, all []claimed, replaces func(later, earlier digest.Claim) bool) (newest Statement, ok bool) {
	var earlier []digest.Claim // of the text's sentences, if anything is later
	for _, c := range all {
		at := c.record.Time
		if !at.After(since) || ok && !at.After(newest.Time) {
			continue
		}
		if earlier == nil {
			earlier = claimsOf(text)
		}
		if !slices.ContainsFunc(earlier, func(e digest.Claim) bool { return replaces(c.claim(), e) }) {
			continue
		}
		if now := q.statementAt(ctx, c.candidate); !q.filtered(now) {
			newest, ok = now, true
		}
	}
	return newest, ok
}

// putLaterWords adds to a result what the user said since that supersedes a hit, and marks the hit:
// neither an answer nor a document comes without that. What the user themselves said before goes, as
// does a hit for whose later word there is no room.
func (q *query) putLaterWords(ctx context.Context, r *Result, all *turnStatements) {
	var kept []MemoryHit
	for _, h := range r.Hits {
		s, ok := q.laterWord(ctx, h.Text, h.Time, all.claims, digest.Claim.Supersedes)
		is := func(o Statement) bool { return o.Key == s.Key }
		if !ok || h.Time.IsZero() {
			kept = append(kept, h)
			continue
		}
		switch isHad := q.given[s.Key] || q.given[s.AtStart()]; {
		case slices.ContainsFunc(r.Said, is), slices.ContainsFunc(all.had, is):
		case isHad:
			all.had = append(all.had, s)
		case len(r.Said) == maxSaid:
			continue
		default:
			r.Said = append(r.Said, s)
		}
		if !saidByUser(h.Kind, h.Speaker) {
			h.Superseded = s.Time
			kept = append(kept, h)
		}
	}
	r.Hits = kept
}

// claimsOf returns what each sentence of a text claims; a statement is one claim.
func claimsOf(text string) (all []digest.Claim) {
	if len(text) <= maxOneClaim && !strings.Contains(text, "\n") {
		return []digest.Claim{digest.ClaimOf(text)}
	}
	for _, sentence := range sentencesOf(text) {
		all = append(all, digest.ClaimOf(sentence))
	}
	return all
}

// maxOneClaim is how long a statement is, in bytes.
const maxOneClaim = 300

const startPrefix = "start-"

// AtStart is the key of a statement that was given at the start of a session: its moment brings it
// once more, a prompt near it does not.
func (s Statement) AtStart() string { return startPrefix + s.Key }

// FromStart returns the Statement.Key of what has this key at the start of a session.
func FromStart(key string) (statement string, ok bool) {
	return strings.CutPrefix(key, startPrefix)
}

// repeats reports whether a prompt that asks nothing says all that a statement does.
func (t *turn) repeats(s Statement) bool {
	return !t.Asks && !t.AsksAnew && wordsOf(spaced(s.Text)).within(wordsOf(spaced(t.Own)))
}

// statementAt returns the statement of a record, as the digest of its log has it.
func (q *query) statementAt(ctx context.Context, c *candidate) Statement {
	s := digest.Statement{Line: c.record.StartLine, Session: c.record.Session, Time: c.record.Time, Text: c.Text}
	if log, err := q.index.digests.of(ctx, q.index.view, c.Path); err == nil {
		for _, known := range log.Statements {
			if known.Line == s.Line && known.Text == s.Text {
				s = known
			}
		}
	}
	return statementOf(c.Path, s)
}

// standingAt returns the standing statements about a moment, newest first.
func (q *query) standingAt(moments []digest.Moment) (all []Statement, err error) {
	if len(moments) == 0 {
		return nil, nil
	}
	logs, err := q.index.said()
	if err != nil {
		return nil, err
	}
	for document, log := range q.m.ofUser(logs, q.index.manifest) {
		for _, s := range log.Standing {
			if one := statementOf(document, s); s.Withdraws || one.Sure >= minSure && isAbout(one, moments) {
				all = append(all, one)
			}
		}
	}
	all, _ = withoutReplaced(all)
	return slices.DeleteFunc(all, isWithdrawal), nil
}

// isWithdrawal reports whether a statement of Said.Standing only takes another one back. It is
// needed to leave that one out, and is not given by itself.
func isWithdrawal(s Statement) bool { return !s.Standing }

func isAbout(s Statement, moments []digest.Moment) bool {
	return slices.ContainsFunc(s.moments, func(m digest.Moment) bool { return slices.Contains(moments, m) })
}

func newestFirst(all []Statement) {
	slices.SortFunc(all, func(a, b Statement) int { return cmp.Or(b.Time.Compare(a.Time), strings.Compare(a.Source, b.Source)) })
}

// maxCompared bounds the statements that are compared with each other, the newest.
const maxCompared = 200

// withoutReplaced returns the statements, newest first, on whose subject there is no newer one, and
// how often each, or one that it replaces, was said before, by key.
func withoutReplaced(all []Statement) (kept []Statement, before map[string]int) {
	all = slices.Clone(all)
	newestFirst(all)
	before = map[string]int{}
	var claims []digest.Claim
	for _, s := range all[:min(len(all), maxCompared)] {
		claim := digest.ClaimOf(s.Text)
		newer := slices.IndexFunc(claims, func(c digest.Claim) bool { return c.Replaces(claim) })
		if newer < 0 {
			kept, claims = append(kept, s), append(claims, claim)
		} else if kept[newer].Session != s.Session && !kept[newer].Time.Equal(s.Time) { // else it is a copy of the session
			before[kept[newer].Key]++
		}
	}
	return kept, before
}

const (
	// MaxStanding and MaxStandingTokens bound what a session begins with of what the user said.
	MaxStanding       = 10
	MaxStandingTokens = 250
)

// Standing returns what the user said for all later work, at most max statements of maxTokens in
// all: those said again and again first, then those that are the surest to be meant so.
func (m *Manager) Standing(ctx context.Context, max, maxTokens int) (all []Statement, err error) {
	m.freshen(ctx, map[string]time.Duration{}) // the last session may just have ended
	logs, known, err := m.saidIn(ctx)
	if err != nil {
		return nil, err
	}
	for document, log := range logs {
		for _, one := range log.Standing {
			s := statementOf(document, one)
			s.Gone = known.of(document).Gone
			all = append(all, s)
		}
	}
	surestFirst := func(a, b Statement) int {
		return cmp.Or(cmp.Compare(b.Sure, a.Sure), b.Time.Compare(a.Time), strings.Compare(a.Source, b.Source))
	}
	slices.SortFunc(all, func(a, b Statement) int {
		return cmp.Or(trueFirst(isWithdrawal(a), isWithdrawal(b)), surestFirst(a, b))
	})
	unsuspicious := all[:0] // as many as are compared: to judge all takes long
	for _, s := range all {
		if len(unsuspicious) == maxCompared {
			break
		}
		if !m.isPlanted(s) {
			unsuspicious = append(unsuspicious, s)
		}
	}
	all, before := withoutReplaced(unsuspicious)
	all = slices.DeleteFunc(all, isWithdrawal)
	slices.SortFunc(all, func(a, b Statement) int { return cmp.Or(cmp.Compare(before[b.Key], before[a.Key]), surestFirst(a, b)) })
	tokens := 0
	for i, s := range all {
		if tokens += (len(s.Text) + bytesPerToken - 1) / bytesPerToken; i == max || tokens > maxTokens {
			return all[:i], nil
		}
	}
	return all, nil
}

// filtered reports whether a statement is left out: it is not the user's, it reads like an
// instruction that somebody has planted, a filter leaves it out, or its own conversation has it.
func (q *query) filtered(s Statement) bool {
	if !q.m.isUsers(s.Path) || q.judge != nil && q.m.isPlanted(s) {
		return true
	}
	return !q.filter.PassesAt(s.Time) || slices.Contains(q.filter.Not, s.Path) || q.isOwn(s.Session, s.Time)
}

// statedIn returns what the user states in a passage, or in a copy of it.
func (q *query) statedIn(ctx context.Context, c *candidate) (all []Statement) {
	for _, r := range append([]store.Record{c.record}, c.copies...) {
		if !saidByUser(r.Kind, r.Speaker) {
			continue
		}
		log, err := q.index.digests.of(ctx, q.index.view, r.Path)
		if err != nil {
			continue // what it states may come twice
		}
		at := hitOf(candidateOf(r), 0, false)
		for _, one := range log.Statements {
			if one.Line < r.StartLine || one.Line > r.EndLine {
				continue
			}
			if s := statementOf(r.Path, one); s.comesFrom(at) {
				all = append(all, s)
			}
		}
	}
	return all
}

// addStates adds to hits of a turn what the user states there, and answers.
func (q *query) addStates(ctx context.Context, hits []MemoryHit, all []*candidate) {
	if !q.inTurn {
		return
	}
	for i := range hits {
		at := slices.IndexFunc(all, func(c *candidate) bool { return c.ID == hits[i].ID })
		if at < 0 {
			continue
		}
		for _, s := range q.statedIn(ctx, all[at]) {
			if strings.HasPrefix(hits[i].Text, s.Asked) {
				hits[i].Asked = cmp.Or(hits[i].Asked, s.Asked)
			}
			if !slices.Contains(hits[i].States, s.Key) {
				hits[i].States = append(hits[i].States, s.Key)
			}
		}
	}
}

// comesFrom reports whether a passage of the user is where a statement comes from, or a copy.
func (s Statement) comesFrom(h MemoryHit) bool {
	if !saidByUser(h.Kind, h.Speaker) {
		return false
	}
	return h.Path == s.Path && h.StartLine <= s.Line && s.Line <= h.EndLine && float64(len(s.Text)) >= minShareOfText*float64(len(h.Text)) ||
		hasSentence(h.Text, s.Text)
}

// minShareOfText is the least share of a message that a statement has to be to stand for all of it,
// where it does not have its words: of a plan it has no code, of a list no marks.
const minShareOfText = 0.8

// tellsMore reports whether a passage holds words of the question that the statements from it lack.
func tellsMore(question relevance.Query, passage string, from []Statement) bool {
	var told uint64
	for _, s := range from {
		told |= holding(question, s.Text)
	}
	return holding(question, passage)&^told != 0
}

// isTold reports whether the conversation was given, as what the user said, all that a passage
// tells of the question.
func (q *query) isTold(ctx context.Context, question relevance.Query, c *candidate) bool {
	told := slices.DeleteFunc(q.statedIn(ctx, c), func(s Statement) bool { return !q.given[s.Key] && !q.given[s.AtStart()] })
	return len(told) > 0 && !tellsMore(question, c.Text, told)
}

// sayOnce leaves out passages of the user that tell no more of the question than the statements
// from them, else those statements, what statements replace, and replies that repeat one. No line
// tells it, either.
func (r *Result) sayOnce(question relevance.Query, ranked []*candidate, had []Statement) {
	stated := slices.Concat(r.Said, had)
	if len(stated) == 0 {
		return
	}
	claims := make([]digest.Claim, len(stated))
	for i, s := range stated {
		claims[i] = digest.ClaimOf(s.Text)
	}
	// A passage is outdated if the user has said it again, or otherwise, since.
	outdated := func(h MemoryHit) bool {
		return saidByUser(h.Kind, h.Speaker) && slices.ContainsFunc(claimsOf(h.Text), func(earlier digest.Claim) bool {
			for i, s := range stated {
				if h.Time.Before(s.Time) && claims[i].Replaces(earlier) {
					return true
				}
			}
			return false
		})
	}
	from := func(h MemoryHit) (some []Statement) {
		for _, s := range r.Said {
			if s.comesFrom(h) {
				some = append(some, s)
			}
		}
		return some
	}
	inHit := map[string]bool{}
	r.Hits = slices.DeleteFunc(r.Hits, func(h MemoryHit) bool {
		if outdated(h) {
			return true
		}
		some := from(h)
		if len(some) == 0 || !tellsMore(question, h.Text, some) {
			return len(some) > 0
		}
		for _, s := range some {
			inHit[s.Key] = true
		}
		return false
	})
	r.Said = slices.DeleteFunc(r.Said, func(s Statement) bool { return inHit[s.Key] })
	for _, c := range ranked {
		if c.had || !saidByUser(c.record.Kind, c.record.Speaker) {
			continue
		}
		h := hitOf(c, 0, false)
		some := from(h)
		c.had = outdated(h) || len(some) > 0 && !tellsMore(question, c.Text, some)
	}
	for i := range r.Hits {
		r.Hits[i].Reply = unlessSaid(r.Hits[i].Reply, r.Said)
	}
}

// unlessSaid returns a reply, or "" if it repeats a statement.
func unlessSaid(reply string, said []Statement) string {
	if slices.ContainsFunc(said, func(s Statement) bool { return wordsOf(reply).overlap(wordsOf(s.Text)) >= sameReply }) {
		return ""
	}
	return reply
}
