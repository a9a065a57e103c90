package view

import (
	"context"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/inject/httpapi"
)

// A Memory is a workspace as the pages show and change it. It is safe for concurrent use.
type Memory interface {
	Overview(ctx context.Context) (Overview, error)
	// Retrieve answers the text of a turn, as an agent would get it.
	Retrieve(ctx context.Context, r httpapi.RetrieveRequest) (httpapi.Retrieved, error)
	// Case returns what memcore-eval.yaml says about a question.
	Case(ctx context.Context, query string) (Case, error)
	// AddCase appends a case to memcore-eval.yaml.
	AddCase(ctx context.Context, c Case) error
	Turns(ctx context.Context, r TurnsRequest) (Turns, error)
	// Documents lists documents, the last changed first, and counts all that were found.
	Documents(ctx context.Context, o core.DocumentsOptions) (some []core.DocumentInfo, found int, err error)
	// Chunks returns what is indexed of a document.
	Chunks(ctx context.Context, path string) ([]core.MemoryHit, error)
	File(ctx context.Context, r FileRequest) (File, error)
	// Change shows a change of memory, or makes it if the request has the version that was shown.
	Change(ctx context.Context, r ChangeRequest) (Changed, error)
	// Proposals returns what waits for a person, the oldest first.
	Proposals(ctx context.Context) ([]Proposal, error)
	// Journal returns the changes that can be undone, the newest first.
	Journal(ctx context.Context) ([]Entry, error)
	Layer(ctx context.Context) (Layer, error)
}

// An Overview describes a memory for a person. It does not grow with the memory.
type Overview struct {
	Workspace string
	Enabled   bool
	Status    core.Status
	Sums      core.Sums
	// AboutUser are passages that say who the user is, as a question for them gets them.
	AboutUser []core.MemoryHit
	// Languages count chunks by ISO 639-1. "en" also has those of no known language.
	Languages map[string]int
	// Failing are commands that failed in several sessions of agents.
	Failing []core.Failing
	Models  []Model
	// Use sums up the last weeks. Its documents are those most given.
	Use journal.Summary
	// Checks are what is wrong, the worst first. Only quick checks are made.
	Checks []Check
	// Proposals are waiting for a decision.
	Proposals int
}

// A Model is a model that memory uses, or could.
type Model struct {
	Role string // "embedder" or "reflection"
	Name string // "" for none
	// At is its server; "" within memcore.
	At string
}

// A Check is something that a diagnosis found.
type Check struct {
	Name  string
	State string // "problem" or "warning"
	Text  string
	Do    string // what helps
}

// A TurnsRequest asks for prompts and what they got, the latest first.
type TurnsRequest struct {
	Limit   int    // turns at most; 0 is 100
	Turn    string // only the turn with this ID
	Agent   string // only turns of this agent
	Session string // only turns of this session
	Find    string // words that are all in the prompt, or in what it got
	httpapi.Times
}

// Turns are prompts of agents, the latest first.
type Turns struct {
	// Turns have their candidates.
	Turns []journal.Entry
	// More counts those over the limit.
	More int
	// Sessions are all that the journal has, the latest first.
	Sessions []TurnSession
	// Unkept means that a setting keeps prompts without their text.
	Unkept bool
}

// A TurnSession is a session with turns.
type TurnSession struct {
	Agent   string
	Session string
	Turns   int
	Last    time.Time
}

// A FileRequest asks for a part of a file.
type FileRequest struct {
	Path  string // a document, as hits name it, or a memory file
	First int    // the part's first line, from 1
	Last  int    // its last line; 0 is as many as fit
}

// A File is a part of a file for a person, without secrets.
type File struct {
	Path  string
	Lines int // of the whole file
	First int // line of this part
	Last  int
	Text  string // lines First to Last
	// Base is the whole file, for a change of lines that were asked for; "" for a long one.
	Base string
	// Blocks are headings, paragraphs, items and code in these lines.
	Blocks []Block
	// Chunks are what is indexed of these lines; in a Markdown file without Text.
	Chunks []core.MemoryHit
	// Previous and Next are the first lines of the other parts; 0 for none.
	Previous, Next int
	// Fixed says why it cannot be changed here; "" if it can.
	Fixed string
	// Remarks are about the whole file.
	Remarks []string
	// Hidden counts its parts that are hidden from search.
	Hidden int
}

// A Block is a part of a file that can be corrected.
type Block struct {
	First     int
	Last      int
	Level     int  // of a heading; 0 for other blocks
	Depth     int  // of an item in a list
	Front     bool // frontmatter
	Statement bool // it can be struck through
	Marks     []Mark
}

// A Mark says what is special about a block.
type Mark struct {
	// Kind is "superseded", "secret", "suspicious", "withheld" or "not indexed".
	Kind string
	Text string
}

// A Proposal is what an agent wants to save or forget, or what rules found in sessions.
type Proposal struct {
	ID         string
	Kind       string // "save", "forget", "fix", "preference", "fact" or "decision"
	At         time.Time
	Source     string
	Path       string // of the file that it changes
	Section    string
	Text       string
	Supersedes string
}

// An Entry is a change of files.
type Entry struct {
	ID    string
	At    time.Time
	Label string
	Agent bool // made by an agent
	Files []Lines
}

// Lines are the changed lines of a file, without secrets.
type Lines struct {
	Path   string
	Before string
	After  string
	Secret bool // they held a secret and are not kept
}

// Ways to change memory.
const (
	EditLines   = "edit"
	StrikeLines = "strike"
	ForgetLines = "forget"
	UndoChange  = "undo"
	Keep        = "keep"  // what is proposed
	Leave       = "leave" // what is proposed, and never again
	Hide        = "hide"  // from search
	Unhide      = "unhide"
)

// A ChangeRequest changes memory. Without a version it only shows what would change.
type ChangeRequest struct {
	How         string
	Path        string // the file, for lines, Hide and Unhide
	First, Last int    // lines; 0 is the whole file
	Seen        string // the lines as File has them; they are found where they are now
	Base        string // File.Base; the lines are found by what others changed in it
	Text        string // the new lines, for EditLines; the text to save, for Keep
	ID          string // of the change, the proposal or the chunk
	Version     string // Changed.Version; if the file is another by now, nothing is written
}

// Changed is a change that was made or shown.
type Changed struct {
	Path    string
	Diff    string // unified, without secrets; "" if nothing would change
	Version string // of the files before the change
	Written bool
	// Outdated means that the file is not of the request's version: Diff is of the present file.
	Outdated bool
	Since    string // diff of what others changed in base
	// First, Last, Seen, Base and Text are for a request about the present file.
	First, Last      int
	Seen, Base, Text string
	// Secrets are the kinds of what was taken out.
	Secrets string
	Remark  string
	// Indexed means that the index has the change already. If not, it follows.
	Indexed bool
	Undo    string // ID of the change in the journal
}

// A Layer is the curated memory of a workspace.
type Layer struct {
	curated.Memory
	Text   string         // as a system prompt has it
	Limits curated.Limits // what is more is cut
}

// A Case is a question and what its answer must have, or must not have.
type Case struct {
	Query         string
	Expect        []Expectation
	ExpectNot     []Expectation
	ExpectNothing bool
}

// An Expectation is met by a hit with all its fields.
type Expectation struct {
	Path    string
	Heading string
	Text    string
}
