package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/mcp"
	"github.com/memcore/memcore/internal/app/guard"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/plain"
	"github.com/memcore/memcore/internal/text/sanitize"
)

// A toolbox has what tools share.
type toolbox struct {
	w       *Workspace
	files   guard.Files
	journal *notes.Journal
	// ask asks a person about a change of curated memory.
	ask func(context.Context, notes.Change) (bool, error)
}

func newToolbox(w *Workspace, ask func(context.Context, notes.Change) (bool, error)) (toolbox, error) {
	files, err := w.Notes().files()
	if err != nil {
		return toolbox{}, err
	}
	journal, err := w.Notes().Journal()
	if err != nil {
		return toolbox{}, err
	}
	return toolbox{w, files, journal.ForAgent(), ask}, nil
}

// modelTools are the tools of agents.
func (s *Service) modelTools() ([]tools.Tool, error) {
	box, err := newToolbox(s.Workspace, s.Workspace.askClient)
	if err != nil {
		return nil, err
	}
	return box.tools(s, s.refreshTool), nil
}

// TerminalTools are for 'memcore tool'. Only a search and a refresh need the index.
func TerminalTools(w *Workspace, ask func(context.Context, notes.Change) (bool, error)) ([]tools.Tool, error) {
	box, err := newToolbox(w, ask)
	if err != nil {
		return nil, err
	}
	refresh := func(ctx context.Context, none struct{}) (answer tools.Answer, err error) {
		err = w.WithService(ctx, func(s *Service) error {
			answer, err = s.refreshTool(ctx, none)
			return err
		})
		return answer, err
	}
	return w.told(box.tools(w.Memory(), refresh)), nil
}

// listed are the tools that models are told of. The others overlap with them; where sessions exist,
// models know recall_memory, too.
var listed = []string{searchToolName, "memory_read", "save_memory", "memory_patch", "forget"}

// told marks the tools that models are not told of.
func (w *Workspace) told(all []tools.Tool) []tools.Tool {
	all = slices.Clone(all)
	ids, err := session.List(w.SessionsDir())
	for i, t := range all {
		all[i].Unlisted = !slices.Contains(listed, t.Name) && (t.Name != recallToolName || err != nil || len(ids) == 0)
	}
	return all
}

// tools returns all tools, the listed ones first.
func (t toolbox) tools(m Memory, refresh func(context.Context, struct{}) (tools.Answer, error)) []tools.Tool {
	all := append([]tools.Tool{t.searchTool(m), t.saveTool(), t.recallTool(m)}, notes.FileTools(t.memoryFiles())...)
	for i := range all {
		if all[i].Name == readToolName {
			all[i] = readTool(m, all[i])
		}
	}
	all = append(all, tools.New("forget", "Delete a statement from memory. If several match, none is deleted.", t.forget, tools.Destructive))
	if t.w.Places == nil { // a service keeps no sessions, and what it knows is in step
		all = append(all, t.logTool(),
			tools.New("refresh_memory", "Bring the search index in step with the files. Rarely needed: searching does it by itself.", refresh, tools.ReadOnly))
	}
	rank := func(name string) int {
		if i := slices.Index(listed, name); i >= 0 {
			return i
		}
		return len(listed)
	}
	slices.SortStableFunc(all, func(a, b tools.Tool) int { return cmp.Compare(rank(a.Name), rank(b.Name)) })
	return all
}

// memoryFiles are the files that tools read and write.
func (t toolbox) memoryFiles() notes.Mounted {
	files := t.w.Notes().guarded(t.files)
	files.Mounts[sessionMount] = workingMemory{t.w, t.files}
	return files
}

