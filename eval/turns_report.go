package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// An AskedTurn is a turn with its hits.
type AskedTurn struct {
	ID      string        `json:"id"`
	Set     string        `json:"set"`
	Session string        `json:"session,omitempty"`
	Kind    string        `json:"kind"`
	Prompt  string        `json:"prompt"`
	Nothing bool          `json:"nothing"`
	Wanted  []string      `json:"wanted,omitempty"`  // citations of GradeWanted
	Given   []GradedHit   `json:"given"`             // best first
	Listed  []GradedHit   `json:"listed,omitempty"`  // lines to choose from: their text is not given
	Silence string        `json:"silence,omitempty"` // memory's reason for giving nothing
	Took    time.Duration `json:"took"`
	// Variant names in which other words the turn was asked; Same reports whether it was given what
	// the turn itself was. "" is the turn itself.
	Variant string `json:"variant,omitempty"`
	Same    bool   `json:"same,omitempty"`
}

// A GradedHit is a hit with its grade.
type GradedHit struct {
	Path   string  `json:"path"`
	Lines  [2]int  `json:"lines"`
	Score  float64 `json:"score"`
	Tokens int     `json:"tokens"`
	Grade  int     `json:"grade"`
	Judged bool    `json:"judged"`         // false if no judgment is about it; Grade is GradeNoise then
	Said   bool    `json:"said,omitempty"` // a statement of the user, given as such
	Text   string  `json:"text"`
}

// Hit reports whether the turn got something wanted. A statement that no longer holds must not come
// before the one that does: no judgment but these two has a turn of a statement.
func (a AskedTurn) Hit() bool {
	i := slices.IndexFunc(a.Given, func(g GradedHit) bool {
		return g.Grade == GradeWanted || g.Judged && strings.HasPrefix(a.Kind, "said, ")
	})
	return i >= 0 && a.Given[i].Grade == GradeWanted
}

// A TurnsReport measures turns.
type TurnsReport struct {
	// Rows are: all judged turns, prompts, questions, each set, each kind; then variants of turns,
	// all and each.
	Rows  []TurnsRow  `json:"rows"`
	Turns []AskedTurn `json:"turns"`
}

// Names of the first Rows.
const (
	RowAll       = "all"
	RowPrompts   = "prompts"
	RowQuestions = "questions of teammates"
	RowVariants  = "variants"
)

// A TurnsRow counts some turns.
type TurnsRow struct {
	Name  string `json:"name"`
	Turns int    `json:"turns"`
	Gold  int    `json:"gold"` // turns with something wanted
	// Hit is the share of turns with something wanted that get some of it, Silent of the others
	// that get nothing.
	Hit    float64 `json:"hit"`
	Silent float64 `json:"silent"`
	// Precision is the share of wanted hits, Related of at least related ones.
	Precision float64 `json:"precision"`
	Related   float64 `json:"related"`
	// Listed is the share of turns with something wanted that do not get it, but have some of it in
	// a list. Lists is the share of all turns that get a list.
	Listed float64 `json:"listed,omitempty"`
	Lists  float64 `json:"lists,omitempty"`
	// Hits and Tokens are means over turns. Tokens count lists, too, and what a session gets again
	// once.
	Hits     float64 `json:"hits"`
	Tokens   float64 `json:"tokens"`
	Unjudged int     `json:"unjudged"` // hits without a judgment, which count as noise
	// Same is the share of variants that get what the turn itself gets.
	Same float64       `json:"same,omitempty"`
	P50  time.Duration `json:"p50"` // of RetrieveRelevant
	P95  time.Duration `json:"p95"`
}

