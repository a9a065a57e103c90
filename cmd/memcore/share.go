package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/embed"
)

// sharing fills in how a memory is shared. A build that cannot reach the others keeps what it has of
// them, and says so.
func (a *app) sharing(options *core.Options, embedder embed.Embedder) error {
	s := a.settings.Shared
	if s.URI == "" {
		return nil
	}
	options.Owner, options.Publish = a.owner(), s.Publish
	var err error
	options.Shared, err = openShared(a.settings, dimensionOf(embedder))
	return err
}

// notShared is the error of a build that has no LanceDB where memory.shared.uri is set; nil otherwise.
func (a *app) notShared() error {
	if a.settings.Shared.URI == "" || isBuilt(engineLanceDB) {
		return nil
	}
	return fmt.Errorf("memory.shared.uri is set, and %v: nothing is shared", notBuilt(engineLanceDB))
}

// usualDimension is that of vectors in a shared table if the embedder does not know yet, or there is
// none; the table goes by who makes it first.
const usualDimension = 384

func dimensionOf(embedder embed.Embedder) int {
	if embedder == nil || embedder.Dimension() < 1 {
		return usualDimension
	}
	return embedder.Dimension()
}

var notInOwner = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[^A-Za-z0-9._-]+`)
})

// owner is the name of this memory among the others: the same for the same folder of the same machine.
func (a *app) owner() string {
	if a.settings.Shared.Owner != "" {
		return a.settings.Shared.Owner
	}
	host, _ := os.Hostname() // without one, the folder tells
	sum := sha256.Sum256([]byte(host + "\x00" + a.project))
	name := strings.Trim(notInOwner().ReplaceAllString(filepath.Base(a.project), "-"), "-.")
	return strings.TrimPrefix(name+"-"+hex.EncodeToString(sum[:3]), "-")
}

// sharedReport tells what was given and got.
func (a *app) sharedReport(r *core.SharedReport) {
	if err := a.notShared(); err != nil {
		a.note("%v", err)
	}
	if r == nil {
		return
	}
	if r.Problem != "" {
		a.note("not shared now, the next 'memcore index' tries again: %s", r.Problem)
		return
	}
	fmt.Fprintf(a.stdout, "shared with %s: %s published, %d withdrawn, %d pulled\n", count(r.Owners, "other"), count(r.Published, "chunk"), r.Withdrawn, r.Pulled)
}

// sharedText tells how the memory is shared.
func (a *app) sharedText(s *core.SharedStatus) string {
	documents := 0
	for _, n := range s.Documents {
		documents += n
	}
	text := fmt.Sprintf("%s as %s, %s of %s", shownAddress(a.settings.Shared.URI), s.Owner, count(documents, "document"), count(len(s.Documents), "other"))
	if !s.Pulled.IsZero() {
		text += ", pulled " + s.Pulled.Local().Format(time.DateTime)
	}
	if !s.Published {
		text += ", not all published yet"
	}
	return text
}

// shared checks whether the others can be reached.
func (d *doctor) shared(ctx context.Context, embedder embed.Embedder) {
	const name = "shared memory"
	if d.app.settings.Shared.URI == "" {
		return
	}
	if err := d.app.notShared(); err != nil {
		d.problem(name, "use a build with LanceDB, or take memory.shared.uri out of the configuration", "%v", err)
		return
	}
	options := core.Options{}
	err := d.app.sharing(&options, embedder)
	if err == nil {
		defer options.Shared.Close()
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, 10*time.Second)
		defer stop()
		_, err = options.Shared.Owned(ctx, options.Owner)
	}
	if err != nil {
		d.problem(name, "check memory.shared.*, the keys in the environment, and the network", "%v", err)
		return
	}
	d.ok(name, "%s answers; this memory is %s there", shownAddress(d.app.settings.Shared.URI), options.Owner)
}
