package journal

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// A Session is what the agent's history of a session has.
type Session struct {
	Dir   string // the folder that the session began in
	Begun bool   // it has what a session begins with
	// The session's start may still give that until Starting. Its first prompt may give it until
	// Prompting, or has just given it.
	Starting, Prompting time.Time
	Overview            string    // key of the last overview
	Spent               int       // bytes of curated memory and rules
	Prompts             int       // in the history
	Dropped             time.Time // when the agent last dropped its history
	known               bool      // the journal has something of it
	given               map[Kind]map[string]string
}

// Keeps reports whether the journal knows what a session has.
func (j Journal) Keeps(session string) bool { return j.file != "" && session != "" }

// Session returns what a session or subagent has before the event of a head. A session without a
// name has nothing.
func (j Journal) Session(h Head) (s Session, err error) {
	if !j.Keeps(h.Session) {
		return s, nil
	}
	entries, err := j.Recent(h)
	s.known = len(entries) > 0
	for _, e := range entries {
		if e.Instead != h.ID || h.ID == "" { // else it is the same event, which this process answers
			s.add(e)
		}
	}
	return s, err
}

// add adds an event. Events are added in the order in which they began, not in that of their
// answers, since each was answered by what was known when it began.
func (s *Session) add(e Entry) {
	if e.Resets {
		*s = Session{Dropped: e.Dropped, known: s.known}
	}
	if e.Kind == PromptEvent && e.Key != "" {
		s.Prompts++
	}
	if e.Undelivered != "" {
		return
	}
	answered := e.Took != ""
	switch {
	case e.Kind == StartEvent && !answered:
		s.Starting = e.Until
	case e.Kind == PromptEvent && (!answered || e.Added > 0) && !e.Until.IsZero():
		s.Prompting = e.Until // a start that comes now need not give the same
	}
	s.Dir, s.Spent = cmp.Or(e.Began, s.Dir), s.Spent+e.Spent
	for _, g := range e.Given {
		switch g.Kind {
		case Beginning:
			s.Begun, s.Starting = true, time.Time{}
		case Overview:
			s.Overview = g.Key
		}
		s.give(g)
		for _, key := range g.States {
			s.give(Given{Kind: Statement, Key: key})
		}
	}
}

func (s *Session) give(g Given) {
	if s.given == nil {
		s.given = map[Kind]map[string]string{}
	}
	if s.given[g.Kind] == nil {
		s.given[g.Kind] = map[string]string{}
	}
	s.given[g.Kind][g.name()] = g.Key
}

// name returns the path of a file, of which a session has the last version, else the key.
func (g Given) name() string {
	if g.Kind == Rules || g.Kind == Document {
		return g.Path
	}
	return g.Key
}

// Has reports whether the session got a thing.
func (s Session) Has(g Given) bool {
	key, has := s.given[g.Kind][g.name()]
	return has && key == g.Key
}

// Given returns the keys of all passages, lines, statements and failures that the session got.
func (s Session) Given() (keys []string) {
	for _, kind := range found {
		keys = append(keys, slices.Sorted(maps.Keys(s.given[kind]))...)
	}
	return keys
}

// Keys returns the keys of the files that the session got, as Rules or as a Document, by path.
func (s Session) Keys(k Kind) map[string]string { return s.given[k] }