// tallyTurns counts turns.
func tallyTurns(asked []AskedTurn) TurnsReport {
	report := TurnsReport{Turns: asked}
	row := func(name string, of func(AskedTurn) bool) {
		if r := rowOf(name, asked, of); r.Turns > 0 {
			report.Rows = append(report.Rows, r)
		}
	}
	judged := func(a AskedTurn) bool {
		return a.Variant == "" && a.Kind != KindOrdinary && a.Kind != KindSaidStart
	}
	isQuestion := func(a AskedTurn) bool { return a.Variant == "" && a.Kind == KindTeamQuestion }
	row(RowAll, judged)
	row(RowPrompts, func(a AskedTurn) bool {
		return judged(a) && !isQuestion(a) && a.Kind != KindSaidOrder && a.Kind != KindSaidQuestion
	})
	row(RowQuestions, isQuestion)
	var sets, kinds []string
	for _, a := range asked {
		sets = append(sets, a.Set)
		if a.Kind != KindTeamQuestion {
			kinds = append(kinds, a.Kind)
		}
	}
	for _, set := range unique(sets) {
		row(set, func(a AskedTurn) bool { return judged(a) && a.Set == set })
	}
	for _, kind := range unique(kinds) {
		row(kind, func(a AskedTurn) bool { return a.Variant == "" && a.Kind == kind })
	}
	row(RowVariants, func(a AskedTurn) bool { return a.Variant != "" })
	for _, v := range variants {
		row(RowVariants+": "+v.name, func(a AskedTurn) bool { return a.Variant == v.name })
	}
	return report
}

func unique(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

func rowOf(name string, asked []AskedTurn, of func(AskedTurn) bool) TurnsRow {
	r := TurnsRow{Name: name}
	var took []time.Duration
	seen := map[[3]string]bool{}
	for _, a := range asked {
		if !of(a) {
			continue
		}
		r.Turns++
		r.Same += one(a.Same)
		took = append(took, a.Took)
		if a.Nothing {
			r.Silent += one(len(a.Given) == 0)
		} else {
			r.Gold++
			r.Hit += one(a.Hit())
			r.Listed += one(!a.Hit() && slices.ContainsFunc(a.Listed, func(g GradedHit) bool { return g.Grade == GradeWanted }))
		}
		r.Lists += one(len(a.Listed) > 0)
		for _, g := range slices.Concat(a.Given, a.Listed) {
			key := [3]string{a.Set, a.Session, citation(g.Path, g.Lines)}
			if a.Session == "" || !seen[key] {
				r.Tokens += float64(g.Tokens)
			}
			seen[key] = true
		}
		for _, g := range a.Given {
			r.Hits++
			r.Precision += one(g.Grade == GradeWanted)
			r.Related += one(g.Grade >= GradeRelated)
			if !g.Judged {
				r.Unjudged++
			}
		}
	}
	r.Hit /= float64(max(r.Gold, 1))
	r.Listed /= float64(max(r.Gold, 1))
	r.Lists /= float64(max(r.Turns, 1))
	r.Silent /= float64(max(r.Turns-r.Gold, 1))
	r.Precision /= max(r.Hits, 1)
	r.Related /= max(r.Hits, 1)
	r.Same /= float64(max(r.Turns, 1))
	r.Hits /= float64(max(r.Turns, 1))
	r.Tokens /= float64(max(r.Turns, 1))
	slices.Sort(took)
	r.P50, r.P95 = quantile(took, 0.5), quantile(took, 0.95)
	return r
}

// shareOf formats a share, or a dash for one of 0.
func shareOf(format string, value float64, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf(format, value)
}

// Table returns the rows as text.
func (r TurnsReport) Table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "turns\tn\tgold\thit@gold\tlisted@gold\tsilent@none\tlists\tp@2\tp@1+\thits/turn\ttokens/turn\tunjudged\tsame\tp50\t\n")
	for _, row := range r.Rows {
		given := int(math.Round(row.Hits * float64(row.Turns)))
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%s\t%.2f\t%s\t%s\t%.1f\t%.0f\t%d\t%s\t%s\t\n", row.Name, row.Turns, row.Gold, shareOf("%.2f", row.Hit, row.Gold),
			shareOf("%.2f", row.Listed, row.Gold), shareOf("%.2f", row.Silent, row.Turns-row.Gold), row.Lists,
			shareOf("%.3f", row.Precision, given), shareOf("%.2f", row.Related, given), row.Hits, row.Tokens, row.Unjudged,
			shareOf("%.3f", row.Same, strings.Count(row.Name, RowVariants)), row.P50.Round(100*time.Microsecond))
	}
	w.Flush()
	return b.String()
}

// quoted limits a quoted text, in characters.
const quoted = 300

