// Package postgrestest starts real PostgreSQL servers for tests, on Unix sockets in temporary
// folders.
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service/postgres"
)

// Variable names the folder of the programs of a PostgreSQL with pgvector (service/.ci/postgres).
const Variable = "MEMCORE_POSTGRES_BIN"

// programs returns the folder of PostgreSQL's programs, or why there are none with pgvector.
func programs() (string, error) {
	if folder := os.Getenv(Variable); folder != "" {
		return folder, nil
	}
	ask := func(what string) string {
		out, _ := exec.Command("pg_config", what).Output() // none if it is not installed
		return strings.TrimSpace(string(out))
	}
	if _, err := os.Stat(filepath.Join(ask("--sharedir"), "extension", "vector.control")); err != nil {
		return "", fmt.Errorf("%s is not set, and there is no PostgreSQL with pgvector: PostgreSQL is NOT tested (service/.ci/postgres gets one)", Variable)
	}
	return ask("--bindir"), nil
}

// A Server can be stopped, killed and started again.
type Server struct {
	folder, programs string
	settings         []string
	credential       *syscall.Credential
	process          *exec.Cmd
	databases        atomic.Int64
}

// settings of all servers. Tests need no durability beyond the process.
var settings = []string{"listen_addresses=", "max_connections=200", "fsync=off", "autovacuum=off", "log_min_messages=panic"}

// New starts a server of a test's own, until it ends. Later settings count, such as "fsync=on".
// Without PostgreSQL the test is skipped.
func New(t testing.TB, more ...string) *Server {
	t.Helper()
	s, err := start(t, more...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Remove() }) // the test may have ended it
	return s
}

func start(t testing.TB, more ...string) (*Server, error) {
	t.Helper()
	bin, err := programs()
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
	s := &Server{programs: bin, settings: append(settings[:len(settings):len(settings)], more...)}
	if s.folder, err = os.MkdirTemp("", "mcpg"); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 { // PostgreSQL refuses root
		nobody, err := user.Lookup("nobody")
		if err != nil {
			return nil, err
		}
		uid, _ := strconv.ParseUint(nobody.Uid, 10, 32)
		gid, _ := strconv.ParseUint(nobody.Gid, 10, 32)
		s.credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(s.folder, int(uid), int(gid)); err != nil {
			return nil, err
		}
	}
	out, err := s.command("initdb", "--no-sync", "--encoding=UTF8", "--locale=C", "--username=owner", "--auth=trust", "-D", s.Data()).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	if err := s.Start(); err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	if err := s.run("postgres", `create database `+template); err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	if err := postgres.Migrate(context.Background(), s.DSN(owner, template)); err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	return s, s.run("postgres", `create role `+nodeRole+` login in role memcore_node`)
}

// Replica starts a server that follows this one, until the test ends.
func (s *Server) Replica(t testing.TB) *Server {
	t.Helper()
	r := &Server{programs: s.programs, settings: s.settings, credential: s.credential}
	var err error
	r.folder, err = os.MkdirTemp("", "mcpg")
	require.NoError(t, err)
	if s.credential != nil {
		require.NoError(t, os.Chown(r.folder, int(s.credential.Uid), int(s.credential.Gid)))
	}
	out, err := s.command("pg_basebackup", "-h", s.folder, "-U", owner, "-D", r.Data(), "-R", "-c", "fast").CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, r.Start())
	t.Cleanup(func() { _ = r.Remove() }) // the test may have ended it
	return r
}

