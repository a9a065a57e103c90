package notes

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/markdown/statement"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/store/keyword"
)

// Kinds of proposals.
const (
	ProposedSave       = "save"       // a model asked for it
	ProposedForget     = "forget"     // a model asked for it
	ProposedFix        = "fix"        // an episode about a solved error
	ProposedPreference = "preference" // stated by the user, like the next two
	ProposedFact       = "fact"
	ProposedDecision   = "decision"
)

// A Proposal of a model or a rule waits for a person's consent.
type Proposal struct {
	ID        string       `json:"id"` // six characters; that of a rule is made of what it says
	Kind      string       `json:"kind"`
	At        time.Time    `json:"at"`
	Source    string       `json:"source"`              // where it was said, or who asks
	Path      string       `json:"path,omitempty"`      // of the memory file; "" for this month's episodes
	Text      string       `json:"text"`                // to add or remove, Markdown
	AboutUser bool         `json:"aboutUser,omitempty"` // the user says it about themselves
	Save      *SaveRequest `json:"save,omitempty"`      // of a ProposedSave
	First     int          `json:"first,omitempty"`     // lines of a ProposedForget, from 1
	Last      int          `json:"last,omitempty"`
	Reported  bool         `json:"reported,omitempty"` // the person knows that it waits
}

// Asked reports whether a model asked for it, not a rule.
func (p Proposal) Asked() bool { return p.Kind == ProposedSave || p.Kind == ProposedForget }

// Errors of Proposals.
var (
	// ErrNoProposal means that no proposal with an ID waits.
	ErrNoProposal = errors.New("no such proposal waits")
	// errManyProposals means that too many proposals wait to add one.
	errManyProposals = fmt.Errorf("%d proposals of models wait for the person already: tell them to accept or decline some: memcore memory pending", maxAsked)
)

const (
	maxProposals   = 200 // of rules that wait
	maxAsked       = 50  // of models that wait, so that they cannot crowd out those of rules
	maxUntold      = 50
	maxDecided     = 2000    // IDs that are remembered, so as not to propose them again
	maxProposal    = 8 << 10 // bytes of text
	maxStatedShown = 60
	maxSolvedShown = 20
)

// Proposals wait in a file beside a workspace's sessions. Markdown files show retrieval what users
// said about themselves, what was solved, and what models asked to save. It is safe for concurrent
// use, also by processes.
type Proposals struct {
	file, stated, solved, unconfirmed string
}

// UnconfirmedFile has what models asked to save and no person has confirmed.
const UnconfirmedFile = "unconfirmed.md"

// OpenProposals names the folder of sessions and the Markdown files beside UnconfirmedFile.
func OpenProposals(sessions, statedName, solvedName string) *Proposals {
	in := func(name string) string { return filepath.Join(sessions, name) }
	return &Proposals{in("proposals.json"), in(statedName), in(solvedName), in(UnconfirmedFile)}
}

// A Deed was done for a prompt. It is kept until the agent has an answer that tells it: that of the
// prompt itself may be late.
type Deed struct {
	Event   string `json:"event"` // of the prompt, in the journal
	Session string `json:"session"`
	Text    string `json:"text"`
}

type proposed struct {
	Waiting []Proposal `json:"waiting"`
	Decided []string   `json:"decided,omitempty"` // IDs accepted or declined, newest last
	Untold  []Deed     `json:"untold,omitempty"`
}

// count returns how many proposals of models or of rules wait.
func (p *proposed) count(asked bool) (n int) {
	for _, w := range p.Waiting {
		if asked == w.Asked() {
			n++
		}
	}
	return n
}

// Waiting returns the proposals that wait, the oldest first.
func (p *Proposals) Waiting() ([]Proposal, error) {
	all, err := jsonfile.Load[proposed](p.file)
	if err != nil {
		return nil, fmt.Errorf("proposals: %w", err)
	}
	return all.Waiting, nil
}

// Add returns how many proposals are new, neither decided nor near duplicates.
func (p *Proposals) Add(ctx context.Context, all ...Proposal) (added int, err error) {
	if len(all) == 0 {
		return 0, nil
	}
	err = p.change(ctx, func(now *proposed) error {
		added = 0
		var known []string
		for _, w := range now.Waiting {
			known = append(known, statement.Words(w.Text))
		}
		for _, one := range all {
			words := statement.Words(one.Text)
			if now.count(false) >= maxProposals || len(one.Text) > maxProposal || slices.Contains(now.Decided, one.ID) ||
				slices.ContainsFunc(known, func(k string) bool { return statement.Near(k, words) }) {
				continue
			}
			now.Waiting, known = append(now.Waiting, one), append(known, words)
			added++
		}
		return nil
	})
	return added, err
}

