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
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/trace"

	"github.com/memcore/memcore/inject/proxy"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
	"github.com/memcore/memcore/internal/userdir"
	"github.com/memcore/memcore/internal/web/overload"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/store"
	"github.com/memcore/memcore/service/store/changelog"
	"github.com/memcore/memcore/service/store/objects"
	"github.com/memcore/memcore/service/tenants"
)

// serviceOptions are the flags of a node.
type serviceOptions struct {
	storage   objects.Place
	listen    string
	metrics   string
	dir       string
	freshness time.Duration
	drain     time.Duration
	limits    service.Limits
	mostOpen  int
	upstreams []string
	audit     string
	tokens    tokenOptions
}

const defaultFreshness = 2 * time.Second

func serviceCommand(a *cli) *cobra.Command {
	var o serviceOptions
	cmd := &cobra.Command{
		Use:   "memcore-service",
		Short: "Run a node of a memory service for many tenants, on object storage",
		Long: `Run a node of a service in the foreground. What tenants store is on the storage; nodes keep nothing
that cannot be lost, and any of them serves any tenant. See service/README.md.

Keys of the storage come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runService(cmd.Context(), a, o) },
	}
	p := cmd.PersistentFlags()
	p.StringVar(&o.storage.URI, "storage", os.Getenv("MEMCORE_SERVICE_STORAGE"), "`URI` of the storage: s3://bucket/prefix, or a folder (default: $MEMCORE_SERVICE_STORAGE)")
	p.StringVar(&o.storage.Endpoint, "endpoint", os.Getenv("AWS_ENDPOINT"), "`URL` of an S3-compatible storage that is not Amazon's (default: $AWS_ENDPOINT)")
	p.StringVar(&o.storage.Region, "region", "", "`REGION` of the storage (default: us-east-1)")
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:7475", "`ADDRESS` for clients, without encryption: put a load balancer with TLS before it")
	f.StringVar(&o.metrics, "metrics", "", "`ADDRESS` for /metrics (Prometheus); empty: none")
	f.StringVar(&o.dir, "dir", "", "`DIR` for what the node can make again (default: memcore/node in the user's cache folder)")
	f.DurationVar(&o.freshness, "freshness", defaultFreshness, "how old answers may be, and how long a revoked key may still work")
	f.DurationVar(&o.drain, "drain", 5*time.Second, "how long the node says that it is not ready before it ends")
	f.Float64Var(&o.limits.PerSecond, "rate", 100, "requests a second that a tenant may send")
	f.IntVar(&o.limits.MostDocuments, "most-documents", 100_000, "documents that a tenant may have; 0: any number")
	f.Int64Var(&o.limits.MostBytes, "most-bytes", 1<<30, "bytes that a tenant may have; 0: any number")
	f.Int64Var(&o.limits.MostEmbedded, "most-embedded", 0, "tokens of a tenant's documents that the node embeds in a day; 0: any number")
	f.StringVar(&o.audit, "audit", "", "`FILE` that gets a line for each request: who read what, without texts; -: standard output")
	f.IntVar(&o.mostOpen, "most-open", 1000, "tenants that stay on the node when nobody asks for them")
	f.StringArrayVar(&o.upstreams, "upstream", nil, "`NAME=URL` of a model's server that clients reach below /proxy/NAME, with memory; $MEMCORE_UPSTREAM_KEY_NAME has a key for it; may be repeated")
	o.tokens.addFlags(f)
	cmd.AddCommand(tenantCommand(a, &o), keyCommand(a, &o))
	return cmd
}

// open opens the storage.
func (o serviceOptions) open() (logs func(path string) store.Changelog, all store.Objects, err error) {
	if o.storage.URI == "" {
		return nil, nil, kind.Usagef("--storage is missing: s3://bucket/prefix, or a folder")
	}
	if !strings.Contains(o.storage.URI, "://") {
		if o.storage.URI, err = filepath.Abs(o.storage.URI); err != nil {
			return nil, nil, err
		}
	}
	if logs, err = changelog.Below(o.storage); err != nil {
		return nil, nil, err
	}
	all, err = objects.Open(o.storage)
	return logs, all, err
}

// registry opens the tenants and keys, without a node.
func (o serviceOptions) registry() (*tenants.Registry, error) {
	_, all, err := o.open()
	if err != nil {
		return nil, err
	}
	return tenants.NewRegistry(all, o.freshness), nil
}

func runService(ctx context.Context, a *cli, o serviceOptions) error {
	if o.freshness < 100*time.Millisecond {
		return kind.Usagef("--freshness is %v, want at least 100ms", o.freshness)
	}
	upstreams, err := upstreamsOf(o.upstreams, a.Log)
	if err != nil {
		return err
	}
	tokens, err := o.tokens.verifier(ctx, a.Log)
	if err != nil {
		return err
	}
	logs, all, err := o.open()
	if err != nil {
		return err
	}
	if o.dir == "" {
		cache, err := userdir.Cache()
		if err != nil {
			return kind.Hint(err, "name a folder with --dir")
		}
		o.dir = filepath.Join(cache, "node")
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
	node, err := tenants.NewNode(tenants.Options{
		Open: logs, Objects: all, Registry: tenants.NewRegistry(all, o.freshness), Tokens: tokens, Dir: o.dir, Workspace: a.Workspace,
		Freshness: o.freshness, MostOpen: o.mostOpen, Limits: o.limits, Audit: audit, Traces: traces, Logger: a.Log,
	})
	if err != nil {
		return err
	}
	server := service.New(service.Options{Node: node, Memories: node.Memories(), Version: version(), Upstreams: upstreams,
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

func tenantCommand(a *cli, o *serviceOptions) *cobra.Command {
	cmd := &cobra.Command{Use: "tenant", Short: "List, create, change and delete the tenants of a service", Args: cobra.ArbitraryArgs, RunE: helpOrUnknown}
	cmd.AddCommand(&cobra.Command{
		Use: "list", Short: "List the tenants", Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := o.registry()
			if err != nil {
				return err
			}
			all := []tenants.Tenant{}
			for t, err := range r.Tenants(cmd.Context()) {
				if err != nil {
					return err
				}
				if a.json {
					all = append(all, t)
				} else if err := a.print(plain.Line("%s  since %s%s\n", t.Name, t.Created.Format(time.DateOnly), ownOf(t))); err != nil {
					return err
				}
			}
			if a.json {
				return a.printJSON(all)
			}
			return nil
		},
	}, &cobra.Command{
		Use: "create NAME", Short: "Create a tenant", Args: arguments(cobra.ExactArgs(1), "the name of a tenant"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := o.registry()
			if err != nil {
				return err
			}
			t, err := r.CreateTenant(cmd.Context(), operator, args[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(t)
			}
			return a.print(fmt.Sprintf("created %s; 'memcore-service key create --tenant %s --user NAME' makes a key\n", t.Name, t.Name))
		},
	}, setTenantCommand(a, o), deleteTenantCommand(a, o))
	return cmd
}

// operator names whoever changes the storage itself.
const operator = "operator"

func deleteTenantCommand(a *cli, o *serviceOptions) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "delete NAME", Short: "Delete a tenant with its keys, documents and history", Args: arguments(cobra.ExactArgs(1), "the name of a tenant"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				return kind.Hint(kind.Usagef("deleting %s cannot be undone", args[0]), "add --yes")
			}
			logs, all, err := o.open()
			if err != nil {
				return err
			}
			r := tenants.NewRegistry(all, o.freshness)
			_, err = r.RemoveTenant(cmd.Context(), operator, args[0])
			if err != nil && kind.Of(err) != kind.NotFound {
				return err
			}
			ids, errRemoved := r.Removed(cmd.Context(), args[0]) // also those of a deletion that was interrupted
			if errRemoved != nil || len(ids) == 0 {
				return cmp.Or(err, errRemoved)
			}
			select { // until then nodes may take the keys, and write
			case <-time.After(o.freshness):
			case <-cmd.Context().Done():
				return kind.Hint(fmt.Errorf("the keys of %s are revoked, but its documents are still in the storage: %w", args[0], cmd.Context().Err()), "delete it again")
			}
			for _, id := range ids {
				left, err := tenants.Delete(cmd.Context(), logs, all, id)
				if err != nil || left > 0 {
					return kind.Hint(errors.Join(err, fmt.Errorf("the keys of %s are revoked, but %s of it are still in the storage below tenants/%s", args[0], plain.Count(left, "object"), id)), "delete it again")
				}
			}
			return a.print(fmt.Sprintf("deleted %s: its keys, documents and history; no object of it is left\n", args[0]))
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "delete it")
	cmd.Flags().DurationVar(&o.freshness, "freshness", defaultFreshness, "that of the nodes: what is stored is removed once they no longer take the keys")
	return cmd
}

func keyCommand(a *cli, o *serviceOptions) *cobra.Command {
	var tenant string
	cmd := &cobra.Command{Use: "key", Short: "List, create and revoke the keys of a tenant", Args: cobra.ArbitraryArgs, RunE: helpOrUnknown}
	cmd.PersistentFlags().StringVar(&tenant, "tenant", "", "`NAME` of the tenant")
	cmd.AddCommand(&cobra.Command{
		Use: "list", Short: "List the keys", Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := o.registry()
			if err != nil {
				return err
			}
			if _, err := r.Tenant(cmd.Context(), tenant); err != nil {
				return err
			}
			all, err := r.Keys(cmd.Context(), tenant)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(all)
			}
			var b strings.Builder
			for _, k := range all {
				expires := "never"
				if !k.Expires.IsZero() {
					expires = k.Expires.Format(time.DateOnly)
				}
				fmt.Fprintln(&b, plain.Line("%s  user %s, %s, since %s, expires %s  %s", k.ID, plain.Member(k.User, k.Teams), k.Right, k.Created.Format(time.DateOnly), expires, k.Name))
			}
			return a.print(b.String())
		},
	}, createKeyCommand(a, o, &tenant), &cobra.Command{
		Use: "revoke ID", Short: "Revoke a key", Args: arguments(cobra.ExactArgs(1), "the ID of a key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := o.registry()
			if err != nil {
				return err
			}
			if err := r.RevokeKey(cmd.Context(), operator, tenant, args[0]); err != nil {
				return err
			}
			return a.print(fmt.Sprintf("revoked; no node takes it after --freshness (%v by default)\n", defaultFreshness))
		},
	})
	return cmd
}

func createKeyCommand(a *cli, o *serviceOptions, tenant *string) *cobra.Command {
	k := service.Key{}
	var right string
	var expires time.Duration
	cmd := &cobra.Command{
		Use: "create", Short: "Make a key and print it once", Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := o.registry()
			if err != nil {
				return err
			}
			k.Tenant, k.Right = *tenant, service.Right(right)
			if expires != 0 {
				k.Expires = time.Now().Add(expires).UTC().Truncate(time.Second)
			}
			made, err := r.CreateKey(cmd.Context(), operator, k)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(made)
			}
			a.note("key %s of %s in %s, right %s; it is shown only now", made.ID, plain.Member(made.User, made.Teams), made.Tenant, made.Right)
			return a.print(made.Secret + "\n")
		},
	}
	f := cmd.Flags()
	f.StringVar(&k.User, "user", "", "`NAME` of the user")
	f.StringSliceVar(&k.Teams, "team", nil, "`NAME` of a team whose memory the user shares; may be repeated")
	f.StringVar(&k.Name, "name", "", "`TEXT` that says what the key is for")
	f.StringVar(&right, "right", string(service.Write), "`RIGHT`: read, write or admin")
	f.DurationVar(&expires, "expires", 0, "`AGE` at which it expires, such as 720h; 0: never")
	return cmd
}