// Synchronous lets each commit wait for a replica. It returns once one has all that there is.
func (s *Server) Synchronous() error {
	if err := s.waitForReplica("*"); err != nil {
		return err
	}
	var err error
	for range 600 {
		var has bool
		if has, err = s.ask(`select exists (select from pg_stat_replication where sync_state = 'sync' and flush_lsn >= pg_current_wal_flush_lsn())`); has {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("no replica follows: %w", err)
}

// Promote makes a replica a server of its own, whose commits wait for no other.
func (s *Server) Promote() error {
	if promoted, err := s.ask(`select pg_promote()`); err != nil || !promoted {
		return fmt.Errorf("the replica was not promoted: %w", err)
	}
	return s.waitForReplica("")
}

// waitForReplica names the replicas that commits wait for.
func (s *Server) waitForReplica(names string) error {
	err := s.run("postgres", `alter system set synchronous_standby_names = '`+names+`'`)
	if err == nil {
		_, err = s.ask(`select pg_reload_conf()`)
	}
	return err
}

func (s *Server) ask(question string) (yes bool, err error) {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, s.DSN(owner, "postgres"))
	if err != nil {
		return false, err
	}
	err = errors.Join(c.QueryRow(ctx, question).Scan(&yes), c.Close(ctx))
	return yes, err
}

// Data is the folder with the tables.
func (s *Server) Data() string { return filepath.Join(s.folder, "data") }

func (s *Server) command(program string, arguments ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.programs, program), arguments...)
	c.Dir = s.folder
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.credential}
	return c
}

// Start starts the server and waits until it answers.
func (s *Server) Start() error {
	arguments := []string{"-D", s.Data(), "-k", s.folder}
	for _, setting := range s.settings {
		arguments = append(arguments, "-c", setting)
	}
	s.process = s.command("postgres", arguments...)
	s.process.Stderr = os.Stderr
	if err := s.process.Start(); err != nil {
		return err
	}
	var err error
	for range 600 {
		var c *pgx.Conn
		if c, err = pgx.Connect(context.Background(), s.DSN(owner, "postgres")); err == nil {
			return c.Close(context.Background())
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("PostgreSQL does not answer: %w", err)
}

// Kill ends the server as a crash does.
func (s *Server) Kill() error { return s.end(syscall.SIGQUIT) }

// Stop ends the server; connections are cut.
func (s *Server) Stop() error { return s.end(syscall.SIGINT) }

func (s *Server) end(signal os.Signal) error {
	if err := s.process.Process.Signal(signal); err != nil {
		return err
	}
	var exit *exec.ExitError
	if err := s.process.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}

// Remove ends the server for good.
func (s *Server) Remove() error { return errors.Join(s.Kill(), os.RemoveAll(s.folder)) }

// Socket is where the server listens.
func (s *Server) Socket() string { return filepath.Join(s.folder, ".s.PGSQL.5432") }

// DSN returns the address of a database.
func (s *Server) DSN(role, database string) string {
	return fmt.Sprintf("host=%s user=%s dbname=%s", s.folder, role, database)
}

// Roles, and the database of which others are copies.
const (
	owner    = "owner"
	nodeRole = "node"
	template = "memcore_template"
)

// run executes a statement as the owner of a database.
func (s *Server) run(database, statement string) error {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, s.DSN(owner, database)+" synchronous_commit=local") // a replica may have ended before
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, statement)
	return errors.Join(err, c.Close(ctx))
}

// Database makes an empty database with the tables of package postgres, until the test ends. It
// returns its addresses for the owner and for nodes.
func (s *Server) Database(t testing.TB) (ofOwner, ofNode string) {
	t.Helper()
	name := fmt.Sprintf("test%d", s.databases.Add(1))
	require.NoError(t, s.run("postgres", `create database `+name+` template `+template))
	t.Cleanup(func() { _ = s.run("postgres", `drop database `+name+` with (force)`) }) // the test may have ended the server
	return s.DSN(owner, name), s.DSN(nodeRole, name)
}

// shared is the server of this process.
var shared struct {
	sync.Mutex
	server *Server
	err    error
}

// Main runs the tests of a package that calls Database.
func Main(m *testing.M) int {
	defer func() {
		if shared.server != nil {
			_ = shared.server.Remove() // the tests have ended
		}
	}()
	return m.Run()
}

// Database is Server.Database of a server that all tests of the process share (Main ends it).
// Without PostgreSQL the test is skipped.
func Database(t testing.TB) (ofOwner, ofNode string) {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = start(t)
	}
	require.NoError(t, shared.err)
	return shared.server.Database(t)
}