// AddAsked adds a model's wish, even a declined one, unless it waits already, and returns its ID. A
// model that could choose the ID, by its text, would choose a word that people say.
func (p *Proposals) AddAsked(ctx context.Context, one Proposal) (id string, err error) {
	if len(one.Text) > maxProposal {
		return "", fmt.Errorf("%w: it has %d bytes, want at most %d: shorten it", tools.ErrArguments, len(one.Text), maxProposal)
	}
	saying := func(p Proposal) string {
		text, _ := json.Marshal([]any{p.Kind, p.Text, p.Save})
		return string(text)
	}
	err = p.change(ctx, func(now *proposed) error {
		same := func(w Proposal) bool { return saying(w) == saying(one) }
		if at := slices.IndexFunc(now.Waiting, same); at >= 0 {
			one.ID = now.Waiting[at].ID
			return nil
		}
		if now.count(true) >= maxAsked {
			return errManyProposals
		}
		one.ID = newID()
		now.Waiting = append(now.Waiting, one)
		return nil
	})
	return one.ID, err
}

// newID returns six random characters that are no word: it has no vowels, but a digit, and a letter
// that no hexadecimal number has.
func newID() string {
	const digits, letters = "23456789", "ghjkmnpqrstvwxz"
	random := make([]byte, 6)
	_, _ = rand.Read(random) // it never fails
	for i, r := range random {
		from := digits + "bcdf" + letters
		switch i {
		case 0:
			from = digits
		case 1:
			from = letters
		}
		random[i] = from[int(r)%len(from)]
	}
	return string(random)
}

// About returns waiting saves that say a text or have all its words.
func (p *Proposals) About(text string) (found []Proposal, err error) {
	waiting, err := p.Waiting()
	wanted, terms := statement.Words(text), keyword.NewTerms()
	asked := terms.Demanded(statement.WithoutFillers(text))
	for _, w := range waiting {
		if w.Kind != ProposedForget && (statement.Near(statement.Words(w.Text), wanted) || hasAll(terms.Of(w.Text), asked)) {
			found = append(found, w)
		}
	}
	return found, err
}

// Decide removes decided proposals. Rules do not propose them again.
func (p *Proposals) Decide(ctx context.Context, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	return p.change(ctx, func(now *proposed) error {
		now.Waiting = slices.DeleteFunc(now.Waiting, func(w Proposal) bool { return slices.Contains(ids, w.ID) })
		now.Decided = append(now.Decided, ids...)
		now.Decided = now.Decided[max(0, len(now.Decided)-maxDecided):]
		return nil
	})
}

// Report marks the proposals that are not reported yet and that of wants, and returns them.
func (p *Proposals) Report(ctx context.Context, of func(Proposal) bool) (fresh []Proposal, err error) {
	unreported := func(w Proposal) bool { return !w.Reported && of(w) }
	if all, err := p.Waiting(); err != nil || !slices.ContainsFunc(all, unreported) {
		return nil, err
	}
	err = p.change(ctx, func(now *proposed) error {
		fresh = nil
		for i, w := range now.Waiting {
			if unreported(w) {
				fresh = append(fresh, w)
				now.Waiting[i].Reported = true
			}
		}
		return nil
	})
	return fresh, err
}

// Keep keeps a deed until it is told.
func (p *Proposals) Keep(ctx context.Context, d Deed) error {
	return p.change(ctx, func(now *proposed) error {
		now.Untold = append(now.Untold, d)
		now.Untold = now.Untold[max(0, len(now.Untold)-maxUntold):]
		return nil
	})
}

// Untold returns what a session's agent is not told yet.
func (p *Proposals) Untold(session string) ([]Deed, error) {
	all, err := jsonfile.Load[proposed](p.file)
	if err != nil {
		return nil, fmt.Errorf("proposals: %w", err)
	}
	return slices.DeleteFunc(all.Untold, func(d Deed) bool { return d.Session != session }), nil
}

// Told ends the wait of the deeds of events.
func (p *Proposals) Told(ctx context.Context, events ...string) error {
	return p.change(ctx, func(now *proposed) error {
		now.Untold = slices.DeleteFunc(now.Untold, func(d Deed) bool { return slices.Contains(events, d.Event) })
		return nil
	})
}

