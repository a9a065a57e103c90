package formatter

import (
	"fmt"
	"strings"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/internal/text/sanitize"
)

// maxFailed bounds each part of a line about a failure, in characters. What worked may be twice as
// long: it has to be usable.
const maxFailed = 80

// FailingLine says in a line what fails again and again, and what worked. It is not quoted yet.
func FailingLine(f core.Failing) string {
	text := fmt.Sprintf("%s fails with “%s” (%s)", code(f.Command, maxFailed), short(f.Shown, maxFailed), often(f, ", last "))
	if f.Cure != "" {
		text += "; what worked: " + code(f.Cure, 2*maxFailed)
	}
	return text
}

// Failed returns what follows a command's failure if it failed so in earlier sessions.
func Failed(f core.Failing) string {
	return header + bullet + "This failed so before, in " + often(f, ", last on ") + " (source: " + cite(f.Source) + ")\n" +
		Quote("then failed: "+code(f.Tried, 2*maxFailed)+"\nthen worked: "+code(f.Cure, 2*maxFailed)) + "\n" + footer
}

// often says in how many sessions a command failed, and when last.
func often(f core.Failing, last string) string {
	text := "1 session"
	if f.Sessions != 1 {
		text = fmt.Sprintf("%d sessions", f.Sessions)
	}
	if !f.Last.IsZero() {
		text += last + f.Last.Format("2 January 2006")
	}
	return text
}

// code returns a command on one line, between backticks.
func code(command string, max int) string {
	return "`" + short(strings.ReplaceAll(command, "`", "'"), max) + "`"
}

func short(text string, max int) string {
	text = sanitize.Name(text)
	if r := []rune(text); len(r) > max {
		return strings.TrimSpace(string(r[:max-1])) + "…"
	}
	return text
}
