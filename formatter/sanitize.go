package formatter

import "github.com/memcore/memcore/internal/text/sanitize"

// A Finding is what Sanitize changed. Its Kind is "hidden" (invisible characters), "control"
// (escape sequences, too), "tag" (of the block, or unclosed markup), "chat-token", "role-prefix" or
// "unsettled" (withheld).
type Finding = sanitize.Finding

// Sanitize makes a text safe to show to a model as data. It
//
//   - removes control characters, escape sequences and invisible characters;
//   - escapes tags of the memory block and tokens of chat templates, in any spelling;
//   - escapes what begins markup that nothing closes, such as a comment;
//   - quotes a role name that opens a message;
//   - marks headings of memcore's own frames as quoted.
//
// Everything else stays, orders too: core judges hits for injections. The result is valid UTF-8,
// and Sanitize does not change it again.
func Sanitize(text string) (string, []Finding) { return sanitize.Text(text) }
