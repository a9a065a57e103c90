//go:build lancedb

// Package table speaks to one LanceDB table of records, through a binding that takes no notice of
// contexts and takes filters as text.
//
// Its calls return as soon as their context ends; the native call they began goes on behind, and
// Close waits for it. Rows travel in as Arrow and come out as JSON.
package table

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/lancedb/lancedb-go/pkg/contracts"
	"github.com/lancedb/lancedb-go/pkg/lancedb"
)

// Name is the table's name in every database of memcore.
const Name = "memory_entries"

// ErrMissing means that the database has no table of that name.
var ErrMissing = errors.New("no such table")

// ErrClosed is returned by every call after Close.
var ErrClosed = errors.New("table is closed")

// A Table is an open table. It shows the version that was newest when it was opened, and what it has
// itself changed since; open it anew to see what others did. Its methods are safe for concurrent use.
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

// A Query says what Select returns.
type Query struct {
	Columns []string // in any order; with Near, "_distance" comes by itself
	Where   string   // SQL, values made by Text or In; "" is all
	Limit   int      // 0 is none
	Offset  int
	Near    *Vector // nil is every row, in the order in which they were added
}

// Dimension is the length of its vectors.
func (t *Table) Dimension() int {
	fields, _ := t.schema.FieldsByName("vector")
	return int(fields[0].Type.(*arrow.FixedSizeListType).Len())
}

// Open opens the table of the database at uri, a folder or such as s3://bucket/prefix. schema is what
// it was created with. Errors: ErrMissing, and what the storage says.
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
					// Its maker was killed before the first manifest; there is nothing in it.
					err = fmt.Errorf("%w: %s was begun and never finished", ErrMissing, Name)
				}
				return opened, err
			}
		}
		return nil, fmt.Errorf("%w: %s", ErrMissing, Name)
	})
}

// Create creates the table in the database at uri, which is made if it is missing, and fails if there
// is one.
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
		// Vectors may have another length than the caller expects, if another has made the table.
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
		go t.Close() // when the native call has returned, if ctx ended first
		return nil, fmt.Errorf("table %s in %s: %w", Name, uri, plain(err))
	}
	return t, nil
}

// fits returns an error if a table lacks a column of the schema, or has it in another form. Only the
// length of vectors may differ.
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

// wait runs a native call and returns when it has ended or ctx has.
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

// plain strips what the native library adds to its errors, the places in its source and the markup of
// a server's answer, so that a line is left that a person can read.
func plain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, ErrClosed) || errors.Is(err, ErrMissing) {
		return err
	}
	text, _, _ := strings.Cut(err.Error(), ", rust/")
	text, _, _ = strings.Cut(text, ", /")
	text, answer, _ := strings.Cut(text, "<?xml")
	if message := serverSays.FindStringSubmatch(answer); message != nil {
		text += message[1] + ": " + message[2]
	}
	return errors.New(strings.Join(strings.Fields(text), " "))
}

var serverSays = regexp.MustCompile(`<Code>([^<]*)</Code>\s*<Message>([^<]*)</Message>`)

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

// Delete deletes the rows that pass the filter. The filter must not hold a NUL, at which the binding
// would cut it short.
func (t *Table) Delete(ctx context.Context, where string) error {
	if where == "" || strings.ContainsRune(where, 0) {
		return fmt.Errorf("delete where %q: want a filter, and no NUL in it", where)
	}
	return plain(t.wait(ctx, func() error { return t.native.Delete(context.WithoutCancel(ctx), where) }))
}

// Select returns rows.
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

// Version is the number of the version that is shown.
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

// CreateIndex makes an index on a column, or replaces the one it has.
func (t *Table) CreateIndex(ctx context.Context, column string, kind contracts.IndexType) error {
	return plain(t.wait(ctx, func() error {
		return t.native.CreateIndex(context.WithoutCancel(ctx), []string{column}, kind)
	}))
}

// Close waits for the calls that are running and releases the table.
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
