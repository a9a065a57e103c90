package view

import (
	"net/http"
	"slices"

	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app/kind"
)

// trustPage shows what a decision would change.
type trustPage struct {
	httpapi.TrustReply
	Changed bool // files or decisions changed after a person had looked
}

// trust shows what a decision would change, or decides if the form has the shown version.
func (s memoryPages) trust(w http.ResponseWriter, r *http.Request, folder string) error {
	layer, err := get(r.Context(), s.Server, folder, func(ws httpapi.Workspace) (httpapi.Layer, error) { return ws.Layer(r.Context()) })
	if err != nil {
		return err
	}
	// A form would change some characters of a path.
	about := slices.IndexFunc(layer.Folders, func(f httpapi.TrustFolder) bool { return idOf(f.Folder) == r.PostFormValue("folder") })
	request := httpapi.TrustRequest{Do: r.PostFormValue("do"), Shown: r.PostFormValue("shown")}
	if about < 0 || request.Do != httpapi.DoTrust && request.Do != httpapi.DoDistrust {
		return kind.Usagef("the form names no folder or decision; go back to the system prompt")
	}
	request.Folder = layer.Folders[about].Folder
	reply, err := s.decideTrust(r, folder, request)
	page := trustPage{TrustReply: reply}
	if err != nil && httpapi.StatusOf(err) == http.StatusConflict {
		request.Shown, page.Changed = "", true
		page.TrustReply, err = s.decideTrust(r, folder, request)
	}
	switch {
	case err != nil:
		return err
	case page.Decided && len(page.Warnings) == 0:
		http.Redirect(w, r, "system#trust", http.StatusSeeOther)
		return nil
	}
	title := "Trust this folder?"
	switch {
	case page.Decided:
		title = "The folder is trusted"
	case page.Do == httpapi.DoDistrust:
		title = "Stop trusting this folder?"
	}
	return s.show(w, folder, "system", "trust", title, page)
}

func (s memoryPages) decideTrust(r *http.Request, folder string, request httpapi.TrustRequest) (httpapi.TrustReply, error) {
	return get(r.Context(), s.Server, folder, func(ws httpapi.Workspace) (httpapi.TrustReply, error) { return ws.DecideTrust(r.Context(), request) })
}
