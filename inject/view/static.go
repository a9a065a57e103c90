package view

import (
	"bytes"
	"context"
	"html/template"
	"time"

	"github.com/memcore/memcore/inject/httpapi"
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
	Health   healthPage
}

// Static returns the pages as one HTML file that loads nothing, without secrets.
func Static(ctx context.Context, ws httpapi.Workspace, version string) ([]byte, error) {
	overview, err := ws.Overview(ctx)
	if err != nil {
		return nil, err
	}
	turns, err := ws.Turns(ctx, httpapi.TurnsRequest{})
	if err != nil {
		return nil, err
	}
	request := httpapi.DocumentsRequest{Limit: listedInFile}
	documents, err := ws.Documents(ctx, request)
	if err != nil {
		return nil, err
	}
	system, err := ws.Layer(ctx)
	if err != nil {
		return nil, err
	}
	health, err := healthOf(ctx, ws, "")
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
		Memory: documentsOf(request, documents), System: systemOf(system), Health: health}
	var b bytes.Buffer
	if err := offline().ExecuteTemplate(&b, "static", p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
