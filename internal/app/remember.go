package app

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/reflection"
	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/text/plain"
	"github.com/memcore/memcore/store/keyword"
)

// remembering labels the changes that a user's prompt asked for.
const remembering = "asked to remember"

// remembered says what became of what a prompt asks to remember.
type remembered struct {
	places     []string // that have it, if anything was asked
	isNew      bool     // some of it was not there before
	withSecret bool     // some of it is not saved
}

// remember saves what a prompt of the user asks to remember: rules where they instruct, if the
// folder is trusted, and the rest as facts.
func (n Notes) remember(ctx context.Context, prompt string) (r remembered, err error) {
	rules, facts, withSecret := reflection.Asked(prompt, time.Now())
	r.withSecret = withSecret
	if !n.w.Trusted() {
		rules, facts = nil, append(facts, rules...) // a rule would not be used
	}
	if len(rules)+len(facts) == 0 {
		return r, nil
	}
	journal, err := n.Journal()
	if err != nil {
		return r, err
	}
	data, err := n.Data()
	if err != nil {
		return r, err
	}
	var decided []string
	saver := notes.NewSaver(n.w.Curated().Layer(), journal, notes.SaveOptions{Label: remembering})
	for _, p := range rules {
		saved, err := saver.Save(ctx, notes.SaveRequest{Content: strings.TrimPrefix(p.Text, "- "), Target: notes.TargetProject, Private: true})
		if err != nil {
			return r, err
		}
		r.isNew = r.isNew || saved.Written
		r.places, decided = append(r.places, saved.Path), append(decided, p.ID)
	}
	facts = slices.DeleteFunc(facts, func(p notes.Proposal) bool {
		known, err := n.statements(ctx, strings.TrimPrefix(p.Text, "- "))
		if err != nil || len(known) == 0 {
			return false
		}
		r.places, decided = append(r.places, known[0].Path), append(decided, p.ID)
		return true
	})
	changes, err := data.Accept(ctx, remembering, facts)
	if err != nil {
		return r, err
	}
	r.isNew = r.isNew || len(changes) > 0
	for _, w := range changes {
		r.places = append(r.places, n.w.Names().Of(filepath.Join(n.w.DataDir(), filepath.FromSlash(w.Path))))
	}
	for _, p := range facts {
		decided = append(decided, p.ID)
	}
	slices.Sort(r.places)
	r.places = slices.Compact(r.places)
	return r, n.Proposals().Decide(ctx, decided...) // rules find the same in the log
}

// saved says to the agent what is saved.
func (r remembered) saved() string {
	if len(r.places) == 0 {
		return ""
	}
	return fmt.Sprintf("memcore: what the user asks to remember is saved in %s, in their words. Do not save it again, and tell them where it is; 'memcore save --undo' takes it back.", plain.OneLine(strings.Join(r.places, ", ")))
}

// withheld says to the agent that a secret is not saved.
func (r remembered) withheld() string {
	if !r.withSecret {
		return ""
	}
	return "memcore: the user asks to remember something with a secret. That is not saved: memory never keeps secrets. Tell them so without it, and do not save it."
}

const (
	// rememberedFor is how long a model's save may be about what the user's prompt has saved.
	rememberedFor = 15 * time.Minute
	// aboutTheSame is which share of a save's words must be in what is saved.
	aboutTheSame = 0.6
)

// savedAlready returns what the user's own prompt has just saved that a model's save is about. The
// model's words are another text that nobody has agreed to.
func (n Notes) savedAlready(text string) (saved notes.Statement, ok bool) {
	journal, err := n.Journal()
	if err != nil {
		return saved, false
	}
	records, err := journal.Records()
	if err != nil {
		return saved, false
	}
	for _, r := range records {
		if r.Label != remembering || time.Since(r.At) > rememberedFor {
			continue
		}
		for _, h := range r.Edits {
			for line := range strings.Lines(h.New) {
				if item, isItem := strings.CutPrefix(line, "- "); isItem && shareOf(text, item) >= aboutTheSame {
					return notes.Statement{Path: n.w.Names().Of(h.File()), Text: strings.TrimSpace(item)}, true
				}
			}
		}
	}
	return saved, false
}

// shareOf returns which share of a text's words another text has.
func shareOf(text, other string) float64 {
	terms := keyword.NewTerms()
	has := terms.Of(other)
	asked := terms.Asked(text)
	n := 0
	for _, a := range asked {
		if slices.ContainsFunc(a.Spellings, func(spelling string) bool { return slices.Contains(has, spelling) }) {
			n++
		}
	}
	return float64(n) / float64(max(len(asked), 1))
}

