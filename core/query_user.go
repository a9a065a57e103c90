package core

import (
	"cmp"
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/internal/text/prompt"
)

// A question about the user may share no word with the answer: "who am I", "Name: Zhang San". So
// search such documents, whatever the score.

// profileFiles are about the user in any folder, or only in those of profileFolders: elsewhere
// user.md may describe a table.
var (
	profileFiles   = map[string]bool{"about-me.md": true, "me.md": true, "user.md": false, "profile.md": false, "preferences.md": false}
	profileFolders = map[string]bool{"facts": true, "memories": true}
)

// StatedFile has what users said about themselves in earlier sessions.
const StatedFile = "about-user.md"

func isProfile(document string) bool {
	name := strings.ToLower(path.Base(document))
	anywhere, known := profileFiles[name]
	return name == StatedFile || known && (anywhere || profileFolders[strings.ToLower(path.Base(path.Dir(document)))])
}

// statesUser matches a rule that says who the user is.
var statesUser = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(the )?user('s|’s| is| has| lives| works| prefers| likes)\b|\bmy name\b|\b(i am|i'm|i’m|call me)\b|用户|我(叫|是)|\bich (bin|heiße)\b`)
})

const (
	// mostProfiles documents are searched for facts about the user.
	mostProfiles   = 6
	wordsOfProfile = "user name role language user's profile I am my"
)

// AboutUser returns what answers a question for the user: profiles, and what says "I am".
func (m *Manager) AboutUser(ctx context.Context) ([]MemoryHit, error) {
	result, err := m.RetrieveRelevant(ctx, "what do you know about me?", RetrieveOptions{Unrecorded: true, Limit: mostProfiles})
	return slices.DeleteFunc(result.Hits, func(h MemoryHit) bool {
		return !isProfile(h.Path) && !statesUser().MatchString(h.Text)
	}), err
}

// aboutUser returns facts about the user, if asked for.
func (q *query) aboutUser(ctx context.Context, p prompt.Prompt) (found []*candidate) {
	self := p.AsksOfSelf()
	if self == prompt.OfOthers || asksForWork(p.Own) {
		return nil
	}
	searches := q.searchesForUser(p, self)
	for _, s := range searches[:min(len(searches), mostProfiles)] {
		if len(found) == mostSearches || ctx.Err() != nil {
			break
		}
		best := q.find(ctx, s)
		if len(best) == 0 && self == prompt.OfMe && isProfile(s.path) { // it may share no word with the question
			s.text = wordsOfProfile
			best = q.find(ctx, s)
		}
		found = append(found, best...)
	}
	return found
}

// statesFact tells a part with a fact from one that only introduces the file.
func statesFact(_ relevance.Query, c *candidate) bool {
	return isFact().MatchString(c.Text) || statesUser().MatchString(c.Text)
}

// isFact matches a line such as "- Name: Zhang San".
var isFact = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*([-*+][ \t]+)?\**[\p{L} ]{1,30}\**[:：]\**[ \t]*\S`)
})

func (q *query) searchesForUser(p prompt.Prompt, self prompt.Self) (all []search) {
	add := func(documents []string, wanted func(relevance.Query, *candidate) bool) {
		for _, document := range documents {
			all = append(all, search{text: p.Own, path: document, wanted: wanted, prefers: statesFact, why: "says who the user is"})
		}
	}
	add(slices.SortedFunc(slices.Values(q.documents(isProfile)), byAuthority), func(question relevance.Query, c *candidate) bool {
		return self != prompt.OfMine || holdsHalf(relevance.TellingWords(p, question), c)
	})
	if self == prompt.OfMe {
		add(q.rules(), func(_ relevance.Query, c *candidate) bool { return statesUser().MatchString(c.Text) })
	}
	return all
}

// byAuthority sorts facts before preferences, what the user said last.
func byAuthority(a, b string) int {
	rank := func(document string) int {
		switch {
		case path.Base(document) == StatedFile:
			return 2
		case strings.ToLower(path.Base(document)) == "preferences.md":
			return 1
		}
		return 0
	}
	return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
}

// holdsHalf means half of the telling words, and at least one.
func holdsHalf(telling []float64, c *candidate) bool {
	all, held := 0.0, 0.0
	for i, count := range telling {
		all += count
		if c.Holds>>i&1 == 1 {
			held += count
		}
	}
	return held > 0 && held >= all/2
}
