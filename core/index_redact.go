package core

import (
	"cmp"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/markdown/statement"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/secret"
	"github.com/memcore/memcore/store"
)

// redaction is part of Options.chunking: a change rebuilds the index.
func (o Options) redaction() string {
	if o.KeepSecrets {
		return "/secrets-kept"
	}
	return "/secrets8" // count up when package secret finds others
}

// redactContent works before the cut, to find keys of many lines, and drops superseded statements.
// chunker.Session redacts answers, since it keeps few.
func (w *writer) redactContent(path string, content *source.Content) {
	if content.Markdown != nil {
		content.Markdown = withoutStruck(content.Markdown, func(text string) string { return w.redact(path, 0, text) })
	}
	for i, turn := range content.Turns {
		if !content.Agent || turn.Role == "user" {
			content.Turns[i].Text = w.redact(path, turn.Line, turn.Text)
		}
		content.Turns[i].Asked = w.redactQuietly(turn.Asked) // the turn that asks counts it
	}
}

func withoutStruck(text []byte, redact func(string) string) []byte {
	return []byte(statement.WithoutStruck(redact(string(text))))
}

// redactRecords works after the cut: searching all output of tools takes too long. Secrets in
// neighbours are counted with their own record.
func (w *writer) redactRecords(kind string, records []store.Record) {
	if kind != source.KindConversation {
		return
	}
	for i := range records {
		r := &records[i]
		r.Text = w.redact(r.Path, r.StartLine, r.Text)
		if !w.m.options.KeepSecrets {
			r.Before, _ = secret.Redact(r.Before)
			r.After, _ = secret.Redact(r.After)
		}
	}
}

// redact takes secrets out of a text of a document and notes their places. line is that of the
// message whose text it is, and 0 for the text of a whole file.
func (w *writer) redact(path string, line int, text string) string {
	if w.m.options.KeepSecrets {
		return text
	}
	clean, findings := secret.Redact(text)
	for _, f := range findings {
		at := cmp.Or(line, f.Line)
		w.report.Redacted[f.Rule] = append(w.report.Redacted[f.Rule], paths.Citation(path, at, at))
	}
	return clean
}