// Details lists turns that went wrong and unjudged hits.
func (r TurnsReport) Details() string {
	var b strings.Builder
	for _, a := range r.Turns {
		if a.Variant != "" {
			if !a.Same {
				fmt.Fprintf(&b, "\n%s/%s (%s): %d given, which are others\n  > %s\n", a.Set, a.ID, a.Variant, len(a.Given), quote(a.Prompt))
			}
			continue
		}
		missed, noisy := !a.Nothing && !a.Hit(), a.Nothing && len(a.Given) > 0
		unjudged := slices.ContainsFunc(a.Given, func(g GradedHit) bool { return !g.Judged })
		if !missed && !noisy && !unjudged {
			continue
		}
		what := "right"
		if missed {
			what = "missed " + strings.Join(a.Wanted, ", ")
			if a.Silence != "" {
				what += " (silent: " + a.Silence + ")"
			}
		} else if noisy {
			what = "wants nothing"
		}
		fmt.Fprintf(&b, "\n%s/%s (%s): %s\n  > %s\n", a.Set, a.ID, a.Kind, what, quote(a.Prompt))
		for _, g := range a.Given {
			grade := fmt.Sprint(g.Grade)
			if !g.Judged {
				grade = "?"
			}
			fmt.Fprintf(&b, "  [%s] %.3f %s: %s\n", grade, g.Score, citation(g.Path, g.Lines), quote(g.Text))
		}
	}
	return b.String()
}

func quote(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > quoted {
		return string(runes[:quoted]) + "…"
	}
	return text
}

// A TurnsBaseline holds the scores that later runs must reach.
type TurnsBaseline struct {
	Rows []TurnsRow `json:"rows"`
}

// Baseline returns the rows that the gate holds. Hits of statements' turns and of ordinary prompts
// are not judged one by one, so that of these no precision is held; of variants, only that they get
// the same.
func (r TurnsReport) Baseline() TurnsBaseline {
	var b TurnsBaseline
	for _, row := range r.Rows {
		switch row.Name {
		case RowPrompts, RowQuestions:
		case KindSaidOrder, KindSaidQuestion, KindSaidStart, KindOrdinary:
			row.Precision, row.Related = 0, 0
		case RowVariants:
			row = TurnsRow{Name: row.Name, Turns: row.Turns, Gold: row.Gold, Same: row.Same}
		default:
			continue
		}
		row.P50, row.P95 = 0, 0
		b.Rows = append(b.Rows, row)
	}
	return b
}

func parseTurnsBaseline(data []byte) (TurnsBaseline, error) {
	var b TurnsBaseline
	if err := json.Unmarshal(data, &b); err != nil {
		return b, err
	}
	if len(b.Rows) == 0 {
		return b, errors.New("it has no rows; want a file that 'eval turns --baseline' has written")
	}
	return b, nil
}

// rounding is the difference that does not count.
const rounding = 1e-6

// Fallen describes which of hit, silence and precision fell below a baseline. Other turns are an
// error.
func (r TurnsReport) Fallen(from TurnsBaseline) (fallen []string, err error) {
	for _, was := range from.Rows {
		i := slices.IndexFunc(r.Rows, func(row TurnsRow) bool { return row.Name == was.Name })
		if i < 0 || r.Rows[i].Turns != was.Turns || r.Rows[i].Gold != was.Gold {
			return nil, fmt.Errorf("%s: the baseline has %d turns, %d of them with gold, this run has others; rewrite it with --baseline", was.Name, was.Turns, was.Gold)
		}
		is := r.Rows[i]
		for _, score := range []struct {
			name    string
			was, is float64
		}{{"hit", was.Hit, is.Hit}, {"silent", was.Silent, is.Silent}, {"precision", was.Precision, is.Precision}, {"related", was.Related, is.Related}, {"same", was.Same, is.Same}, {"hit or listed", was.Hit + was.Listed, is.Hit + is.Listed}} {
			if score.is < score.was-rounding {
				fallen = append(fallen, fmt.Sprintf("%s: %s from %.3f to %.3f", was.Name, score.name, score.was, score.is))
			}
		}
	}
	return fallen, nil
}
