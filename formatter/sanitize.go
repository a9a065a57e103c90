package formatter

import "github.com/memcore/memcore/internal/sanitize"

// A Finding is something that Sanitize changed or marked. Its Kind is "hidden" (characters a reader does not see), "control"
// (control characters and escape sequences), "tag" (of the memory block), "chat-token" (of a chat template), "role-prefix",
// "instruction" (kept, marked as quoted) or "override" (withheld); Detail says what it was, in a few words.
type Finding = sanitize.Finding

// Sanitize returns the text such that it can be shown to a model as data:
//
//   - control characters, escape sequences, bidirectional controls and invisible characters are gone;
//   - tags of the memory block and tokens of chat templates are escaped, in whatever spelling;
//   - a role name that reads as the start of a message is put in quotes;
//   - a heading of memcore's own frames is marked as quoted;
//   - a line that gives an order ("You must …") is kept and marked as quoted;
//   - a line that tells the reader to drop its instructions is withheld.
//
// Everything else stays byte for byte. The result is valid UTF-8, and sanitising it again changes
// nothing.
func Sanitize(text string) (string, []Finding) { return sanitize.Text(text) }