// How a person decides about proposals in a prompt that says nothing else: "accept 4k7qmz", in the
// languages of reflection.Asked. Within other words, or quoted, it decides nothing.
var decision = lazy.Regexp(`(?i)^(?:(?:please|ok(?:ay)?|bitte|por favor|s'il te pla[iî]t)[,:]? )?` +
	`(?:(?:(?P<yes>accept|confirm|yes|ja|akzeptiere|acept[ao]|sí|accepte|oui)|(?P<no>decline|reject|no|nein|verwirf|rechaz[ao]|refuse|non))[,:]?\s+|(?:(?P<yesCJK>接受|確認|はい)|(?P<noCJK>拒绝|拒絶|いいえ))[：:，,、]?\s*)` +
	`(?P<ids>` + pendingID + `(?:(?:\s*[,，、]\s*|\s+(?:and |und |y |et )?)` + pendingID + `)*)[.!。！]?$`)

// pendingID matches an ID, or one of a rule that is cut or has a digit too many.
const pendingID = `(?:[0-9a-z]{6}|[0-9a-f]{5,8})`

var pendingIDs = lazy.Regexp(`(?i)\b` + pendingID + `\b`)

// decide accepts or declines the proposals that a prompt of the user names, and says so. none says
// under which IDs nothing waits. Without any proposal, "yes 123456" answers something else.
func (n Notes) decide(ctx context.Context, prompt string) (did, none string, err error) {
	said := decision().FindStringSubmatch(strings.TrimSpace(prompt))
	if said == nil {
		return "", "", nil
	}
	all, err := n.Proposals().Waiting()
	if err != nil {
		return "", "", err
	}
	group := func(name string) string { return said[decision().SubexpIndex(name)] }
	var named, unknown []string
	for _, id := range pendingIDs().FindAllString(strings.ToLower(group("ids")), -1) {
		switch {
		case slices.ContainsFunc(all, func(p notes.Proposal) bool { return p.ID == id }):
			named = append(named, id)
		case !strings.ContainsAny(id, "0123456789") && strings.ContainsAny(id, "aeiouy"): // a word, as in "no acepto 4k7qmz"
			return "", "", nil
		case len(all) == 0 && !strings.EqualFold(group("yes"), "accept") && !strings.EqualFold(group("no"), "decline"):
			return "", "", nil
		default:
			unknown = append(unknown, id)
		}
	}
	if group("yes")+group("yesCJK") != "" {
		did, err = n.Decide(ctx, all, named, nil)
	} else {
		did, err = n.Decide(ctx, all, nil, named)
	}
	if err == nil && len(unknown) > 0 {
		none = "memcore: nothing waits under " + strings.Join(unknown, ", ") + ": it is misspelt, or decided already. Tell the user."
	}
	return did, none, err
}

// Decide accepts and declines proposals for a person who was shown them by pendingText, and says
// what was done. What that cuts is not accepted.
func (n Notes) Decide(ctx context.Context, all []notes.Proposal, accepted, declined []string) (string, error) {
	var long []string
	accepted = slices.DeleteFunc(slices.Clone(accepted), func(id string) bool {
		cut := slices.ContainsFunc(all, func(p notes.Proposal) bool { return p.ID == id && utf8.RuneCountInString(p.Text) > maxPendingShown })
		if cut {
			long = append(long, id)
		}
		return cut
	})
	written, err := n.Accept(ctx, all, accepted)
	if err != nil {
		return "", err
	}
	if err := n.Proposals().Decide(ctx, declined...); err != nil {
		return "", err
	}
	var did []string
	if len(accepted) > 0 {
		did = append(did, fmt.Sprintf("accepted %s, written to %s", strings.Join(accepted, ", "), plain.OneLine(cmp.Or(strings.Join(written, ", "), "no file, since it says that already"))))
	}
	if len(declined) > 0 {
		did = append(did, "declined "+strings.Join(declined, ", "))
	}
	if len(long) > 0 {
		did = append(did, "did not accept "+strings.Join(long, ", ")+", of which only the beginning was shown: the user accepts it with 'memcore memory pending'")
	}
	if len(did) == 0 {
		return "", nil
	}
	return "memcore: as the user says, " + strings.Join(did, "; ") + ".", nil
}

// maxPendingShown limits the characters of each text of a proposal that an agent is told of.
const maxPendingShown = 1000

// pendingText lists proposals for a model.
func (n Notes) pendingText(all []notes.Proposal) (string, error) {
	files, err := n.files()
	if err != nil {
		return "", err
	}
	short := func(text string) string { return plain.Shorten(files.Line(text), maxPendingShown) }
	var lines []string
	for _, p := range all {
		lines = append(lines, fmt.Sprintf("- %s (%s, %s): %s", p.ID, p.Kind, files.Name(cmp.Or(p.Path, "episodes")), short(p.Text)))
		if p.Save != nil && p.Save.Supersedes != "" {
			lines = append(lines, "  in place of: "+short(p.Save.Supersedes))
		}
	}
	return strings.Join(lines, "\n"), nil
}
