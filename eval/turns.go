package eval

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
)

// Names in the folder of a set of turns.
const (
	turnsFile    = "cases.jsonl"
	statesFolder = "states"
	sessionsList = "sessions.txt" // in a state: the logs that were there, one a line
	logsFolder   = "sessions"
)

// A Turn is a line of cases.jsonl: a prompt with judgments of memory.
type Turn struct {
	ID      string `json:"id"`
	State   string `json:"state"` // folder below states with what was known then
	Session string `json:"session"`
	Turn    int    `json:"turn"` // place among the session's prompts, from 0; negative for none
	Kind    string `json:"kind"` // "instruction", "follow-up", … or KindTeamQuestion
	Prompt  string `json:"prompt"`
	// Nothing means that memory has nothing of GradeWanted.
	Nothing bool       `json:"nothing"`
	Gold    []Judgment `json:"gold"`
	Judged  []Judgment `json:"judged"`

	said *Said // the statement that a turn of one wants
}

// KindTeamQuestion marks a teammate's question. Other turns are original prompts.
const KindTeamQuestion = "team question"

// A TurnSet is the turns of a workspace: a folder with cases.jsonl, states/NAME (documents, names
// of logs in sessions.txt) and sessions (logs).
type TurnSet struct {
	Name   string
	Folder string
	Turns  []Turn
}

// ReadTurns reads a folder with cases.jsonl, or its subfolders; names select some. Errors name file
// and line.
func ReadTurns(folder string, names ...string) ([]TurnSet, error) {
	found, err := filepath.Glob(filepath.Join(folder, "*", turnsFile))
	if err != nil {
		return nil, fmt.Errorf("find turns in %s: %w", folder, err)
	}
	if own := filepath.Join(folder, turnsFile); exists(own) {
		found = []string{own}
	}
	var all []TurnSet
	var known []string
	for _, file := range found {
		root, err := filepath.Abs(filepath.Dir(file))
		if err != nil {
			return nil, fmt.Errorf("read turns: %w", err)
		}
		name := filepath.Base(root)
		known = append(known, name)
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		set := TurnSet{Name: name, Folder: root}
		if err := set.read(); err != nil {
			return nil, err
		}
		all = append(all, set)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no set %q in %s, want one of %s: %w", name, folder, strings.Join(known, ", "), fs.ErrNotExist)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no turns in %s: want a folder with %s and %s, or a folder of such: %w", folder, turnsFile, statesFolder, fs.ErrNotExist)
	}
	return all, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (s *TurnSet) read() error {
	seen := map[string]bool{}
	err := EachLine(filepath.Join(s.Folder, turnsFile), func(_ int, line []byte) error {
		turns, err := parseTurns(line)
		if err != nil {
			return err
		}
		for _, turn := range turns {
			if info, err := os.Stat(filepath.Join(s.Folder, statesFolder, turn.State)); err != nil || !info.IsDir() {
				return fmt.Errorf("turn %s: state %q is not a folder below %s", turn.ID, turn.State, statesFolder)
			}
			if err := fresh(seen, "turn", turn.ID); err != nil {
				return err
			}
		}
		s.Turns = append(s.Turns, turns...)
		return nil
	})
	if err == nil && len(s.Turns) == 0 {
		err = fmt.Errorf("%s: it has no turn", filepath.Join(s.Folder, turnsFile))
	}
	return err
}

func parseTurn(line []byte) (Turn, error) {
	var t Turn
	if err := json.Unmarshal(line, &t); err != nil {
		return t, err
	}
	return t, t.check()
}

