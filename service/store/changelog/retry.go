//go:build lancedb

package changelog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/cenkalti/backoff/v5"

	"github.com/memcore/memcore/internal/lancedb/table"
)

// attempts of a step: storage is remote, and writers may collide.
const attempts = 4

// retry opens the table at uri and calls f with it, perhaps several times. op is for errors, such
// as "read log". Errors wrap table.ErrMissing if there is no table.
func retry(ctx context.Context, uri, op string, schema *arrow.Schema,
	open func(context.Context, string, *arrow.Schema) (*table.Table, error), f func(*table.Table) error) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval = 50 * time.Millisecond
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		if err := reachable(ctx, uri); err != nil {
			return struct{}{}, err
		}
		opened, err := open(ctx, uri, schema)
		if errors.Is(err, table.ErrMissing) {
			err = backoff.Permanent(err)
		}
		if err != nil {
			return struct{}{}, err
		}
		// Close waits for native calls, which may hang.
		defer func() { go opened.Close() }()
		return struct{}{}, f(opened)
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(attempts))
	switch {
	case err == nil || errors.Is(err, table.ErrMissing):
		return err
	case ctx.Err() != nil:
		err = fmt.Errorf("the storage did not answer in time: %w", context.Cause(ctx))
	}
	return fmt.Errorf("%s %s: %w", op, uri, explain(err))
}
