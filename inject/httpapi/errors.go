package httpapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/memcore/memcore/internal/kind"
)

// An Error is an answer that is not OK.
type Error struct {
	Status  int    `json:"status"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// ErrClosed answers requests to a server that is ending.
var ErrClosed = kind.As(kind.Unavailable, errors.New("the daemon is ending"))

// statuses are those of kinds of errors; others are 500.
var statuses = map[kind.Kind]int{
	kind.BadInput:    http.StatusBadRequest,
	kind.Forbidden:   http.StatusForbidden,
	kind.NotFound:    http.StatusNotFound,
	kind.Conflict:    http.StatusConflict,
	kind.Unavailable: http.StatusServiceUnavailable,
	kind.Late:        http.StatusGatewayTimeout,
}

// StatusOf returns the HTTP status of an error.
func StatusOf(err error) int { return statusError(err).Status }

// statusError returns an error with its status.
func statusError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{cmp.Or(statuses[kind.Of(err)], http.StatusInternalServerError), err.Error()}
}

// Fail answers with an error.
func Fail(w http.ResponseWriter, err error) {
	e := statusError(err)
	if e.Status == http.StatusServiceUnavailable || e.Status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	data, _ := json.Marshal(map[string]any{"error": e}) // strings and numbers always encode
	write(w, e.Status, data)
}

// Reply answers with a body.
func Reply(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		Fail(w, err)
		return
	}
	write(w, status, data)
}

func write(w http.ResponseWriter, status int, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)+1)) // hooks read no pieces
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
}
