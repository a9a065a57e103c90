package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/trust"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/view"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/paths"
)

// Layer implements view.Memory.
func (v page) Layer(ctx context.Context) (view.Layer, error) {
	layer := curated.New(v.s.curatedOptions())
	m, err := layer.Load(ctx)
	if err != nil {
		return view.Layer{}, err
	}
	out := view.Layer{Memory: m, Text: formatter.Curated(m), Limits: layer.Limits()}
	out.Folders, err = v.trustFolders(ctx, m)
	return out, err
}

// trustFolders returns the project, decisions about folders in it, and plugins outside.
func (v page) trustFolders(ctx context.Context, m curated.Memory) ([]view.TrustFolder, error) {
	store := v.s.Trust()
	decided, err := store.All()
	if err != nil {
		return nil, err
	}
	folders := []string{m.Project}
	for _, d := range decided {
		if _, inside := paths.Within(m.Project, d.Folder); inside {
			folders = append(folders, d.Folder)
		}
	}
	for _, f := range m.Files {
		if f.Plugin != "" {
			folders = append(folders, f.Plugin)
		}
	}
	var all []view.TrustFolder
	for i, folder := range folders {
		if slices.Contains(folders[:i], folder) {
			continue
		}
		one := view.TrustFolder{Folder: folder}
		d, ok, err := store.Of(folder)
		if err != nil {
			return nil, err
		}
		if ok {
			one.Trusted, one.By, one.At, one.Configured = d.Trusted, d.Folder, d.At, d.Configured
		}
		for _, f := range m.Files {
			if f.Plugin == folder && f.Untrusted {
				one.Trusted = false // trust in the home does not suffice
				one.Waiting++
			}
		}
		if folder == m.Project && !one.Trusted {
			one.Waiting = len(v.s.Curated().Untrusted(ctx, m))
		}
		all = append(all, one)
	}
	return all, nil
}

// errOtherDecision means that the person saw another change.
var errOtherDecision = kind.As(kind.Conflict, errors.New("trust: files or decisions have changed since this was shown; look at it again"))

// DecideTrust implements view.Memory.
func (v page) DecideTrust(ctx context.Context, r view.TrustRequest) (view.TrustReply, error) {
	now, err := curated.New(v.s.curatedOptions()).Load(ctx)
	if err != nil {
		return view.TrustReply{}, err
	}
	folders, err := v.trustFolders(ctx, now)
	if err != nil {
		return view.TrustReply{}, err
	}
	i := slices.IndexFunc(folders, func(f view.TrustFolder) bool { return f.Folder == r.Folder })
	switch {
	case i < 0:
		return view.TrustReply{}, kind.Usagef("trust: %.300q is neither this project nor a folder that its curated memory names", r.Folder)
	case v.s.Home == "":
		return view.TrustReply{}, errors.New("trust: there is no home folder, and so no place for decisions: set HOME")
	}
	reply, err := v.trustChange(ctx, now, r, folders[i])
	if err != nil || r.Shown == "" {
		return reply, err
	}
	if r.Shown != reply.Version {
		return reply, errOtherDecision
	}
	reply.Warnings, err = v.decideTrust(ctx, r)
	reply.Decided = err == nil
	return reply, err
}

// trustChange returns what a decision would change.
func (v page) trustChange(ctx context.Context, now curated.Memory, r view.TrustRequest, f view.TrustFolder) (view.TrustReply, error) {
	c := v.s.Curated()
	reply := view.TrustReply{Folder: r.Folder, Do: r.Do}
	there, trusted := v.s.Workspace, r.Do == view.DoTrust
	if trusted {
		inside, err := c.Contents(ctx, r.Folder)
		if err != nil {
			return reply, err
		}
		reply.Settings, reply.Servers, reply.Warnings = inside.Settings, inside.MCPServers, inside.Warnings
		if there, err = c.ifTrusted(v.s.Dir, r.Folder); err != nil {
			return reply, err
		}
	}
	then, err := curated.New(there.Curated().Options(supposing{v.s.Trust(), r.Folder, trusted})).Load(ctx)
	if err != nil {
		return reply, err
	}
	reply.Added, reply.Removed = newIn(then, now), newIn(now, then)
	reply.Text = formatter.Curated(then)
	reply.Version = notes.Version(fmt.Sprintf("%q %q %v %q %q %q", r.Folder, r.Do, f, reply.Settings, reply.Servers, reply.Text))
	return reply, nil
}

// newIn returns the files that a memory gives and other does not.
func newIn(m, other curated.Memory) (added []view.TrustedFile) {
	for _, f := range m.Files {
		given := func(o curated.File) bool { return o.File == f.File && o.Reason == "" }
		if f.Reason == "" && !slices.ContainsFunc(other.Files, given) {
			added = append(added, view.TrustedFile{Path: f.Path, Tokens: f.Tokens})
		}
	}
	return added
}

// decideTrust saves a decision. Distrust takes back trust, or overrides a folder above.
func (v page) decideTrust(ctx context.Context, r view.TrustRequest) (warnings []string, err error) {
	store := v.s.Trust()
	if r.Do == view.DoTrust {
		if _, err := store.Set(ctx, r.Folder, true); err != nil {
			return nil, fmt.Errorf("trust: %w", err)
		}
		_, problems, err := v.s.Curated().KeepPrivateIn(ctx, r.Folder)
		return problems, err
	}
	if _, err := store.Remove(ctx, r.Folder); err != nil {
		return nil, fmt.Errorf("trust: %w", err)
	}
	d, ok, err := store.Of(r.Folder)
	if err == nil && ok && d.Trusted {
		_, err = store.Set(ctx, r.Folder, false)
	}
	return nil, err
}

// supposing is trust after another decision.
type supposing struct {
	*trust.Store
	folder  string
	trusted bool
}

// Covering implements curated.Trust.
func (s supposing) Covering(folder string) (string, error) {
	d, ok, err := s.Of(folder)
	if err != nil {
		return "", err
	}
	_, inside := paths.Within(s.folder, folder)
	nearer := false
	if ok {
		_, nearer = paths.Within(s.folder, d.Folder)
	}
	if inside && (!nearer || d.Folder == s.folder) {
		if s.trusted && s.WouldCover(s.folder, folder) {
			return s.folder, nil
		}
		return "", nil
	}
	return s.Store.Covering(folder)
}
