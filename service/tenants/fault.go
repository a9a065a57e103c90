package tenants

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/postgres"
)

// A hiddenError has a cause in the database or on this node. Clients do not see it: it may name
// files.
type hiddenError struct{ cause error }

func (e hiddenError) Error() string {
	switch kind.Of(e.cause) {
	case kind.Unavailable:
		return "the database does not answer: try again"
	case kind.Late:
		return "the database takes too long: try again"
	}
	return "the database does not answer as it should: try again"
}

func (e hiddenError) Unwrap() error { return e.cause }

// hide logs an error of the database or this node and hides it from clients. Errors about the
// request stay.
func hide(log *slog.Logger, err error) error {
	var answer *httpapi.Error
	var hidden hiddenError
	var needed *app.ConsentError
	switch kind.Of(err) {
	case kind.BadInput, kind.Forbidden, kind.NotFound, kind.Conflict:
		return err
	}
	if errors.Is(err, postgres.ErrBusy) {
		return &httpapi.Error{Status: http.StatusTooManyRequests, Message: postgres.ErrBusy.Error()}
	}
	if errors.Is(err, postgres.ErrMemory) {
		log.Warn("a question was refused", "error", err)
		return &httpapi.Error{Status: http.StatusInsufficientStorage, Message: postgres.ErrMemory.Error()}
	}
	if err == nil || errors.As(err, &answer) || errors.As(err, &hidden) || errors.As(err, &needed) || errors.Is(err, context.Canceled) ||
		errors.Is(err, service.ErrKey) || errors.Is(err, httpapi.ErrClosed) {
		return err
	}
	log.Warn("a request failed", "error", err)
	return kind.As(kind.Unavailable, hiddenError{err})
}
