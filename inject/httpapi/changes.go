package httpapi

import (
	"context"
	"time"

	"github.com/memcore/memcore/core"
)

// Changes show memory files, and change them for a person.
type Changes interface {
	File(ctx context.Context, r FileRequest) (File, error)
	Proposals(ctx context.Context) (Proposals, error)
	Journal(ctx context.Context) (Journal, error)
	Change(ctx context.Context, r ChangeRequest) (Changed, error)
}

// A FileRequest asks for a part of a file.
type FileRequest struct {
	Target
	Path  string `json:"path" jsonschema:"a document, as hits name it, or a memory file"`
	First int    `json:"first,omitempty" jsonschema:"the part's first line, from 1"`
	Last  int    `json:"last,omitempty" jsonschema:"its last line; 0 is as many as fit"`
}

// A File is a part of a file for a person, without secrets.
type File struct {
	Path  string `json:"path"`
	Lines int    `json:"lines"` // of the whole file
	First int    `json:"first"`
	Last  int    `json:"last"`
	Text  string `json:"text"` // these lines
	// Base is the whole file, for a change of lines that were asked for; "" for a long one.
	Base string `json:"base,omitempty"`
	// Blocks are headings, paragraphs, items and code in these lines.
	Blocks []Block `json:"blocks"`
	// Chunks are what is indexed of these lines; in a Markdown file without Text.
	Chunks []core.MemoryHit `json:"chunks"`
	// Previous and Next are the first lines of the other parts; 0 for none.
	Previous int `json:"previous,omitempty"`
	Next     int `json:"next,omitempty"`
	// Fixed says why it cannot be changed here; "" if it can.
	Fixed string `json:"fixed,omitempty"`
	// Remarks are about the whole file.
	Remarks []string `json:"remarks"`
	// Hidden counts its parts that are hidden from search.
	Hidden int `json:"hidden"`
}

// A Block is a part of a file that can be corrected.
type Block struct {
	First     int    `json:"first"`
	Last      int    `json:"last"`
	Level     int    `json:"level,omitempty"` // of a heading
	Depth     int    `json:"depth,omitempty"` // of an item in a list
	Front     bool   `json:"front,omitempty"` // frontmatter
	Statement bool   `json:"statement"`       // it can be struck through
	Marks     []Mark `json:"marks"`
}

// A Mark says what is special about a block.
type Mark struct {
	// Kind is "superseded", "secret", "suspicious", "withheld" or "not indexed".
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// Proposals wait for a person.
type Proposals struct {
	Waiting []Proposal `json:"waiting"` // the oldest first
}

// A Proposal is what an agent wants to save or forget, or what rules found in sessions.
type Proposal struct {
	ID         string    `json:"id"`
	Kind       string    `json:"kind"` // "save", "forget", "fix", "preference", "fact" or "decision"
	At         time.Time `json:"at"`
	Source     string    `json:"source"`
	Path       string    `json:"path,omitempty"` // of the file that it changes
	Section    string    `json:"section,omitempty"`
	Text       string    `json:"text"`
	Supersedes string    `json:"supersedes,omitempty"`
}

// A Journal lists changes that can be undone, the newest first.
type Journal struct {
	Changes []Entry `json:"changes"`
}

// An Entry is a change of files.
type Entry struct {
	ID    string    `json:"id"`
	At    time.Time `json:"at"`
	Label string    `json:"label"`
	Agent bool      `json:"agent"` // made by an agent
	Files []Lines   `json:"files"`
}

// Lines are the changed lines of a file, without secrets.
type Lines struct {
	Path   string `json:"path"`
	Before string `json:"before"`
	After  string `json:"after"`
	Secret bool   `json:"secret,omitempty"` // they held a secret and are not kept
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
	Target
	How     string `json:"how" jsonschema:"edit, strike (through) or forget lines; undo a change of the journal; keep or leave a proposal; hide a document or a chunk from search, or unhide a document"`
	Path    string `json:"path,omitempty" jsonschema:"the file, for edit, strike, forget, hide and unhide"`
	First   int    `json:"first,omitempty" jsonschema:"the first line; 0 is the whole file"`
	Last    int    `json:"last,omitempty" jsonschema:"the last line"`
	Seen    string `json:"seen,omitempty" jsonschema:"the lines as /v1/file has them; they are found where they are now"`
	Base    string `json:"base,omitempty" jsonschema:"the whole file as the answer before had it; the lines are found by what others changed in it"`
	Text    string `json:"text,omitempty" jsonschema:"the new lines, for edit; the text to save, for keep"`
	ID      string `json:"id,omitempty" jsonschema:"of the change, the proposal or the chunk"`
	Version string `json:"version,omitempty" jsonschema:"the version in the answer that showed the change; if the file is another by now, nothing is written"`
}

// Changed is a change that was made or shown.
type Changed struct {
	Path    string `json:"path"`
	Diff    string `json:"diff"`    // unified, without secrets; "" if nothing would change
	Version string `json:"version"` // of the files before the change
	Written bool   `json:"written"`
	// Outdated means that the file is not of the request's version: Diff is of the present file.
	Outdated bool   `json:"outdated"`
	Since    string `json:"since,omitempty"` // diff of what others changed in base
	// First, Last, Seen, Base and Text are for a request about the present file.
	First int    `json:"first"`
	Last  int    `json:"last"`
	Seen  string `json:"seen"`
	Base  string `json:"base,omitempty"`
	Text  string `json:"text"`
	// Secrets are the kinds of what was taken out.
	Secrets string `json:"secrets,omitempty"`
	Remark  string `json:"remark,omitempty"`
	// Indexed means that the index has the change already. If not, it follows.
	Indexed bool   `json:"indexed"`
	Undo    string `json:"undo,omitempty"` // ID of the change in the journal
}

// changeOperations returns the routes of Changes.
func changeOperations(s *Server) []operation {
	return []operation{
		post(s, "/v1/file", "Get a part of a file with what is special about it", func(ctx context.Context, ws Workspace, r FileRequest) (File, error) {
			return ws.File(ctx, r)
		}),
		post(s, "/v1/proposals", "List what agents want to save, which waits for a person", func(ctx context.Context, ws Workspace, _ Target) (Proposals, error) {
			return ws.Proposals(ctx)
		}),
		post(s, "/v1/changes", "List the changes of memory files that can be undone, the newest first", func(ctx context.Context, ws Workspace, _ Target) (Journal, error) {
			return ws.Journal(ctx)
		}),
		personal(post(s, "/v1/change", "Show a change of memory, then make it", func(ctx context.Context, ws Workspace, r ChangeRequest) (Changed, error) {
			return ws.Change(ctx, r)
		})),
	}
}
