package tenants

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
)

// imposed settings override the configuration. No folder needs trust, since keys and their rights
// decide what enters the mirror.
var imposed = map[string]string{
	"folderTrust.enabled": "false", "save.requireConfirmation": "false", "searchParents": "false", "loadLocalFiles": "false", "hook.log": "false",
	"reflect.auto": "false", "service.url": "", "mcp": "[]", "home": "~/.beans", "folder": hidden,
	"dataDir": filepath.Join(hidden, "memories"), "indexDir": "", "engine": config.EngineFlat, "exclude": "[]", "fileNames": "[BEANS.md]",
}

// curatedNames follow from fileNames in imposed.
var curatedNames = []string{"BEANS.md", "BEANS.local.md"}

// openFolder opens the memory of a folder that Folder returned.
func (n *pool) openFolder(ctx context.Context, folder string) (httpapi.Workspace, error) {
	rel, err := filepath.Rel(filepath.Join(n.o.Dir, "tenants"), folder)
	parts := strings.Split(filepath.ToSlash(rel), "/")
	if err != nil || len(parts) < 3 || parts[1] != usersFolder {
		return nil, kind.Usagef("this is no memory of this service")
	}
	o := owner{user: parts[2], teams: parts[3:]}
	t, err := n.acquire(ctx, parts[0])
	if err != nil {
		return nil, err
	}
	settings, err := freshSettings(ctx, n.o.Registry, t.id)
	if err != nil {
		n.release(t)
		return nil, hide(n.o.Logger, err)
	}
	w, err := n.workspace(t, o, settings)
	if err != nil {
		n.release(t)
		return nil, err
	}
	taken := false
	if at, err := w.Folders(); err == nil {
		taken = n.takeSnapshot(t, o, at.Index)
	}
	vectors := t.shelf(w, taken)
	s, err := w.Open(ctx)
	if err != nil {
		n.release(t)
		return nil, hide(n.o.Logger, err)
	}
	m := &memory{Service: s, owner: o, mirror: t.mirror, release: func() { n.release(t) }, outdated: func() bool {
		now := n.o.Registry.settings(t.id)
		return now.Embedder != settings.Embedder || now.Model != settings.Model
	}}
	m.begin(n.o.Logger, vectors, taken, func(ctx context.Context, name string, data []byte) error {
		if err := n.keep(ctx, t.id, name, data); err != nil {
			return err
		}
		return removeOldSnapshots(ctx, n.o.Objects, t.id)
	})
	return m, nil
}

// An owner of a memory is a user with some teams.
type owner struct {
	user  string
	teams []string
}

func ownerOf(p service.Principal) owner { return owner{p.User, p.Teams} }

// name is for folders of the memory. No user's name has a plus.
func (o owner) name() string {
	if len(o.teams) == 0 {
		return o.user
	}
	sum := sha256.Sum256([]byte(strings.Join(o.teams, "\n")))
	return o.user + "+" + hex.EncodeToString(sum[:16])
}

func (n *pool) workspace(t *tenant, o owner, settings Settings) (*app.Workspace, error) {
	home := filepath.Join(t.mirror.dir, usersFolder, o.user)
	made := []string{filepath.Join(home, hidden)}
	places := config.Places{Home: home, Cache: t.cacheFolder(), State: filepath.Join(t.dir, "state", o.name()), Name: o.name()}
	for _, team := range o.teams {
		folder := filepath.Join(t.mirror.dir, teamsFolder, team)
		made = append(made, filepath.Join(folder, ".git")) // as in pool.open
		places.Mounts = append(places.Mounts, curated.Mount{Name: teamMark + team, Folder: folder})
	}
	for _, folder := range made {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
	}
	w, err := app.Tenant(n.o.Workspace, filepath.Join(t.mirror.dir, sharedFolder), places, settings.imposed())
	if err == nil {
		w.Metered = func(e embed.Embedder) embed.Embedder { return metered{e, t.meter} }
		w.DocumentsVersion = func() int64 { return t.mirror.now.Load().order }
	}
	return w, err
}