func (t Turn) check() error {
	switch {
	case t.ID == "":
		return errors.New("turn has no id")
	case strings.TrimSpace(t.Prompt) == "":
		return fmt.Errorf("turn %s: prompt is empty", t.ID)
	case t.State == "" || !filepath.IsLocal(t.State):
		return fmt.Errorf("turn %s: state is %q, want the name of a folder below %s", t.ID, t.State, statesFolder)
	}
	wanted := false
	for _, j := range t.judgments() {
		switch {
		case j.Path == "" || j.Lines[0] < 1 || j.Lines[1] < j.Lines[0]:
			return fmt.Errorf("turn %s: judgment of %q, lines %v: want a path and two lines from 1 on, in order", t.ID, j.Path, j.Lines)
		case j.Grade < GradeNoise || j.Grade > GradeWanted:
			return fmt.Errorf("turn %s: grade of %s is %d, want %d to %d", t.ID, j.Path, j.Grade, GradeNoise, GradeWanted)
		}
		wanted = wanted || j.Grade == GradeWanted
	}
	if wanted == t.Nothing {
		return fmt.Errorf("turn %s: nothing is %t, but a judgment of grade %d exists: %t", t.ID, t.Nothing, GradeWanted, wanted)
	}
	return nil
}

// judgments returns all judgments. Gold repeats some of Judged with more text.
func (t Turn) judgments() []Judgment { return slices.Concat(t.Gold, t.Judged) }

// TurnsOptions say how turns are measured.
type TurnsOptions struct {
	// Folder keeps the indexes for the next run; "" is a temporary one.
	Folder string
	// MadeBy names the indexing program; "" is the hash of this one. Other programs' indexes are
	// rebuilt, since chunks may differ.
	MadeBy string
	// Keep uses indexes of another program, too.
	Keep     bool
	Retrieve core.RetrieveOptions
	// Ordinary are prompts that no memory should answer. The last state of each set is asked them.
	Ordinary []string
	// Variants asks each turn also in other words, and compares what is given.
	Variants bool
	// Progress, if set, is called after each state.
	Progress func(name string, done, total int)
}

// RunTurns indexes each state once and asks its prompts. On an error the report is partial.
func RunTurns(ctx context.Context, open Opener, sets []TurnSet, o TurnsOptions) (report TurnsReport, err error) {
	var asked []AskedTurn
	defer func() { report = tallyTurns(asked) }()
	if o.Folder == "" {
		if o.Folder, err = os.MkdirTemp("", "memcore-turns-"); err != nil {
			return report, fmt.Errorf("measure turns: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.Folder)) }()
	} else if err := o.keepIn(o.Folder); err != nil {
		return report, fmt.Errorf("keep indexes in %s: %w", o.Folder, err)
	}
	total, done := 0, 0
	for _, set := range sets {
		total += len(set.states())
	}
	for _, set := range sets {
		set = set.with(o.Ordinary)
		logs := source.NewFolder(source.FolderOptions{Path: filepath.Join(set.Folder, logsFolder), Workspace: set.Folder, Optional: true})
		for _, state := range set.states() {
			some, err := set.ask(ctx, open, logs, state, o)
			asked = append(asked, some...)
			if err != nil {
				return report, fmt.Errorf("measure turns: %s/%s: %w", set.Name, state, err)
			}
			done++
			if o.Progress != nil {
				o.Progress(set.Name+"/"+state, done, total)
			}
		}
	}
	return report, nil
}

// with returns the set with prompts that its last state is asked, too.
func (s TurnSet) with(prompts []string) TurnSet {
	s.Turns = slices.Clone(s.Turns)
	state := slices.Max(s.states())
	for i, prompt := range prompts {
		s.Turns = append(s.Turns, Turn{ID: fmt.Sprintf("%s/%d", KindOrdinary, i+1), State: state, Kind: KindOrdinary, Prompt: prompt, Nothing: true})
	}
	return s
}

// documentOf returns the name of the first Markdown file of a folder, or "".
func documentOf(folder string) string {
	found, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err != nil || len(found) == 0 {
		return ""
	}
	return filepath.Base(found[0])
}

// keepIn makes the folder absolute and MadeBy known.
func (o *TurnsOptions) keepIn(folder string) (err error) {
	if o.Folder, err = filepath.Abs(folder); err != nil || o.MadeBy != "" {
		return err
	}
	o.MadeBy, err = programHash()
	return err
}

var programHash = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	program, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer program.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, program); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
})