// minRepeated is how long a line of a proposal is at least, in bytes, that is taken for what was
// forgotten: short ones are in many texts.
const minRepeated = 16

// Forget drops proposals of rules whose source is forgotten, or of which a line is in one of the
// texts, and returns how many. Rules do not propose them again.
func (p *Proposals) Forget(ctx context.Context, isForgotten func(source string) bool, texts ...string) (dropped int, err error) {
	waiting, err := p.Waiting()
	if err != nil || len(waiting) == 0 {
		return 0, err
	}
	forgotten := make([]string, len(texts))
	for i, text := range texts {
		forgotten[i] = statement.Words(text)
	}
	var gone []string
	for _, w := range waiting {
		if w.Asked() {
			continue
		}
		if isForgotten(w.Source) {
			gone = append(gone, w.ID)
			continue
		}
		for line := range strings.Lines(w.Text) {
			for _, label := range []string{"- Problem: ", "- Solution: ", "## "} {
				line = strings.TrimPrefix(line, label)
			}
			words := strings.TrimSuffix(statement.Words(line), "…")
			repeats := func(text string) bool { return len(words) >= minRepeated && strings.Contains(text, words) }
			if slices.ContainsFunc(forgotten, repeats) {
				gone = append(gone, w.ID)
				break
			}
		}
	}
	return len(gone), p.Decide(ctx, gone...)
}

// change also updates the files for retrieval.
func (p *Proposals) change(ctx context.Context, change func(*proposed) error) error {
	_, err := jsonfile.Change(ctx, p.file, func(now *proposed) error {
		if err := change(now); err != nil {
			return err
		}
		return p.show(now.Waiting)
	})
	if err != nil {
		return fmt.Errorf("proposals: %w", err)
	}
	return nil
}

// show writes the files for retrieval, the newest proposals last.
func (p *Proposals) show(waiting []Proposal) error {
	var stated, solved, unconfirmed []string
	for _, w := range waiting {
		switch {
		case w.AboutUser:
			stated = append(stated, fmt.Sprintf("- %s (%s, %s)\n", strings.TrimPrefix(w.Text, "- "), w.At.Local().Format(time.DateOnly), w.Source))
		case w.Kind == ProposedFix:
			solved = append(solved, fmt.Sprintf("\n%s\n- Source: %s\n", w.Text, w.Source))
		case w.Kind == ProposedSave:
			text := strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(w.Text), "- "), "\n", "\n  ")
			unconfirmed = append(unconfirmed, fmt.Sprintf("- Not confirmed, for %s (%s): %s\n", w.Path, w.At.Local().Format(time.DateOnly), text))
		}
	}
	stated, solved = stated[max(0, len(stated)-maxStatedShown):], solved[max(0, len(solved)-maxSolvedShown):]
	return errors.Join(
		showIn(p.stated, "# What the user said about themselves\n\nSaid in earlier sessions, not confirmed yet.\n\n", stated),
		showIn(p.unconfirmed, "# What models asked to save\n\nNo person has confirmed it yet.\n\n", unconfirmed),
		showIn(p.solved, "# What was solved in earlier sessions\n\nFound by rules, not confirmed yet.\n", solved))
}

// showIn removes a file that has no parts.
func showIn(file, title string, parts []string) error {
	if len(parts) == 0 {
		if err := safefile.Remove(filepath.Dir(file), filepath.Base(file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text := title + strings.Join(parts, "")
	if now, err := os.ReadFile(file); err == nil && string(now) == text {
		return nil
	}
	return jsonfile.Write(file, []byte(text))
}

// Accept appends proposals to their files, as one record with a label.
func (d *Data) Accept(ctx context.Context, label string, proposals []Proposal) ([]Written, error) {
	draft := d.Draft()
	for _, p := range proposals {
		text, err := draft.Read(ctx, draft.data.AppendedTo(p.Path))
		if err != nil && !errors.Is(err, ErrNoFile) {
			return nil, err
		}
		if strings.Contains("\n"+text, "\n"+strings.TrimSpace(p.Text)+"\n") {
			continue // written before the process that accepted it was killed
		}
		if _, err := draft.Append(ctx, p.Path, p.Text, ""); err != nil {
			return nil, err
		}
	}
	changes := draft.Changes()
	return changes, draft.Commit(ctx, label)
}