// A memory keeps its tenant open.
type memory struct {
	*app.Service
	owner   owner
	mirror  *mirror
	release func()
	// outdated reports whether the tenant's embedder has changed.
	outdated func() bool

	stop    context.CancelFunc
	indexed sync.WaitGroup
}

// firstWait is how long the first request waits for an index; Result.State says if that was too
// short.
const firstWait = 400 * time.Millisecond

// begin makes the index, or updates one taken from the storage, and keeps its snapshot current.
func (m *memory) begin(log *slog.Logger, vectors *shelf, taken bool, keep func(ctx context.Context, name string, data []byte) error) {
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	done := make(chan struct{})
	m.indexed.Go(func() {
		_, err := m.Manager.Index(ctx, core.IndexOptions{Progress: func(p core.Progress) {
			if p.Stage == "read" && p.Done == p.Total && !taken {
				vectors.wait(ctx) // from now on it embeds what other nodes may have embedded
			}
		}})
		close(done)
		if err == nil {
			err = m.keepSnapshot(ctx, taken, keep)
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("a memory was not indexed, or its index not saved", "error", err)
		}
	})
	select {
	case <-done:
	case <-time.After(firstWait):
	}
}

// An open memory looks for changes lookEvery; questions look themselves.
const lookEvery = 500 * time.Millisecond

// A silent embedder is asked again after lookAgain.
const lookAgain = 5 * time.Minute

// Outdated implements httpapi.Workspace.
func (m *memory) Outdated() bool { return m.outdated() || m.Service.Outdated() }

// Watch implements httpapi.Workspace. It follows the mirror, not the files: the system cannot watch
// the folders of a whole node.
func (m *memory) Watch(ctx context.Context, indexed func(core.IndexReport, error), _ func(error)) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var known int64
	var looked time.Time
	degraded := false // the embedder did not answer
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if order := m.mirror.now.Load().order; order != known || degraded && time.Since(looked) > lookAgain {
			report, err := m.Manager.Index(ctx, core.IndexOptions{KeepEngine: true})
			if ctx.Err() != nil {
				return nil
			}
			indexed(report, err)
			known, looked, degraded = order, time.Now(), report.Degraded != ""
		}
	}
}

// Context implements httpapi.Workspace.
func (m *memory) Context(ctx context.Context, r httpapi.ContextRequest) (httpapi.TextReply, error) {
	m.mirror.allowed.RLock()
	defer m.mirror.allowed.RUnlock()
	return m.Service.Context(ctx, r)
}

// Tools implements httpapi.Workspace.
func (m *memory) Tools() []tools.Tool { return withoutFiles(m.Service.Tools()) }

// withoutFiles hides paths of this node in answers of tools.
func withoutFiles(all []tools.Tool) []tools.Tool {
	var out []tools.Tool
	for _, t := range all {
		out = append(out, t.Calling(func(ctx context.Context, arguments []byte) (tools.Answer, error) {
			answer, err := t.Call(ctx, arguments)
			if fields, ok := fieldsOf(answer); ok && fields["file"] != nil {
				delete(fields, "file")
				answer.Data = fields
			}
			return answer, err
		}))
	}
	return out
}

// fieldsOf returns the data of an answer if it is a JSON object, or empty.
func fieldsOf(answer tools.Answer) (fields map[string]any, ok bool) {
	data, err := json.Marshal(answer.Data)
	if err != nil || json.Unmarshal(data, &fields) != nil {
		return nil, false
	}
	if fields == nil {
		fields = map[string]any{}
	}
	return fields, true
}

// Close implements httpapi.Workspace.
func (m *memory) Close() error {
	defer m.release()
	m.stop()
	m.indexed.Wait()
	return m.Service.Close()
}
