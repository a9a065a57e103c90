package reflection

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/internal/sanitize"
	"github.com/memcore/memcore/internal/secret"
	"github.com/memcore/memcore/internal/statement"
)

// Kinds of candidates.
const (
	KindPreference = "preference"
	KindFact       = "fact"
	KindDecision   = "decision"
	KindFix        = "fix"
)

// A Candidate is what a person may want to have remembered.
type Candidate struct {
	ID     string `json:"id"` // of six digits and letters; the same as long as it says the same
	Kind   string `json:"kind"`
	Path   string `json:"path"` // of the memory file that it would go to; "" is this month's episodes
	Text   string `json:"text"` // that would be added, Markdown
	Source string `json:"source"`
}

// Rules of statements, in English, German and Chinese. They look at single sentences.
var (
	preferring = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:i (?:really |always |usually |strongly )?(?:prefer|like|love|hate|dislike|want you to)|please (?:always|never|don't|do not|use|write|keep|avoid)|from now on|ich (?:bevorzuge|mag|möchte)|bitte (?:immer|nie|nutze|verwende))\b|^(?:always|never|don't ever|do not ever|avoid|immer|niemals)\b|我(?:喜欢|偏好|更喜欢|讨厌)|请(?:总是|不要|始终|以后)`)
	})
	factual = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:remember (?:that|this)|my name is|call me|i am (?:an?|the) |i'm (?:an?|the) |i (?:work|live) (?:as|at|for|in|on)|my (?:timezone|time zone|email|editor|team|role|company) is|(?:we|our team|this project) (?:use|uses|deploy|deploys|run|runs)|the [\w -]{2,30} (?:is|runs|listens|lives) (?:on|at|in|behind|called) |ich heiße|ich bin ein|wir (?:nutzen|verwenden|benutzen))|我(?:叫|是一)|我们(?:使用|用)`)
	})
	deciding = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:we (?:have )?(?:decided|agreed|chose|picked|settled)|i (?:have )?decided|decision:|let's (?:go with|use|stick with|settle on)|we(?:'re| are) going with|wir haben (?:uns )?(?:entschieden|beschlossen))|我们决定|决定(?:使用|用|采用)`)
	})
	failing = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:error|exception|panic|fatal|traceback|failed|fails|failure|crash(?:es|ed)?|segfault|timeout|broken|fehler)\b|报错|错误|失败`)
	})
	fixing = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:root cause|the (?:problem|issue|bug|cause|reason|culprit) was|(?:fixed|solved|resolved|works now)(?: it)?(?: by| with|:|,| after| because)|the (?:fix|solution) (?:is|was)|lag daran|behoben)\b|原因是|解决了|修复了`)
	})
	sentences = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`[^.!?。！？\n]+(?:[.!?。！？]+(?:["')\]]*)|\n|$)|\.`)
	})
	codeBlock = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("(?s)```.*?(?:```|$)|~~~.*?(?:~~~|$)")
	})
)

const (
	shortestSentence = 12
	longestSentence  = 300
	// solvedWithin is how many messages behind an error its solution is looked for.
	solvedWithin = 20
	// mostCandidates bounds what a person is asked about.
	mostCandidates = 50
)

// Propose finds what a conversation may have taught, by rules: stated preferences, facts and decisions of the user, and errors that were solved. It leaves
// out what memory says already, word by word or about. It invents nothing: each candidate is a sentence of the conversation.
func Propose(ctx context.Context, data *notes.Data, said []notes.Said, now time.Time) ([]Candidate, error) {
	known, err := knownStatements(ctx, data)
	if err != nil {
		return nil, err
	}
	found := []Candidate{}
	add := func(c Candidate, words string) {
		if !isKnown(known, words) {
			known = append(known, words)
			c.ID = idOf(c)
			found = append(found, c)
		}
	}
	problems := make([]string, len(said)) // what has failed in each message; "" if nothing
	for i, s := range said {
		if ctx.Err() != nil || len(found) >= mostCandidates {
			break
		}
		sentences := sentencesOf(s.Text)
		if at := slices.IndexFunc(sentences, isProblem); at >= 0 {
			problems[i] = sentences[at]
		}
		if s.Role == "user" || s.Role == "" {
			for _, sentence := range sentences {
				if kind, path := kindOf(sentence); kind != "" && len(found) < mostCandidates {
					add(Candidate{Kind: kind, Path: path, Text: "- " + sentence, Source: s.Citation}, statement.Words(sentence))
				}
			}
			continue
		}
		if at := slices.IndexFunc(sentences, fixing().MatchString); at >= 0 {
			for before := i; before >= max(0, i-solvedWithin); before-- {
				if problems[before] != "" {
					add(fixOf(problems[before], sentences[at], s.Citation, now), statement.Words(sentences[at]))
					break
				}
			}
		}
	}
	return found, ctx.Err()
}