func (t toolbox) saveTool() tools.Tool {
	o := notes.SaveOptions{Find: t.find, Shown: t.files.Line, Longest: maxSave, Waiting: t.w.Notes().Proposals(), Remark: t.untrusted}
	o.Confirm = t.confirm
	if t.w.Settings.Save.RequireConfirmation {
		o.Wait = func(ctx context.Context, r notes.SaveRequest, c notes.Change) (string, error) {
			return t.propose(ctx, notes.Proposal{Kind: notes.ProposedSave, Path: c.Path, Text: r.Content, Save: &r})
		}
	}
	files := t.memoryFiles()
	var elsewhere []notes.Elsewhere
	for _, name := range slices.Sorted(maps.Keys(files.Mounts)) { // folders beside the workspace
		if name == sessionMount {
			continue
		}
		elsewhere = append(elsewhere, notes.Elsewhere{Target: name, About: "all in " + strings.TrimPrefix(name, "@"), Save: func(ctx context.Context, r notes.SaveRequest) (tools.Answer, error) {
			return notes.AppendShared(ctx, files.Mounts[name], r)
		}})
	}
	if RemoteOf(t.w).IsConfigured() {
		elsewhere = append(elsewhere, notes.Elsewhere{Target: notes.TargetService, About: "the team's memory", Save: t.saveToService})
	}
	tool := notes.SaveTool(notes.NewSaver(t.w.Curated().Layer(), t.journal, o), files, elsewhere...)
	return tool.Calling(func(ctx context.Context, arguments []byte) (tools.Answer, error) {
		var r notes.SaveRequest
		if json.Unmarshal(arguments, &r) == nil && r.Supersedes == "" && slices.Contains([]string{"", notes.TargetProject, notes.TargetGlobal}, r.Target) {
			if saved, ok := t.w.Notes().savedAlready(r.Content); ok {
				return tools.Answer{Text: fmt.Sprintf("Saved already, in the user's own words, in %s: %s", t.files.Name(saved.Path), t.files.Line(saved.Text)),
					Data: map[string]any{"written": false, "reason": "saved already", "path": t.files.Name(saved.Path)}}, nil
			}
		}
		return tool.Do(ctx, arguments)
	})
}

