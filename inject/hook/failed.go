package hook

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/memcore/memcore/core/digest"
	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/text/secret"
)

// An outcome is what agents say of a call that has ended.
type outcome struct {
	// Claude Code sends these of calls that failed, and the response of others.
	Error       string `json:"error"`
	Interrupted bool   `json:"is_interrupt"`
	// Response of Gemini CLI is an object with llmContent, and with an error if the tool did not
	// run. That of Codex is what the command wrote: nothing says whether it failed.
	Response json.RawMessage `json:"tool_response"`
}

// exitCode is the line in which Gemini CLI says how a command ended.
var exitCode = lazy.Regexp(`(?m)^Exit Code: *([1-9]\d*)\s*$`)

// failure returns what a call of a shell failed with, or nil. Of a command that worked it is nil
// without a look at memory. Where nothing says whether a command failed, its output does: what that
// has must have been the error of the same program before, to count.
func (o outcome) failure(tool string, input json.RawMessage) *digest.Failure {
	output := o.Error
	switch {
	case o.Interrupted:
		return nil
	case output != "":
	case json.Unmarshal(o.Response, &output) == nil:
	default:
		var response struct {
			Content json.RawMessage `json:"llmContent"`
			Error   json.RawMessage `json:"error"`
		}
		if json.Unmarshal(o.Response, &response) != nil {
			return nil
		}
		output = joined(response.Content)
		failed := len(response.Error) > 0 && string(response.Error) != "null"
		if !failed && !exitCode().MatchString(output) {
			return nil
		}
	}
	f, ok := digest.FailureOf(tool, string(input), output, withoutSecrets)
	if !ok {
		return nil
	}
	return &f
}

// joined returns a text, or the texts of a list of parts.
func joined(content json.RawMessage) string {
	var text string
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &text) != nil && json.Unmarshal(content, &parts) == nil {
		for _, part := range parts {
			text += part.Text + "\n"
		}
	}
	return strings.TrimSpace(text)
}

// cure tells what worked after such a failure before, once a session.
func (a *answer) cure(ctx context.Context) (text string) {
	before, ok, err := a.memory.FailedBefore(ctx, a.event)
	a.problem(err)
	if !ok {
		return ""
	}
	given := journal.Given{Kind: journal.Failure, Key: before.Key, Source: before.Source, Path: before.Path, Title: before.Cure}
	if a.record.Has(given) {
		return ""
	}
	a.failed = append(a.failed, given)
	return formatter.Failed(before)
}

// withoutSecrets makes a failure equal to its record in the digest of a log.
func withoutSecrets(text string) string {
	text, _ = secret.Redact(text)
	return text
}
