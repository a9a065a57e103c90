//go:build lancedb

// Package table accesses a LanceDB table of records. The binding ignores contexts and takes filters
// as text.
//
// Calls return when their context ends. The native call continues; Close waits for it. Rows go in
// as Arrow and come out as JSON.
package table

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/lancedb/lancedb-go/pkg/contracts"
	"github.com/lancedb/lancedb-go/pkg/lancedb"

	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/store"
)

// Name is the table's name in every database.
const Name = "memory_entries"

// ErrMissing means that there is no such table.
var ErrMissing = errors.New("no such table")

// ErrClosed is returned by every call after Close.
var ErrClosed = errors.New("table is closed")

// cutShort is in the library's errors about a file that ends too early.
const cutShort = "failed to fill whole buffer"

// A Table shows the version newest at its opening, and its own changes. It is safe for concurrent
// use.
type Table struct {
	schema *arrow.Schema
	conn   contracts.IConnection
	native contracts.ITable

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // native calls
}

// A Vector search of Select.
type Vector struct {
	Query []float32
	K     int
}

// A Query selects rows.
type Query struct {
	Columns []string // in any order; Near adds "_distance"
	Where   string   // SQL, values made by Text or In; "" is all
	Limit   int      // 0 is no limit
	Offset  int
	Near    *Vector // nil is all rows, in the order of appends
}

// Dimension is the length of vectors.
func (t *Table) Dimension() int {
	fields, _ := t.schema.FieldsByName("vector")
	return int(fields[0].Type.(*arrow.FixedSizeListType).Len())
}

// Open opens the table at uri, a folder or such as s3://bucket/prefix. schema is its creation's.
// Errors: ErrMissing and the storage's.
func Open(ctx context.Context, uri string, schema *arrow.Schema) (*Table, error) {
	return connect(ctx, uri, schema, func(conn contracts.IConnection) (contracts.ITable, error) {
		names, err := conn.TableNames(ctx)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if name == Name {
				opened, err := conn.OpenTable(ctx, Name)
				if err != nil && strings.Contains(err.Error(), "was not found") {
					// Its creator was killed before the first manifest.
					err = fmt.Errorf("%w: %s was begun and never finished", ErrMissing, Name)
				}
				return opened, err
			}
		}
		return nil, fmt.Errorf("%w: %s", ErrMissing, Name)
	})
}

// Create creates the table, and a missing database at uri. An existing table is an error.
func Create(ctx context.Context, uri string, schema *arrow.Schema) (*Table, error) {
	return connect(ctx, uri, schema, func(conn contracts.IConnection) (contracts.ITable, error) {
		made, err := lancedb.NewSchema(schema)
		if err != nil {
			return nil, err
		}
		return conn.CreateTable(ctx, Name, made)
	})
}

func connect(ctx context.Context, uri string, schema *arrow.Schema,
	open func(contracts.IConnection) (contracts.ITable, error)) (*Table, error) {
	t := &Table{schema: schema}
	err := t.wait(ctx, func() error {
		conn, err := lancedb.Connect(ctx, uri, nil)
		if err != nil {
			return err
		}
		native, err := open(conn)
		if err != nil {
			return errors.Join(err, conn.Close())
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		// Vectors have another length if another process made it.
		made, err := native.Schema(ctx)
		if err == nil {
			err = fits(made, schema)
		}
		if err != nil {
			return errors.Join(err, native.Close(), conn.Close())
		}
		t.schema = made
		t.conn, t.native = conn, native
		return nil
	})
	if err != nil {
		go t.Close() // after the native call
		return nil, fmt.Errorf("table %s in %s: %w", Name, uri, plain(err))
	}
	return t, nil
}

// fits requires the columns of the schema. Only the length of vectors may differ.
func fits(made, want *arrow.Schema) error {
	for _, f := range want.Fields() {
		found, ok := made.FieldsByName(f.Name)
		switch {
		case !ok:
			return fmt.Errorf("the table has no column %q: another program has made it", f.Name)
		case found[0].Type.ID() != f.Type.ID():
			return fmt.Errorf("column %q is %v, want %v: another program has made the table", f.Name, found[0].Type, f.Type)
		}
	}
	return nil
}

// wait returns at the end of the call or of ctx.
func (t *Table) wait(ctx context.Context, call func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return ErrClosed
	}
	t.running.Add(1)
	t.mu.Unlock()
	done := make(chan error, 1)
	go func() {
		defer t.running.Done()
		done <- call()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// plain makes an error one readable line, without the library's source positions and a server's
// markup.
func plain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, ErrClosed) || errors.Is(err, ErrMissing) {
		return err
	}
	text, _, _ := strings.Cut(err.Error(), ", rust/")
	text, _, _ = strings.Cut(text, ", /")
	text, answer, _ := strings.Cut(text, "<?xml")
	if message := serverSays().FindStringSubmatch(answer); message != nil {
		text += message[1] + ": " + message[2]
	}
	return errors.New(strings.Join(strings.Fields(text), " "))
}

