package reflection

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/digest"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/internal/markdown/statement"
	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/text/prompt"
	"github.com/memcore/memcore/internal/text/sanitize"
	"github.com/memcore/memcore/internal/text/secret"
)

// What users state is found by core/digest. These match sentences about errors, in English, German
// and Chinese.
var (
	failing   = lazy.Regexp(`(?i)\b(?:error|exception|panic|fatal|traceback|failed|fails|failure|crash(?:es|ed)?|segfault|timeout|broken|fehler)\b|报错|错误|失败`)
	fixing    = lazy.Regexp(`(?i)\b(?:root cause|the (?:problem|issue|bug|cause|reason|culprit) was|(?:fixed|solved|resolved|works now)(?: it)?(?: by| with| after| because)|the (?:fix|solution) (?:is|was)|lag daran|behoben)\b|\b(?:fixed|solved|resolved|works now)(?: it)?[:,]|(?:^|\bi(?:'ve| have)? |\bnow )fixed (?:the|a|an|it|this|that|your|both|all)\b|原因是|解决了|修复了`)
	codeBlock = lazy.Regexp("(?s)```.*?(?:```|$)|~~~.*?(?:~~~|$)")
)

const (
	minSentence     = 12
	minIntroduction = 7 // bytes, such as of "I am Bo."
	maxSentence     = 300
	maxText         = 20_000 // bytes of a message that are looked at
	solvedWithin    = 20     // messages between an error and its solution
	maxProposals    = 50
)

// Propose finds by rules what a conversation may have taught: the user's preferences, facts and
// decisions, and solved errors. Each quotes it and is new to memory.
func Propose(ctx context.Context, data *notes.Data, said []session.Message, now time.Time) ([]notes.Proposal, error) {
	known, err := knownStatements(ctx, data)
	if err != nil {
		return nil, err
	}
	found := []notes.Proposal{}
	add := func(p notes.Proposal, words string) {
		if len(found) < maxProposals && !slices.ContainsFunc(known, func(k string) bool { return statement.Near(k, words) }) {
			known = append(known, words)
			p.ID, p.At = idOf(p), now.UTC()
			found = append(found, p)
		}
	}
	problems := make([]string, len(said)) // the error that each message names
	for i, m := range said {
		if ctx.Err() != nil || len(found) >= maxProposals {
			break
		}
		if isMachine(m) {
			continue
		}
		all := sentencesOf(m.Content)
		if at := slices.IndexFunc(all, isProblem); at >= 0 {
			problems[i] = all[at]
		}
		if m.Role == "user" || m.Role == "" {
			for _, sentence := range sentencesOf(prompt.Form(m.Content).Own) { // not what users paste
				p := notes.Proposal{Source: m.Citation}
				if asked, ok := askedFor(sentence); ok {
					sentence, p = asked, statedAs(asked, p)
				} else if p.Kind, p.Path, p.AboutUser = kindOf(sentence); p.Kind == "" {
					continue
				}
				p.Text = "- " + sentence
				add(p, statement.Words(sentence))
			}
			continue
		}
		at := slices.IndexFunc(all, func(s string) bool { return !isQuestion(s) && fixing().MatchString(s) })
		for before := i; at >= 0 && before >= max(0, i-solvedWithin); before-- {
			if problems[before] != "" {
				add(fixOf(problems[before], all[at], m.Citation, now), statement.Words(all[at]))
				break
			}
		}
	}
	return found, ctx.Err()
}

// isMachine reports whether a program wrote a message in the user's place.
func isMachine(m session.Message) bool {
	return (m.Role == "user" || m.Role == "") && prompt.ByMachine(m.Content)
}

func idOf(p notes.Proposal) string {
	sum := sha256.Sum256([]byte(p.Kind + "\x00" + p.Text[strings.LastIndexByte(p.Text, '\n')+1:]))
	return hex.EncodeToString(sum[:3])
}