// states returns the states of turns in order of first use.
func (s TurnSet) states() []string {
	var all []string
	for _, t := range s.Turns {
		if !slices.Contains(all, t.State) {
			all = append(all, t.State)
		}
	}
	return all
}

// ask indexes a state and asks it each of its turns, with variants if o wants them.
func (s TurnSet) ask(ctx context.Context, open Opener, logs *source.Folder, state string, o TurnsOptions) (asked []AskedTurn, err error) {
	folder := filepath.Join(s.Folder, statesFolder, state)
	began, err := s.logsOf(state)
	if err != nil {
		return nil, err
	}
	documents := source.NewFolder(source.FolderOptions{Path: folder, Workspace: folder})
	index := filepath.Join(o.Folder, s.Name, state)
	memory, err := open(ctx, []source.Source{documents, someLogs{logs, began}}, index)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	if err := o.index(ctx, memory, index); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	file := documentOf(folder)
	for _, t := range s.Turns {
		if t.State != state {
			continue
		}
		one, err := t.ask(ctx, memory, o.Retrieve)
		if err != nil {
			return asked, fmt.Errorf("turn %s: %w", t.ID, err)
		}
		one.Set = s.Name
		asked = append(asked, one)
		if !o.Variants || t.Kind == KindOrdinary || t.Kind == KindSaidStart {
			continue
		}
		for _, v := range Variants(t.Prompt, file) {
			t.Prompt = v.Prompt
			other, err := t.ask(ctx, memory, o.Retrieve)
			if err != nil {
				return asked, fmt.Errorf("turn %s, variant %q: %w", t.ID, v.Name, err)
			}
			other.Set, other.Variant, other.Same = s.Name, v.Name, other.sameAs(one, v.Name)
			asked = append(asked, other)
		}
	}
	return asked, nil
}

