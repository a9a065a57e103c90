package view

import (
	"bytes"
	"context"
	"html/template"
	"strings"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/memcore/memcore/internal/text/secret"
)

// staticPage is all of a memory in one file.
type staticPage struct {
	frame
	Style    template.CSS
	Made     time.Time
	Overview overviewPage
	Turns    []turnGroup
	Memory   documentsPage
	Texts    []documentText
	System   systemPage
}

// A documentText is a document in the file, as a person reads it.
type documentText struct {
	Path, Text string
	Cut        bool // the file has only its beginning
}

const (
	// maxDocument and maxTexts bound the text of a document and of all of them in the file, in
	// bytes.
	maxDocument = 256 << 10
	maxTexts    = 16 << 20
)

// Static returns the pages as one HTML file that loads nothing, without secrets.
func Static(ctx context.Context, m Memory, version string) ([]byte, error) {
	overview, err := m.Overview(ctx)
	if err != nil {
		return nil, err
	}
	turns, err := m.Turns(ctx, TurnsRequest{})
	if err != nil {
		return nil, err
	}
	o := core.DocumentsOptions{Limit: listedInFile}
	some, found, err := m.Documents(ctx, o)
	if err != nil {
		return nil, err
	}
	system, err := m.Layer(ctx)
	if err != nil {
		return nil, err
	}
	texts, err := textsOf(ctx, m, some)
	if err != nil {
		return nil, err
	}
	style, err := assets.ReadFile("assets/view.css")
	if err != nil {
		return nil, err
	}
	system.Text, _ = secret.Redact(system.Text)
	p := staticPage{frame: frame{Title: "Memory", Workspace: overview.Workspace, Version: version},
		Style: template.CSS(style), Made: time.Now(), Overview: overviewOf(overview), Turns: groupsOf(turnRows(turns)),
		Memory: documentsOf(o, some, found), Texts: texts, System: systemOf(system)}
	var b bytes.Buffer
	if err := offline().ExecuteTemplate(&b, "static", p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// textsOf reads documents. One that cannot be read says why.
func textsOf(ctx context.Context, m Memory, documents []core.DocumentInfo) (all []documentText, err error) {
	left := maxTexts
	for _, d := range documents {
		t := documentText{Path: d.Path, Cut: left <= 0}
		var b strings.Builder
		for next := 1; next > 0 && !t.Cut; {
			f, err := m.File(ctx, FileRequest{Path: d.Path, First: next})
			if err != nil {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				b.WriteString("It cannot be shown: " + err.Error())
				break
			}
			b.WriteString(f.Text)
			if f.Text == "" {
				for _, h := range f.Chunks {
					b.WriteString(strings.TrimSpace(h.Speaker+"\n"+h.Text) + "\n\n")
				}
			} else {
				b.WriteByte('\n')
			}
			t.Cut = b.Len() > min(maxDocument, left)
			if next >= f.Next { // a part that does not end
				break
			}
			next = f.Next
		}
		t.Text = excerpt.Head(strings.TrimRight(b.String(), "\n"), min(maxDocument, left))
		left -= len(t.Text)
		all = append(all, t)
	}
	return all, nil
}
