package view

import (
	"net/http"
	"slices"

	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/kind"
)

// trustPage shows what a decision would change.
type trustPage struct {
	TrustReply
	Changed bool // files or decisions changed after a person had looked
}

// trust shows what a decision would change, or decides if the form has the shown version.
func (v visit) trust() error {
	ctx := v.r.Context()
	layer, err := v.memory.Layer(ctx)
	if err != nil {
		return err
	}
	// A form would change some characters of a path.
	about := slices.IndexFunc(layer.Folders, func(f TrustFolder) bool { return idOf(f.Folder) == v.r.PostFormValue("folder") })
	request := TrustRequest{Do: v.r.PostFormValue("do"), Shown: v.r.PostFormValue("shown")}
	if about < 0 || request.Do != DoTrust && request.Do != DoDistrust {
		return kind.Usagef("the form names no folder or decision; go back to the system prompt")
	}
	request.Folder = layer.Folders[about].Folder
	reply, err := v.memory.DecideTrust(ctx, request)
	page := trustPage{TrustReply: reply}
	if err != nil && httpapi.StatusOf(err) == http.StatusConflict {
		request.Shown, page.Changed = "", true
		page.TrustReply, err = v.memory.DecideTrust(ctx, request)
	}
	switch {
	case err != nil:
		return err
	case page.Decided && len(page.Warnings) == 0:
		return v.redirect("system#trust")
	}
	title := "Trust this folder?"
	switch {
	case page.Decided:
		title = "The folder is trusted"
	case page.Do == DoDistrust:
		title = "Stop trusting this folder?"
	}
	return v.show("system", "trust", title, page)
}
