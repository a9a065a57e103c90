package view

import (
	"bytes"
	"context"
	"html/template"
	"time"

	"github.com/memcore/memcore/core"
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
	System   systemPage
}

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
	style, err := assets.ReadFile("assets/view.css")
	if err != nil {
		return nil, err
	}
	system.Text, _ = secret.Redact(system.Text)
	p := staticPage{frame: frame{Title: "Memory", Workspace: overview.Workspace, Version: version},
		Style: template.CSS(style), Made: time.Now(), Overview: overviewOf(overview, time.Now()), Turns: groupsOf(turnRows(turns)),
		Memory: documentsOf(o, some, found), System: systemOf(system)}
	var b bytes.Buffer
	if err := offline().ExecuteTemplate(&b, "static", p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
