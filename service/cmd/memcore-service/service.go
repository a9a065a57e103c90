package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/trace"

	"github.com/memcore/memcore/inject/proxy"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/web/overload"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/postgres"
	"github.com/memcore/memcore/service/tenants"
)

// serviceOptions are the flags of a node.
type serviceOptions struct {
	database  string
	listen    string
	metrics   string
	drain     time.Duration
	keep      time.Duration
	limits    service.Limits
	upstreams []string
	audit     string
	tokens    tokenOptions
}

// Environment variables that hold secrets, which no flag should.
const (
	databaseVariable = "MEMCORE_SERVICE_DATABASE"
	operatorVariable = "MEMCORE_SERVICE_OPERATOR_KEY"
)

// minOperatorKey is the shortest key of the operator, in bytes.
const minOperatorKey = 32

func serviceCommand(a *cli) *cobra.Command {
	var o serviceOptions
	cmd := &cobra.Command{
		Use:   "memcore-service",
		Short: "Run a node of a memory service for many tenants, on PostgreSQL",
		Long: `Run a node of a service in the foreground. What tenants store is in the database that
$MEMCORE_SERVICE_DATABASE names (postgres://…); nodes keep nothing, and any of them answers for
anybody. Who has the key in $MEMCORE_SERVICE_OPERATOR_KEY manages tenants. See service/README.md.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runService(cmd.Context(), a, o) },
	}
	cmd.PersistentFlags().StringVar(&o.database, "database", "", "`URL` of the database (default: $MEMCORE_SERVICE_DATABASE, which other users of the machine do not see)")
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:7475", "`ADDRESS` for clients, without encryption: put a load balancer with TLS before it")
	f.StringVar(&o.metrics, "metrics", "", "`ADDRESS` for /metrics (Prometheus); empty: none")
	f.DurationVar(&o.drain, "drain", 5*time.Second, "how long the node says that it is not ready before it ends")
	f.DurationVar(&o.keep, "keep", 7*24*time.Hour, "how long replaced and removed texts stay in the history")
	f.Float64Var(&o.limits.PerSecond, "rate", 100, "requests a second that a tenant may send")
	f.IntVar(&o.limits.MaxDocuments, "max-documents", 100_000, "documents that a tenant may have; 0: any number")
	f.Int64Var(&o.limits.MaxBytes, "max-bytes", 1<<30, "bytes that a tenant may have; 0: any number")
	f.Int64Var(&o.limits.MaxEmbedded, "max-embedded", 0, "tokens of a tenant's documents that the node embeds in a day; 0: any number")
	f.StringVar(&o.audit, "audit", "", "`FILE` that gets a line for each request: who read what, without texts; -: standard output")
	f.StringArrayVar(&o.upstreams, "upstream", nil, "`NAME=URL` of a model's server that clients reach below /proxy/NAME, with memory; $MEMCORE_UPSTREAM_KEY_NAME has a key for it; may be repeated")
	o.tokens.addFlags(f)
	cmd.AddCommand(migrateCommand(a, &o), tenantCommand(a), keyCommand(a), userCommand(a), teamCommand(a))
	return cmd
}

// dsn returns the address of the database.
func (o serviceOptions) dsn() (string, error) {
	if dsn := cmp.Or(o.database, os.Getenv(databaseVariable)); dsn != "" {
		return dsn, nil
	}
	return "", kind.Hint(kind.Usagef("no database is named"), "set "+databaseVariable+", such as postgres://memcore@db/memcore")
}

func migrateCommand(a *cli, o *serviceOptions) *cobra.Command {
	return &cobra.Command{
		Use: "migrate", Short: "Make the tables in the database, or update them", Args: arguments(cobra.NoArgs, "none"),
		Long: `Make or update the tables, in the schema memcore, as a role that owns them. It may run again, and
beside nodes of this release and the one before. Nodes connect as another role, which gets no more
than they need: grant it memcore_node.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dsn, err := o.dsn()
			if err != nil {
				return err
			}
			if err := a.whenItAnswers(cmd.Context(), func() error { return postgres.Migrate(cmd.Context(), dsn) }); err != nil {
				return err
			}
			return a.print("the tables are those of this release\n")
		},
	}
}

// longestWait bounds the wait for a database that starts beside a node.
const longestWait = 10 * time.Second