// index updates a memory; it rebuilds the index of another program.
func (o TurnsOptions) index(ctx context.Context, memory *core.Manager, folder string) error {
	stamp := folder + ".made-by"
	before, err := os.ReadFile(stamp)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	madeBy, rebuild := o.MadeBy, string(before) != o.MadeBy
	if o.Keep && err == nil {
		madeBy, rebuild = string(before), false
	}
	if err := os.Remove(stamp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	report, err := memory.Index(ctx, core.IndexOptions{Rebuild: rebuild})
	switch {
	case err != nil:
		return err
	case report.Degraded != "":
		return errors.New(report.Degraded)
	case report.Unreadable > 0:
		return fmt.Errorf("%d documents cannot be read: %v", report.Unreadable, report.Skipped)
	}
	return os.WriteFile(stamp, []byte(madeBy), 0o600)
}

// logsOf returns the paths of a state's logs. A missing one is an error.
func (s TurnSet) logsOf(state string) (map[string]bool, error) {
	list := filepath.Join(s.Folder, statesFolder, state, sessionsList)
	data, err := os.ReadFile(list)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	began := map[string]bool{}
	for line := range bytes.Lines(data) {
		name := strings.TrimSpace(string(line))
		if name == "" {
			continue
		}
		path := logsFolder + "/" + name
		if _, err := os.Stat(filepath.Join(s.Folder, filepath.FromSlash(path))); err != nil {
			return nil, fmt.Errorf("a log that %s names: %w", list, err)
		}
		began[path] = true
	}
	return began, nil
}

// someLogs is a folder that lists only the logs in began.
type someLogs struct {
	*source.Folder
	began map[string]bool
}

// List returns the logs.
func (l someLogs) List(ctx context.Context) (source.Listing, error) {
	listing, err := l.Folder.List(ctx)
	listing.Documents = slices.DeleteFunc(slices.Clone(listing.Documents), func(d source.Document) bool { return !l.began[d.Path] })
	return listing, err
}

func (t Turn) ask(ctx context.Context, memory *core.Manager, o core.RetrieveOptions) (AskedTurn, error) {
	a := AskedTurn{ID: t.ID, Session: t.Session, Kind: t.Kind, Prompt: t.Prompt, Nothing: t.Nothing, Given: []GradedHit{}}
	for _, j := range t.judgments() {
		if cite := citation(j.Path, j.Lines); j.Grade == GradeWanted && !slices.Contains(a.Wanted, cite) {
			a.Wanted = append(a.Wanted, cite)
		}
	}
	started := time.Now()
	var result core.Result
	var err error
	if t.Kind == KindSaidStart {
		result.Said, err = memory.Standing(ctx, core.MaxStanding, core.MaxStandingTokens)
	} else {
		result, err = memory.RetrieveRelevant(ctx, t.Prompt, o)
	}
	a.Took = time.Since(started)
	if err != nil {
		return a, err
	}
	degraded := slices.DeleteFunc(result.Degraded, func(reason string) bool { return strings.HasPrefix(reason, core.QueryCut) })
	if len(degraded) > 0 {
		return a, fmt.Errorf("answered in part: %s", strings.Join(degraded, "; "))
	}
	a.Silence = result.Silence
	for _, said := range result.Said {
		a.Given = append(a.Given, t.gradedStatement(said))
	}
	for _, hit := range result.Hits {
		a.Given = append(a.Given, t.graded(hit))
	}
	for _, line := range result.Lines {
		a.Listed = append(a.Listed, t.gradedLine(line))
	}
	return a, nil
}

func (t Turn) graded(hit core.MemoryHit) GradedHit {
	grade, judged := t.grade(hit)
	return GradedHit{Path: hit.Path, Lines: [2]int{hit.StartLine, hit.EndLine}, Score: hit.Score, Tokens: hit.TokenEstimate, Grade: grade, Judged: judged, Text: hit.Text}
}

// gradedStatement grades by the line alone: a statement is a part of what was judged.
func (t Turn) gradedStatement(said core.Statement) GradedHit {
	given := t.graded(core.MemoryHit{Path: said.Path, StartLine: said.Line, EndLine: said.Line, Text: said.Text})
	if t.said == nil {
		given.Grade, given.Judged = t.gradeLines(given.Path, given.Lines)
	}
	given.Said, given.Tokens = true, tokensOf(said.Text)
	return given
}

// gradedLine grades a line of a list by what it opens.
func (t Turn) gradedLine(line core.Line) GradedHit {
	listed := GradedHit{Path: line.Path, Lines: [2]int{line.StartLine, line.EndLine}, Text: line.Request}
	if line.Kind == source.KindConversation && !line.Time.IsZero() {
		listed.Text = line.Time.Format(time.DateOnly) + ": " + listed.Text
	}
	if line.Outcome != "" {
		listed.Text += " → " + line.Outcome
	}
	if line.Reply != "" {
		listed.Text += " (the user answered: " + line.Reply + ")"
	}
	listed.Tokens = tokensOf(line.Name + listed.Text)
	listed.Grade, listed.Judged = t.gradeLines(listed.Path, listed.Lines)
	return listed
}

// tokensOf estimates the tokens of a text.
func tokensOf(text string) int { return (len(text) + bytesPerToken - 1) / bytesPerToken }

const bytesPerToken = 4

func citation(path string, lines [2]int) string {
	return fmt.Sprintf("%s#L%d-L%d", path, lines[0], lines[1])
}

func fresh(seen map[string]bool, what, id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%s has no id", what)
	case seen[id]:
		return fmt.Errorf("%s %q occurs twice", what, id)
	}
	seen[id] = true
	return nil
}

// EachLine calls do for every non-blank line, with its number from 1.
func EachLine(path string, do func(number int, line []byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading lines: %w", err)
	}
	defer file.Close()
	lines := bufio.NewReader(file)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("reading lines: %w", err)
		}
		if line := bytes.TrimRight(line, "\r\n"); len(bytes.TrimSpace(line)) > 0 {
			if err := do(number, line); err != nil {
				return fmt.Errorf("%s:%d: %w", path, number, err)
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}