// saveToService asks first, since a service's curated memory instructs agents.
func (t toolbox) saveToService(ctx context.Context, r notes.SaveRequest) (tools.Answer, error) {
	if len(r.Content)+len(r.Section) > maxSave {
		return tools.Answer{}, fmt.Errorf("%w: the text is longer than %d bytes: shorten it", tools.ErrArguments, maxSave)
	}
	if t.w.Settings.Save.RequireConfirmation {
		text, _ := notes.Clean(r.Content)
		at := plain.Address(t.w.Settings.Service.URL)
		yes, err := t.ask(ctx, notes.Change{Path: at, File: at, Diff: "+" + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n+") + "\n"})
		switch {
		case errors.Is(err, notes.ErrUnasked):
			return notSaved("a person has to say yes, and no one can be asked here. Tell them to run 'memcore save --target service' with the text"), nil
		case err != nil:
			return tools.Answer{}, err
		case !yes:
			return notSaved("it was not confirmed"), nil
		}
	}
	return RemoteOf(t.w).Save(ctx, r)
}

func notSaved(why string) tools.Answer {
	return tools.Answer{Text: "Not saved to the memory service: " + why + ".", Data: map[string]any{"written": false, "reason": why}}
}

// confirm asks about a change of curated memory, unless the settings or the context say that it may
// be made.
func (t toolbox) confirm(ctx context.Context, c notes.Change) (bool, error) {
	if allowed, ok := ctx.Value(consentKey{}).(*notes.Change); ok {
		if allowed != nil && allowed.File == c.File && allowed.Diff == c.Diff {
			return true, nil
		}
		return false, &ConsentError{c}
	}
	if t.w.Settings.Save.RequireConfirmation {
		return t.ask(ctx, c)
	}
	return true, nil
}

// A ConsentError is a change of curated memory that was not made, since a person has to allow it.
type ConsentError struct{ Change notes.Change }

func (e *ConsentError) Error() string {
	return "agents get " + e.Change.Path + " as instructions, so a person has to allow this change"
}

type consentKey struct{}

// NeedingConsent makes tools end with a ConsentError instead of changing curated memory, except for
// the change that a person has allowed; allowed may be nil. Use it where a tool cannot wait for a
// person.
func NeedingConsent(ctx context.Context, allowed *notes.Change) context.Context {
	return context.WithValue(ctx, consentKey{}, allowed)
}

// maxSave is what a user reads, in bytes.
const maxSave = 4 << 10

func (t toolbox) propose(ctx context.Context, p notes.Proposal) (id string, err error) {
	p.At, p.Source = time.Now().UTC(), "a model asks for it"
	return t.w.Notes().Proposals().AddAsked(ctx, p)
}

// Subject names a change's files, to allow them for a session.
func Subject(c notes.Change) string { return c.File + "\x00" + c.Also }

// maxQuestion limits the diff in a question, in bytes.
const maxQuestion = 8 << 10

// AskClient asks the user of an MCP client about a change of a file that instructs agents.
func AskClient(ctx context.Context, c notes.Change) (bool, error) {
	yes, _, err := mcp.Ask(ctx, mcp.Question{Subject: Subject(c), Text: asked(c, ", which agents are given as instructions")})
	return yes, err
}

// askClient is AskClient for a file of this machine. If nobody has decided about the trust of its
// folder, they can do so with the same answer.
func (w *Workspace) askClient(ctx context.Context, c notes.Change) (bool, error) {
	if w.Curated().Instructs(c.File) {
		return AskClient(ctx, c)
	}
	q := mcp.Question{Subject: Subject(c), Text: asked(c, ". Its folder is not trusted, so agents only find it as reference")}
	root := w.Curated().Undecided(c.File)
	if root != "" {
		inside, err := w.Curated().Contents(ctx, root)
		if err != nil {
			return false, err
		}
		q.Offer = "Trust the folder " + plain.OneLine(root) + ": its memory files instruct agents"
		q.Text += "\n\n" + inside.String()
	}
	yes, trusted, err := mcp.Ask(ctx, q)
	if yes && trusted && err == nil {
		_, err = w.Trust().Set(ctx, root, true)
	}
	return yes, err
}

// asked is the question about a change, with what it means and the difference.
func asked(c notes.Change, meaning string) string {
	shown, _ := sanitize.Reveal(c.Diff)
	if len(shown) > maxQuestion {
		shown = strings.ToValidUTF8(shown[:maxQuestion], "") + "\n… (the rest is not shown)"
	}
	return "A model asks to change " + plain.OneLine(c.Path) + meaning + ". Allow it?\n\n" + shown
}

// untrusted tells the model that a saved text does not become an instruction yet.
func (t toolbox) untrusted(c notes.Change) string {
	if t.w.Curated().Instructs(c.File) {
		return ""
	}
	return "Agents only find " + t.files.Name(c.Path) + " as reference, since its folder is not trusted. Tell the user that 'memcore trust add' makes it instruct agents."
}

// located returns the cited lines, or all statements with a text.
func (t toolbox) located(ctx context.Context, text string) ([]notes.Statement, error) {
	place, ok, err := t.w.Notes().cited(text)
	if err != nil || ok {
		return []notes.Statement{place}, err
	}
	return t.w.Notes().statements(ctx, text)
}

// find returns one place. Its error lists several.
func (t toolbox) find(ctx context.Context, text string) (notes.Statement, error) {
	found, err := t.located(ctx, text)
	if err != nil {
		return notes.Statement{}, err
	}
	switch len(found) {
	case 0:
		return notes.Statement{}, notes.ErrNoStatement
	case 1:
		return found[0], nil
	}
	return notes.Statement{}, fmt.Errorf("%w: %s", notes.ErrStatement, t.list(ctx, found))
}

// list names the statements that a text refers to.
func (t toolbox) list(ctx context.Context, found []notes.Statement) string {
	text := plain.Count(len(found), "statement") + " say that."
	for _, p := range found {
		text += "\n- " + t.files.Name(p.Citation()) + ": " + t.files.Line(p.Text)
	}
	return text
}

type searchParams struct {
	Query string `json:"query" jsonschema:"a question or words"`
	Scope string `json:"scope,omitempty" jsonschema:"only project, or only global: the user's own in all projects; default both. Of kind session: all, detail (notes) or messages"`
	Limit int    `json:"limit,omitempty" jsonschema:"most results"`
	Since string `json:"since,omitempty" jsonschema:"only what is not older: a date such as 2026-11-17, or last week"`
	Until string `json:"until,omitempty" jsonschema:"only what is not newer"`
	Kind  string `json:"kind,omitempty" jsonschema:"only markdown (notes), conversation (logs of agents), document (of a memory service), or session: messages and notes of working sessions"`
	Path  string `json:"path,omitempty" jsonschema:"only this document or folder"`
	Exact bool   `json:"exact,omitempty" jsonschema:"of kind session: only what holds the query as it is written"`
}

// kindSession makes search_memory search sessions as recall_memory does.
const kindSession = "session"

// maxResults limits the results of a search.
const maxResults = 50

const searchToolName = "search_memory"

// A searchAnswer is what search_memory returns.
type searchAnswer struct {
	Text string      `json:"text"`
	Data core.Result `json:"data"`
}

// searchTool returns search_memory.
func (t toolbox) searchTool(m Memory) tools.Tool {
	search := func(ctx context.Context, p searchParams) (tools.Answer, error) {
		if p.Kind == kindSession {
			r := httpapi.SearchRequest{Query: p.Query, Path: t.w.DocumentPath(p.Path), Times: httpapi.Times{Since: p.Since, Until: p.Until}, Limit: p.Limit, Exact: p.Exact}
			if !slices.Contains(recallScopes, any(p.Scope)) {
				r.Scope, p.Scope = p.Scope, ""
			}
			return t.recall(ctx, m, p.Scope, r)
		}
		switch p.Scope {
		case formatter.RecalledNote, formatter.RecalledMessage:
			return tools.Answer{}, fmt.Errorf("%w: scope %s needs kind session", tools.ErrArguments, p.Scope)
		case scopeAll:
			p.Scope = ""
		}
		if p.Exact {
			return tools.Answer{}, fmt.Errorf("%w: exact needs kind session", tools.ErrArguments)
		}
		answer, err := m.searchMemory(ctx, p)
		return tools.Answer{Text: answer.Text, Data: answer.Data}, err
	}
	return tools.New(searchToolName, "Find what is known: answers questions about this project and its user from notes, decisions, errors solved and past conversations, with sources.",
		search, tools.ReadOnly, tools.Choices("scope", append([]any{core.ScopeProject, core.ScopeGlobal}, recallScopes...)...), tools.Default("limit", 8),
		tools.Choices("kind", source.KindMarkdown, source.KindConversation, source.KindDocument, kindSession))
}

const readToolName = "memory_read"

// OpenByName says how an agent opens a line of a list: by the tool, or in its shell.
const OpenByName = "memory_read NAME, or run memcore read NAME"

// readTool returns memory_read, which also takes names of lists and citations.
func readTool(m Memory, files tools.Tool) tools.Tool {
	return files.Calling(func(ctx context.Context, arguments []byte) (tools.Answer, error) {
		var p struct{ Path string }
		if json.Unmarshal(arguments, &p) != nil || !core.IsPassageName(p.Path) {
			return files.Do(ctx, arguments)
		}
		text, err := m.ReadPassage(ctx, p.Path)
		return tools.Answer{Text: text, Data: text}, err
	})
}

// ReadPassage implements Memory.
func (s *Service) ReadPassage(ctx context.Context, name string) (string, error) {
	p, err := s.Manager.Read(ctx, name)
	if err != nil {
		return "", err
	}
	if err := s.at.Journal().Opened(ctx, name); err != nil {
		s.Log.Debug("what was opened is not in the journal", "workspace", s.Project, "error", err)
	}
	return formatter.Passage(p), nil
}

// searchMemory implements Memory.
func (s *Service) searchMemory(ctx context.Context, p searchParams) (searchAnswer, error) {
	if strings.TrimSpace(p.Query) == "" {
		return searchAnswer{}, fmt.Errorf("%w: query is empty", tools.ErrArguments)
	}
	times, err := readTimes(httpapi.Times{Since: p.Since, Until: p.Until})
	if err != nil {
		return searchAnswer{}, fmt.Errorf("%w: %w", tools.ErrArguments, err)
	}
	files, err := s.Notes().files()
	if err != nil {
		return searchAnswer{}, err
	}
	// A model asked: the threshold is lower than for a turn.
	result, err := s.Manager.RetrieveRelevant(ctx, p.Query, times.retrieve(core.RetrieveOptions{Scope: p.Scope, Kind: p.Kind, Path: s.DocumentPath(p.Path),
		Limit: min(cmp.Or(max(p.Limit, 0), 8), maxResults), TokenBudget: -1, MinSimilarity: s.Manager.Threshold() / 2}))
	return searchAnswer{Text: formatter.SearchAnswer(result), Data: files.Result(result)}, err
}

type forgetParams struct {
	Text string `json:"text" jsonschema:"all words of the statement, or its citation such as BEANS.md#L5"`
}

func (t toolbox) forget(ctx context.Context, p forgetParams) (tools.Answer, error) {
	if strings.TrimSpace(p.Text) == "" { // which says nothing, also of what is known
		return tools.Answer{}, fmt.Errorf("%w: text is empty, want all words of a statement, or its citation", tools.ErrArguments)
	}
	found, err := t.located(ctx, p.Text)
	if err != nil {
		return tools.Answer{}, err
	}
	if len(found) == 0 {
		return t.withdraw(ctx, p.Text)
	}
	if len(found) != 1 {
		return tools.Answer{Text: "Nothing was deleted: " + t.list(ctx, found), Data: map[string]any{"success": false, "statements": len(found)}}, nil
	}
	place := found[0]
	confirm := t.confirm
	if _, inside := paths.Within(paths.Resolve(t.w.DataDir()), place.File()); inside {
		confirm = nil // models own the data folder
	}
	change, written, err := t.journal.Forget(ctx, place, confirm)
	switch {
	case errors.Is(err, notes.ErrUnasked):
		text, _ := notes.Clean(place.Lasting(place.Citation()))
		id, err := t.propose(ctx, notes.Proposal{Kind: notes.ProposedForget, Path: place.Path, Text: text, First: place.First, Last: place.Last})
		return tools.Answer{Text: "Not deleted yet: " + notes.Waits(id),
			Data: map[string]any{"success": false, "waiting": id}}, err
	case err == nil && !written:
		return tools.Answer{Text: "Nothing was deleted: the user said no.", Data: map[string]any{"success": false}}, nil
	case err == nil:
		err = t.w.Use().ForgetStatement(ctx, place, change)
	}
	if err != nil {
		return tools.Answer{}, err
	}
	return tools.Answer{Text: "Deleted: " + t.files.Name(place.At(change.Line).Citation()) + ".", Data: map[string]any{"success": written, "path": t.files.Name(change.Path), "line": change.Line}}, nil
}

// withdraw removes the one proposal that says a text.
func (t toolbox) withdraw(ctx context.Context, text string) (tools.Answer, error) {
	proposals := t.w.Notes().Proposals()
	waiting, err := proposals.About(text)
	if err != nil {
		return tools.Answer{}, err
	}
	if len(waiting) == 1 {
		return tools.Answer{Text: fmt.Sprintf("Forgotten: proposal %s, which was not saved yet.", waiting[0].ID), Data: map[string]any{"success": true, "withdrawn": waiting[0].ID}},
			proposals.Decide(ctx, waiting[0].ID)
	}
	said := "Nothing was deleted: 0 statements say that."
	for _, w := range waiting {
		said += "\n- proposal " + w.ID + ": " + t.files.Line(w.Text)
	}
	return tools.Answer{Text: said, Data: map[string]any{"success": false, "statements": 0}}, nil
}

func (s *Service) refreshTool(ctx context.Context, _ struct{}) (tools.Answer, error) {
	report, err := s.Manager.Index(ctx, core.IndexOptions{Progress: func(p core.Progress) { mcp.Progress(ctx, p.Done, p.Total, p.Stage) }})
	if err != nil {
		return tools.Answer{}, err
	}
	return tools.Answer{Text: fmt.Sprintf("%s, %s: %d added, %d changed, %d removed.", plain.Count(report.Documents, "document"), plain.Count(report.Chunks, "chunk"), report.Added, report.Changed, report.Removed), Data: guard.Report(report)}, nil
}
