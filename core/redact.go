package core

import (
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/secret"
	"github.com/memcore/memcore/internal/statement"
	"github.com/memcore/memcore/store"
)

// leftOut is part of the manifest's fingerprint: an index that holds what should not be in it is made anew.
func (o Options) leftOut() string {
	kept := "/secrets4" // what is taken for a secret has this number
	if o.KeepSecrets {
		kept = "/secrets-kept"
	}
	if o.KeepSuperseded {
		return kept + "/superseded-kept"
	}
	return kept + "/current"
}

// redactContent takes out of what people and files say what is secret and, of Markdown, what holds no longer. It does so before that is cut, so that a
// key of many lines is seen as one. Answers in an agent's log are left to Session, which keeps few of them.
func (w *writer) redactContent(content *source.Content) {
	if content.Markdown != nil {
		text := w.redact(string(content.Markdown))
		if !w.m.options.KeepSuperseded {
			text = statement.WithoutStruck(text)
		}
		content.Markdown = []byte(text)
	}
	for i, turn := range content.Turns {
		if !content.Agent || turn.Role == "user" {
			content.Turns[i].Text = w.redact(turn.Text)
		}
	}
}

// redactRecords takes secrets out of what is left of the tools in a conversation, whose whole output is too much to look at. The turns around
// a record are records of their own: what is in them is counted there.
func (w *writer) redactRecords(kind string, records []store.Record) {
	if kind != source.KindConversation {
		return
	}
	for i := range records {
		r := &records[i]
		r.Text = w.redact(r.Text)
		if !w.m.options.KeepSecrets {
			r.Before, _ = secret.Redact(r.Before)
			r.After, _ = secret.Redact(r.After)
		}
	}
}

// redact takes secrets out of a text and counts them.
func (w *writer) redact(text string) string {
	if w.m.options.KeepSecrets {
		return text
	}
	clean, findings := secret.Redact(text)
	for _, f := range findings {
		if w.report.Redacted == nil {
			w.report.Redacted = map[string]int{}
		}
		w.report.Redacted[f.Rule]++
	}
	return clean
}