// whenItAnswers calls do again while the database does not answer, for a while.
func (a *cli) whenItAnswers(ctx context.Context, do func() error) error {
	for begun := time.Now(); ; {
		err := do()
		if kind.Of(err) != kind.Unavailable || ctx.Err() != nil || time.Since(begun) > longestWait {
			return err
		}
		a.Log.Debug("waiting for the database", "error", err)
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func runService(ctx context.Context, a *cli, o serviceOptions) error {
	upstreams, err := upstreamsOf(o.upstreams, a.Log)
	if err != nil {
		return err
	}
	if o.keep < 0 {
		return kind.Usagef("--keep is %v, want a time", o.keep)
	}
	operator := os.Getenv(operatorVariable)
	if operator != "" && len(operator) < minOperatorKey {
		return kind.Hint(kind.Usagef("%s has %d bytes, want at least %d", operatorVariable, len(operator), minOperatorKey), "openssl rand -hex 32 makes one")
	}
	tokens, err := o.tokens.verifier(ctx, a.Log)
	if err != nil {
		return err
	}
	dsn, err := o.dsn()
	if err != nil {
		return err
	}
	audit, err := openAudit(a, o.audit)
	if err != nil {
		return err
	}
	traces, endTraces, err := sendTraces(ctx, a)
	if err != nil {
		return err
	}
	defer endTraces()
	var db *postgres.DB
	err = a.whenItAnswers(ctx, func() (err error) {
		db, err = postgres.Open(ctx, dsn, postgres.Options{Logger: a.Log})
		return err
	})
	if err != nil {
		return err
	}
	defer db.Close()
	node, err := tenants.NewNode(tenants.Options{DB: db, Workspace: a.Workspace, Limits: o.limits, Keep: o.keep,
		Audit: audit, Traces: traces, Logger: a.Log})
	if err != nil {
		return err
	}
	server := service.New(service.Options{Keys: tenants.NewKeys(db, tokens, a.Log), Tenants: node.Tenants(), Node: node, OperatorKey: operator, Version: version(), Upstreams: upstreams,
		Issuer: o.tokens.Issuer, Scopes: o.tokens.scopes, PublicURL: o.tokens.publicURL, Audit: audit, Traces: traces, Logger: a.Log})
	return errors.Join(listenAndServe(ctx, a, o, server), node.Close(), audit.Close())
}

// openAudit opens the audit log; "" is none.
func openAudit(a *cli, name string) (*service.AuditLog, error) {
	failed := func(err error) { a.Log.Error("the audit log lacks a line", "error", err) }
	switch name {
	case "":
		return nil, nil
	case "-":
		return service.NewAuditLog(a.stdout, failed), nil
	}
	log, err := service.OpenAuditLog(name, failed)
	if err != nil {
		return nil, kind.Usagef("--audit: %w", err)
	}
	return log, nil
}

// sendTraces sends traces to the endpoint that the environment names.
func sendTraces(ctx context.Context, a *cli) (traces trace.TracerProvider, end func(), err error) {
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")+os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return nil, func() {}, nil
	}
	failed := func(err error) { a.Log.Warn("traces were not sent", "error", err) }
	traces, flush, err := service.Traces(ctx, version(), failed)
	return traces, func() {
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
		defer stop()
		if err := flush(ctx); err != nil {
			failed(err)
		}
	}, err
}

// upstreamName matches names of upstreams.
var upstreamName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_]{0,31}$`) })

// upstreamsOf opens upstreams, each with its key from the environment.
func upstreamsOf(given []string, log *slog.Logger) (all []service.Upstream, err error) {
	for _, text := range given {
		name, url, _ := strings.Cut(text, "=")
		if !upstreamName().MatchString(name) || slices.ContainsFunc(all, func(u service.Upstream) bool { return u.Name == name }) {
			return nil, kind.Usagef("--upstream: the name is %.80q, want NAME=URL, such as openai=https://api.openai.com/v1, with another name for each: small letters, digits and '_'", name)
		}
		forward, err := proxy.NewForwarder(url, proxy.ForwarderOptions{MaxBody: 8 << 20, Discreet: true, Logger: log})
		if err != nil {
			return nil, kind.Usagef("--upstream %s: %w", name, err)
		}
		all = append(all, service.Upstream{Name: name, Forward: forward, Key: os.Getenv("MEMCORE_UPSTREAM_KEY_" + strings.ToUpper(name))})
	}
	return all, nil
}

// listenAndServe serves until ctx ends. Then the node is not ready for a while: load balancers stop
// sending requests, and running ones end.
func listenAndServe(ctx context.Context, a *cli, o serviceOptions, s *service.Server) error {
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", o.listen, err)
	}
	server := &http.Server{Handler: s, ErrorLog: slog.NewLogLogger(a.Log.Handler(), slog.LevelWarn)}
	served := make(chan error, 2)
	protected := overload.Protect(server, listener, overload.Options{})
	go func() { served <- server.Serve(protected) }()
	a.note("listening at http://%s", listener.Addr())
	if o.metrics != "" {
		about, err := listening.Listen(ctx, "tcp", o.metrics)
		if err != nil {
			return errors.Join(fmt.Errorf("listen on %s: %w", o.metrics, err), server.Close())
		}
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", s.Metrics())
		metrics := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
		defer metrics.Close()
		go func() { served <- metrics.Serve(about) }()
		a.note("metrics at http://%s/metrics", about.Addr())
	}
	select {
	case err := <-served:
		return errors.Join(err, server.Close())
	case <-ctx.Done():
	}
	s.Drain()
	time.Sleep(o.drain)
	wait, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	s.EndStreams()
	if err := server.Shutdown(wait); err != nil {
		return server.Close()
	}
	return nil
}
