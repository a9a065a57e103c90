package overload

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// The capacity of Slots bounds the requests at a time.
type Slots chan struct{}

// ErrBusy means that all slots are taken.
var ErrBusy = errors.New("the service is busy with other requests")

// Do waits at most wait for a slot.
func (s Slots) Do(ctx context.Context, wait time.Duration, do func() error) error {
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case s <- struct{}{}:
		defer func() { <-s }()
		return do()
	case <-late.C:
		return ErrBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}

// StatusOf returns the status of this package's errors, 400 for others.
func StatusOf(err error) int {
	switch {
	case errors.Is(err, ErrLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, ErrFull), errors.Is(err, ErrBusy):
		return http.StatusServiceUnavailable
	case errors.Is(err, ErrSlow):
		return http.StatusRequestTimeout
	}
	return http.StatusBadRequest
}
