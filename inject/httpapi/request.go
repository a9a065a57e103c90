package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/web/overload"
)

const (
	// bodyWait bounds how long a client sends its body.
	bodyWait = 10 * time.Second
	// maxBodies bounds all bodies' bytes at a time.
	maxBodies = 64 << 20
)

// targeted is a request that names a workspace.
type targeted interface{ workspace() string }

// work answers a request about a workspace.
func work[In targeted, Out any](s *Server, do func(ctx context.Context, ws Workspace, in In) (Out, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.used.Store(int64(time.Since(s.started)))
		if !s.rate.Allow() {
			Fail(w, &Error{http.StatusTooManyRequests, "more requests a second than the service takes"})
			return
		}
		// Only the work takes a slot: slow clients block no others.
		var in In
		free, err := read(s, w, r, &in)
		defer free()
		if err == nil {
			err = s.mayUse(r.Context(), in.workspace())
		}
		if err != nil {
			Fail(w, err)
			return
		}
		var out Out
		err = s.slots.Do(r.Context(), s.o.Wait, func() error {
			return s.pool.use(r.Context(), in.workspace(), func(ws Workspace) (err error) {
				out, err = do(r.Context(), ws, in)
				return err
			})
		})
		if err != nil {
			Fail(w, err)
			return
		}
		Reply(w, http.StatusOK, out)
	}
}

// read reads a body, whose bytes count until free.
func read[In any](s *Server, w http.ResponseWriter, r *http.Request, into *In) (free func(), err error) {
	data, free, err := s.bodies.Read(w, r, s.o.MaxBody, bodyWait)
	if err != nil {
		if errors.Is(err, overload.ErrLarge) {
			w.Header().Set("Connection", "close") // the rest is not read
		}
		return free, &Error{overload.StatusOf(err), "the body cannot be read: " + err.Error()}
	}
	return free, decodeBody(data, into)
}

// decodeBody decodes a body, which must match its schema.
func decodeBody[In any](data []byte, into *In) error {
	err := decode(data, into)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) && strings.HasPrefix(kind.Value, "number ") {
		err = decode(withWholeNumbers[In](data), into)
	}
	if err == nil {
		err = checkBody[In](data)
	}
	if err != nil {
		return &Error{400, "the body is not valid here: " + err.Error() + "; GET /v1/openapi.json describes it"}
	}
	return nil
}

// DecodeWithin decodes the fields of a body that names no workspace, since the caller knows it. The
// body must match its schema.
func DecodeWithin[In any](workspace string, fields map[string]json.RawMessage, into *In) error {
	fields = maps.Clone(fields)
	fields["workspace"], _ = json.Marshal(workspace)
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return decodeBody(data, into)
}

func decode(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}
