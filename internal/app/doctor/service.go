package doctor

import (
	"context"
	"time"

	"github.com/memcore/memcore/internal/app"
)

// service asks the memory service, if there is one.
func (d *doctor) service(ctx context.Context) {
	const name = "memory service"
	s := app.RemoteOf(d.w).State(ctx)
	switch {
	case s == nil:
	case s.Problem != "":
		d.problem(name, "check memory.service.url, the key and the network; memcore init --server URL takes a new key", "%s; only this machine's memory answers", s.Text())
	case !s.Expires.IsZero() && time.Until(s.Expires) < keyWarning:
		d.warn(name, "ask for a new key, then: memcore init --server URL", "%s", s.Text())
	default:
		d.ok(name, "%s", s.Text())
	}
}

// keyWarning is how long before it ends a key is worth a word.
const keyWarning = 14 * 24 * time.Hour
