// Package postgres keeps the memories of a service in PostgreSQL with pgvector.
//
// The unit of an index is a scope: what all users of a tenant share, what a team shares, or what a
// user has alone. Each query names the scopes of its principal, and so does each transaction:
// row-level security hides the rows of all others, and Open refuses a role that could see them.
//
// A write is a transaction that has the document, its revision, its records with their words, and
// the vectors that are made by then; other vectors are made later (Pending). A question fetches what
// has changed (Contents), and searches in memory: words by the code of package keyword, vectors by
// that of flat. Memory has the vectors in a quarter of their bytes, which leave some candidates that
// the database compares.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/memcore/memcore/internal/kind"
)

// Options of a DB.
type Options struct {
	Connections int           // of the pool, at most; 0 is 16
	Timeout     time.Duration // of each statement; 0 is 30 s
	CacheBytes  int64         // of words and vectors in memory, at most; 0 is half of GOMEMLIMIT, or 256 MB
	Logger      *slog.Logger  // nil is slog.Default()
}

// A DB is safe for concurrent use. Any number of processes may have one.
type DB struct {
	pool    *pgxpool.Pool
	log     *slog.Logger
	cache   *cache
	timeout time.Duration

	shares shares
}

// ErrSchema means that the tables are missing, or of another release: Migrate.
var ErrSchema = errors.New("the tables are not those of this release: run the migration")

// maxStatement bounds deletions of tenants and users, and the first reading of a scope.
const maxStatement = 10 * time.Minute

// Open connects as a role that cannot bypass row-level security, which Migrate granted memcore_node
// to. It refuses any other role.
func Open(ctx context.Context, dsn string, o Options) (*DB, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("the address of the database: %w", err)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Connections <= 0 {
		o.Connections = 16
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = defaultCacheBytes()
	}
	db := &DB{log: o.Logger, timeout: o.Timeout, cache: newCache(o.CacheBytes), shares: shares{most: o.Connections, held: map[int64]int{}}}
	config.MaxConns = int32(o.Connections)
	parameters := config.ConnConfig.RuntimeParams
	parameters["application_name"] = "memcore-service"
	parameters["search_path"] = searchPath
	parameters["statement_timeout"] = milliseconds(o.Timeout)
	parameters["idle_in_transaction_session_timeout"] = milliseconds(o.Timeout)
	// A question that nobody waits for ends on the server, too, and the connection stays.
	config.ConnConfig.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: 2 * time.Second}
	}
	config.ConnConfig.OnNotice = noteWarning
	if db.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	if err := db.check(ctx); err != nil {
		db.pool.Close()
		return nil, err
	}
	return db, nil
}

// searchPath names where managed databases put pgvector, too.
const searchPath = "memcore,public,extensions"

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// check refuses tables of another release, and roles that see all rows.
func (db *DB) check(ctx context.Context) error {
	var exists, mayRead bool
	err := db.pool.QueryRow(ctx, `select to_regclass('memcore.schema') is not null, coalesce(has_table_privilege(to_regclass('memcore.schema'), 'select'), false)`).Scan(&exists, &mayRead)
	switch {
	case err != nil && !isState(err, "42501"): // insufficient_privilege, for the schema
		return fmt.Errorf("connect to the database: %w", failed(ctx, err))
	case err == nil && !exists:
		return ErrSchema
	case !mayRead:
		return errors.New("the role of the database may read no table: grant it memcore_node")
	}
	var version int
	var bypasses bool
	err = db.pool.QueryRow(ctx, `select (select max(version) from schema), (select rolsuper or rolbypassrls from pg_roles where rolname = current_user)
		or exists (select from pg_class where relnamespace = 'memcore'::regnamespace and pg_has_role(relowner, 'usage'))`).Scan(&version, &bypasses)
	switch {
	case err != nil:
		return fmt.Errorf("check the database: %w", err)
	case version != schemaVersion:
		return fmt.Errorf("%w: they are version %d, want %d", ErrSchema, version, schemaVersion)
	case bypasses:
		return errors.New("the role of the database can bypass row-level security: connect as one that owns nothing and is granted memcore_node")
	}
	return nil
}

// Close ends all connections.
func (db *DB) Close() { db.pool.Close() }

// Ready reports whether the database answers.
func (db *DB) Ready(ctx context.Context) error { return failed(ctx, db.pool.Ping(ctx)) }

// Maintain removes expired revisions and old removals. Call it each minute or so, on
// any node: while one works, the others return at once.
func (db *DB) Maintain(ctx context.Context) error {
	_, err := db.pool.Exec(ctx, `select memcore.maintain()`)
	return err
}

// awaitPause is between looks at a replica.
const awaitPause = 5 * time.Millisecond