// idOf names a candidate by what it says, so that it stays the same when others come and go.
func idOf(c Candidate) string {
	sum := sha256.Sum256([]byte(c.Kind + "\x00" + c.Text[strings.LastIndexByte(c.Text, '\n')+1:]))
	return hex.EncodeToString(sum[:3])
}

// isProblem tells a sentence that says that something has failed, and not that it was mended.
func isProblem(sentence string) bool {
	return failing().MatchString(sentence) && !fixing().MatchString(sentence)
}

func kindOf(sentence string) (kind, path string) {
	switch {
	case deciding().MatchString(sentence):
		return KindDecision, "facts/project.md"
	case preferring().MatchString(sentence):
		return KindPreference, "facts/preferences.md"
	case factual().MatchString(sentence):
		if ofUser().MatchString(sentence) {
			return KindFact, "facts/user.md"
		}
		return KindFact, "facts/project.md"
	}
	return "", ""
}

var ofUser = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:my|me|i|i'm|ich)\b|我(?:叫|是)`)
})

// fixOf is the episode of a problem that was solved.
func fixOf(problem, solution, source string, now time.Time) Candidate {
	return Candidate{Kind: KindFix, Source: source, Text: fmt.Sprintf("## %s\n- Summary: %s → %s\n- Date: %s\n- Problem: %s\n- Solution: %s", few(problem, 8), few(problem, 5), few(solution, 5),
		now.Format(time.DateOnly), problem, solution)}
}

// few are the first words of a sentence, without its end.
func few(text string, n int) string {
	words := strings.Fields(strings.TrimRight(text, ".!?。！？: "))
	if len(words) > n {
		return strings.Join(words[:n], " ") + "…"
	}
	return strings.Join(words, " ")
}

// longestSaid is how much of a message is looked at, in bytes: who pastes more states nothing with it.
const longestSaid = 20_000

// sentencesOf are the sentences of a text outside of code that state something, without secrets and hidden characters.
func sentencesOf(text string) []string {
	text = strings.ToValidUTF8(text[:min(len(text), longestSaid)], "")
	text, _ = sanitize.Reveal(codeBlock().ReplaceAllString(text, "\n"))
	text, _ = secret.Redact(text)
	var all []string
	for _, s := range joinAbbreviated(sentences().FindAllString(text, -1)) {
		s = strings.Join(strings.Fields(strings.TrimLeft(s, "-*+>#•\t ")), " ")
		asks := strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？")
		if n := len([]rune(s)); asks || len(s) < shortestSentence || n > longestSentence || strings.Contains(s, "[redacted:") {
			continue
		}
		all = append(all, s)
	}
	return all
}

// joinAbbreviated joins what was cut at a full stop within a word, such as in 10.0.0.5 or main.go.
func joinAbbreviated(parts []string) []string {
	var all []string
	for _, p := range parts {
		if last := len(all) - 1; last >= 0 && strings.HasSuffix(all[last], ".") && p != "" && !strings.HasPrefix(p, " ") && !strings.HasPrefix(p, "\n") {
			all[last] += p
			continue
		}
		all = append(all, p)
	}
	return all
}

func knownStatements(ctx context.Context, data *notes.Data) ([]string, error) {
	items, err := data.List(ctx)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, item := range items {
		text, err := data.Read(ctx, item.Path)
		if err != nil {
			continue // memory_list says so
		}
		for _, s := range statement.Of(text, 1) {
			known = append(known, strings.TrimPrefix(s.Words, "solution: "))
		}
	}
	return known, nil
}

func isKnown(known []string, words string) bool {
	for _, k := range known {
		if statement.Near(k, words) {
			return true
		}
	}
	return false
}

// Accept writes candidates, as one change that can be taken back, and returns what was written.
func Accept(ctx context.Context, data *notes.Data, candidates []Candidate) ([]notes.Written, error) {
	draft := data.Draft()
	for _, c := range candidates {
		if _, err := draft.Append(ctx, c.Path, c.Text, ""); err != nil {
			return nil, err
		}
	}
	changes := draft.Changes()
	return changes, draft.Commit(ctx, "accepted proposals")
}
