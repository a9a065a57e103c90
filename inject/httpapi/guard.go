package httpapi

import (
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/memcore/memcore/internal/web/status"
)

// Guard answers with status 500 if next panics, and calls done after each request. A panic that
// means to abort the answer goes on, so that the client sees that it is not whole.
func Guard(next http.Handler, version string, log *slog.Logger, done func(r *http.Request, status int, took time.Duration)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		seen := status.NewWriter(w)
		w.Header().Set("X-Memcore-Version", version)
		defer func() {
			p := recover()
			if p != nil && p != http.ErrAbortHandler {
				log.Error("request failed", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
				Fail(seen, &Error{http.StatusInternalServerError, "the service failed at this request"})
			}
			done(r, seen.Status, time.Since(begun))
			if p == http.ErrAbortHandler {
				panic(p)
			}
		}()
		next.ServeHTTP(seen, r)
	})
}