// isProblem reports whether a sentence names an error and no solution.
func isProblem(sentence string) bool {
	return failing().MatchString(sentence) && !fixing().MatchString(sentence)
}

// ofOthers matches a quotation, and a piece of a page.
var ofOthers = lazy.Regexp(`(?i)^[-*+#•\t ]*>|</[a-z]|<(?:html|body|div|span|p|a|h[1-6]|li|td|br|img|script|title)\b[^<>]*>`)

// kindOf also returns where a sentence belongs.
func kindOf(sentence string) (kind, path string, aboutUser bool) {
	if digest.Introduces(sentence) && !isQuestion(sentence) {
		return notes.ProposedFact, "facts/user.md", true
	}
	switch stated, standing := digest.Classify(sentence); {
	case stated == digest.Decision:
		return notes.ProposedDecision, "facts/project.md", false
	case stated == digest.Preference, stated == digest.Rule && standing, preferringOneself().MatchString(sentence) && !isQuestion(sentence):
		return notes.ProposedPreference, "facts/preferences.md", preferringOneself().MatchString(sentence)
	case stated == digest.Fact && ofUser().MatchString(sentence):
		return notes.ProposedFact, "facts/user.md", true
	case stated == digest.Fact:
		return notes.ProposedFact, "facts/project.md", false
	}
	return "", "", false
}

var preferringOneself = lazy.Regexp(`(?i)\bi (?:really |always |usually |strongly )?(?:prefer|love|hate|dislike)\b|\bich bevorzuge\b|\bprefiero\b|\bje pr[eé]f[eè]re\b|我(?:更喜欢|喜欢|偏好|讨厌)`)

var ofUser = lazy.Regexp(`(?i)\b(?:my|me|i|i'm|ich)\b|我(?:叫|是)`)

// fixOf returns the episode of a solved error.
func fixOf(problem, solution, source string, now time.Time) notes.Proposal {
	return notes.Proposal{Kind: notes.ProposedFix, Source: source, Text: fmt.Sprintf("## %s\n- Summary: %s → %s\n- Date: %s\n- Problem: %s\n- Solution: %s",
		firstWords(problem, 8), firstWords(problem, 5), firstWords(solution, 5), now.Format(time.DateOnly), problem, solution)}
}

// firstWords drops the full stop.
func firstWords(text string, n int) string {
	words := strings.Fields(strings.TrimRight(text, ".!?。！？: "))
	if len(words) > n {
		return strings.Join(words[:n], " ") + "…"
	}
	return strings.Join(words, " ")
}

func isQuestion(sentence string) bool {
	return strings.HasSuffix(sentence, "?") || strings.HasSuffix(sentence, "？")
}

// sentencesOf leaves out code, hidden characters, and sentences with a secret.
func sentencesOf(text string) []string {
	return slices.DeleteFunc(redactedSentences(text), hasSecret)
}

func hasSecret(redacted string) bool { return strings.Contains(redacted, secret.Mark) }

// redactedSentences is sentencesOf with those that have a secret, redacted.
func redactedSentences(text string) []string {
	text = strings.ToValidUTF8(text[:min(len(text), maxText)], "")
	text, _ = sanitize.Reveal(codeBlock().ReplaceAllString(text, "\n"))
	text, _ = secret.Redact(text)
	var all []string
	for l := range strings.SplitSeq(text, "\n") {
		for from, to := range chunker.Sentences(l) {
			s := l[from:to]
			if ofOthers().MatchString(s) {
				continue
			}
			s = strings.Join(strings.Fields(strings.TrimLeft(s, "-*+#•\t ")), " ")
			short := len(s) < minSentence && (len(s) < minIntroduction || !digest.Introduces(s))
			if short || len([]rune(s)) > maxSentence {
				continue
			}
			all = append(all, s)
		}
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
			continue // memory_list reports it
		}
		for _, s := range statement.Of(text, 1) {
			known = append(known, strings.TrimPrefix(s.Words, "solution: "))
		}
	}
	return known, nil
}