// Await returns once this database has a tenant's position, which is at once unless it is a replica.
func (db *DB) Await(ctx context.Context, tenant, position int64) error {
	for position > 0 {
		var reached, replica bool
		err := db.pool.QueryRow(ctx, `select memcore.reached($1, $2), pg_is_in_recovery()`, tenant, position).Scan(&reached, &replica)
		switch {
		case reached:
			return nil
		case err == nil && !replica:
			return kind.Usagef("there is no version %d yet", position)
		case err == nil:
			select {
			case <-time.After(awaitPause):
				continue
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		return kind.As(kind.Unavailable, fmt.Errorf("version %d is not here yet: %w", position, err))
	}
	return nil
}

// A session names what the statements of a transaction may see.
type session struct {
	tenant int64
	scopes []int64
}

// begin queues the beginning of a transaction.
func (s session) begin(b *pgx.Batch, mode string) {
	b.Queue("begin " + mode)
	b.Queue(`select set_config('memcore.tenant', $1, true), set_config('memcore.scopes', $2, true)`, strconv.FormatInt(s.tenant, 10), arrayOf(s.scopes))
}

// arrayOf writes an array as PostgreSQL reads it.
func arrayOf(numbers []int64) string {
	var text strings.Builder
	for i, n := range numbers {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(strconv.FormatInt(n, 10))
	}
	return "{" + text.String() + "}"
}

// read sends the statements that queue adds in one round trip. All of them see one state.
func (db *DB) read(ctx context.Context, s session, queue func(*pgx.Batch)) error {
	b := &pgx.Batch{}
	if c, together := ctx.Value(togetherKey{}).(*pgxpool.Conn); together {
		queue(b)
		return failed(ctx, c.SendBatch(ctx, b).Close())
	}
	s.begin(b, readOnly)
	queue(b)
	b.Queue("commit")
	return failed(ctx, db.shares.within(ctx, s.tenant, func() error { return db.pool.SendBatch(ctx, b).Close() }))
}

const readOnly = "isolation level repeatable read read only"

type togetherKey struct{}

// readTogether calls do with a context in which all that read gets is of one state, one after
// another.
func (db *DB) readTogether(ctx context.Context, s session, do func(context.Context) error) error {
	return db.inTransaction(ctx, s, readOnly, func(c *pgxpool.Conn) error {
		return do(context.WithValue(ctx, togetherKey{}, c))
	})
}

// inTransaction calls do in a transaction, which is rolled back unless do commits it. What is known
// beforehand goes by read or write, in fewer round trips.
func (db *DB) inTransaction(ctx context.Context, s session, mode string, do func(*pgxpool.Conn) error) error {
	return failed(ctx, db.shares.within(ctx, s.tenant, func() error {
		return db.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
			b := &pgx.Batch{}
			s.begin(b, mode)
			err := c.SendBatch(ctx, b).Close()
			if err == nil {
				err = do(c)
			}
			return errors.Join(err, rollback(ctx, c))
		})
	}))
}

// rollback ends a transaction, unless it has ended or the connection has.
func rollback(ctx context.Context, c *pgxpool.Conn) error {
	const idle = 'I'
	if c.Conn().IsClosed() || c.Conn().PgConn().TxStatus() == idle {
		return nil
	}
	_, err := c.Exec(context.WithoutCancel(ctx), "rollback")
	return err
}

// write is read for changes: all are made, durably, or none, as after an error of a callback.
func (db *DB) write(ctx context.Context, s session, queue func(*pgx.Batch)) error {
	return failed(ctx, db.shares.within(ctx, s.tenant, func() error {
		return db.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
			b := &pgx.Batch{}
			s.begin(b, "")
			queue(b)
			err := c.SendBatch(ctx, b).Close()
			if err != nil {
				return errors.Join(err, rollback(ctx, c))
			}
			return db.commit(ctx, c)
		})
	}))
}

// commit waits for a synchronous replica, too, which no time-out of statements bounds.
func (db *DB) commit(ctx context.Context, c *pgxpool.Conn) error {
	inTime, stop := context.WithTimeout(ctx, db.timeout)
	defer stop()
	about := c.Conn().PgConn().CustomData()
	delete(about, warning)
	_, err := c.Exec(inTime, "commit")
	if said, warned := about[warning]; warned || err != nil && inTime.Err() != nil && ctx.Err() == nil {
		err = kind.As(kind.Unavailable, errors.Join(fmt.Errorf("the change may be there, and may be lost with the server: %v", said), err))
	}
	return err
}

// warning is the last one in what a connection says of itself.
const warning = "warning"

// noteWarning keeps warnings for commit, which succeeds with one if the server no longer waits for a
// synchronous replica.
func noteWarning(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.SeverityUnlocalized == "WARNING" {
		c.CustomData()[warning] = n.Message
	}
}

// failed sorts an error of the database: kind.Unavailable if it does not answer, or is full;
// kind.Late if a statement took too long.
func failed(ctx context.Context, err error) error {
	if err == nil || kind.Of(err) != kind.Failure {
		return err
	}
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("%w: %w", cause, err)
	}
	var refused *pgconn.PgError
	var network net.Error
	switch {
	case errors.As(err, &refused) && refused.Code == "57014": // query_canceled
		return kind.As(kind.Late, err)
	case errors.As(err, &refused) && slices.Contains([]string{"08", "53", "57"}, refused.Code[:2]), // connections, resources, the operator
		pgconn.SafeToRetry(err), errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.Is(err, pgconn.ErrConnClosed):
		return kind.As(kind.Unavailable, fmt.Errorf("the database does not answer: %w", err))
	}
	return err
}

// isState reports whether the database refused something with a code.
func isState(err error, code string) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == code
}

// modelNumber is the number of an embedder in SQL, null if it has made no vector. It is looked up
// in the transaction that uses it: a failover or a restore may give numbers anew.
func modelNumber(parameter string) string {
	return `(select id from model where fingerprint = ` + parameter + `)`
}

// queueModel lets an embedder have a number from here on in a transaction that makes its vectors.
// A number is used up even if another has been as fast, so it is asked for only if there is none.
func queueModel(b *pgx.Batch, fingerprint string) {
	if fingerprint != "" {
		b.Queue(`insert into model (fingerprint) select $1 where not exists (select from model where fingerprint = $1) on conflict do nothing`, fingerprint)
	}
}