var serverSays = lazy.Regexp(`<Code>([^<]*)</Code>\s*<Message>([^<]*)</Message>`)

// Add appends rows, all or none.
func (t *Table) Add(ctx context.Context, rows []Row) error {
	if len(rows) == 0 {
		return ctx.Err()
	}
	record, err := encode(t.schema, rows)
	if err != nil {
		return err
	}
	return plain(t.wait(ctx, func() error {
		defer record.Release()
		return t.native.AddRecords(context.WithoutCancel(ctx), []arrow.Record{record}, nil)
	}))
}

// Delete deletes by a filter without NUL, where the binding would cut it.
func (t *Table) Delete(ctx context.Context, where string) error {
	if where == "" || strings.ContainsRune(where, 0) {
		return fmt.Errorf("delete where %q: want a filter, and no NUL in it", where)
	}
	return plain(t.wait(ctx, func() error { return t.native.Delete(context.WithoutCancel(ctx), where) }))
}

// Select returns rows.
//
// The error is store.ErrCorrupt if a file is cut short.
func (t *Table) Select(ctx context.Context, q Query) (rows []Row, err error) {
	config := contracts.QueryConfig{Columns: q.Columns, Where: q.Where}
	if q.Limit > 0 {
		config.Limit = &q.Limit
	}
	if q.Offset > 0 {
		config.Offset = &q.Offset
	}
	if q.Near != nil {
		config.VectorSearch = &contracts.VectorSearch{Column: "vector", Vector: q.Near.Query, K: q.Near.K}
	}
	var found []map[string]any
	answer := make(chan []map[string]any, 1)
	err = t.wait(ctx, func() error {
		found, err := t.native.Select(context.WithoutCancel(ctx), config)
		answer <- found
		return err
	})
	if err != nil && strings.Contains(err.Error(), cutShort) {
		return nil, fmt.Errorf("%w: %w", store.ErrCorrupt, plain(err))
	}
	if err != nil {
		return nil, plain(err)
	}
	found = <-answer
	rows = make([]Row, len(found))
	for i := range found {
		if rows[i], err = decode(t.schema, found[i]); err != nil {
			return nil, fmt.Errorf("row %d of %d: %w", i, len(found), err)
		}
	}
	return rows, nil
}

// Count is the number of rows.
func (t *Table) Count(ctx context.Context) (int, error) {
	answer := make(chan int64, 1)
	err := t.wait(ctx, func() error {
		n, err := t.native.Count(context.WithoutCancel(ctx))
		answer <- n
		return err
	})
	if err != nil {
		return 0, plain(err)
	}
	return int(<-answer), nil
}

// Version is the number of the shown version.
func (t *Table) Version(ctx context.Context) (int, error) {
	answer := make(chan int, 1)
	err := t.wait(ctx, func() error {
		n, err := t.native.Version(context.WithoutCancel(ctx))
		answer <- n
		return err
	})
	if err != nil {
		return 0, plain(err)
	}
	return <-answer, nil
}

// CreateIndex makes or replaces an index.
func (t *Table) CreateIndex(ctx context.Context, column string, kind contracts.IndexType) error {
	return plain(t.wait(ctx, func() error {
		return t.native.CreateIndex(context.WithoutCancel(ctx), []string{column}, kind)
	}))
}

// Close waits for running calls and releases the table.
func (t *Table) Close() error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closed = true
	t.mu.Unlock()
	t.running.Wait()
	var err error
	if t.native != nil {
		err = t.native.Close()
	}
	if t.conn != nil {
		err = errors.Join(err, t.conn.Close())
	}
	return plain(err)
}
