package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/proxy"
	"github.com/memcore/memcore/inject/turn"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
)

// proxyFlags are the flags of proxy.
type proxyFlags struct {
	upstream, tokenEnv string
	once               bool
	system             app.SystemFlags
	options            proxy.Options
}

func proxyCommand(a *cli) *cobra.Command {
	var p proxyFlags
	cmd := &cobra.Command{
		Use:   "proxy --upstream URL|--once",
		Short: "Pass requests on to a model's server, and add memory to chats",
		Long: `Run between a client and a model's server: OpenAI-compatible, Anthropic or Ollama. Give the client
the base URL that is printed. Chat requests get the memory block; everything else passes unchanged.
In a trusted folder, curated memory, the memory index and the session's overview go to the end of
the system message (--system).

X-Memcore-… headers of each answer, and a line of the log, say what was injected or why nothing was.
The client's keys go to the upstream only. See docs/proxy.md.

--once asks no server: it reads an OpenAI-style chat request, or an array of messages, from standard
input and prints it with memory. If there is nothing to add or memory fails, it prints it unchanged.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains([]string{app.SystemAuto, app.SystemOn, app.SystemOff}, p.system.When) {
				return kind.Usagef("--system is %q, want on, off or auto", p.system.When)
			}
			if p.once {
				return injectOnce(cmd.Context(), a, p)
			}
			return runProxy(cmd.Context(), a, p)
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.upstream, "upstream", "", "`URL` of the model's server, such as https://api.openai.com/v1 or http://127.0.0.1:11434")
	f.StringVar(&p.options.Listen, "listen", proxy.DefaultListen, "`ADDRESS` to listen on; beyond this machine only with --token-env")
	f.BoolVar(&p.once, "once", false, "add memory to one request: JSON on standard input, JSON on standard output")
	f.StringVar(&p.system.When, "system", app.SystemAuto, "`WHEN` curated memory, the memory index and the overview go into the system message: on, off, or auto (if the folder is trusted)")
	f.StringVar(&p.system.Session, "session", "", "`ID` of the session whose overview is given (default: the one used last that no agent made)")
	f.StringVar(&p.tokenEnv, "token-env", "", "`NAME` of the environment variable with a token that clients must send as X-Memcore-Token")
	return cmd
}

func runProxy(ctx context.Context, a *cli, p proxyFlags) error {
	if p.upstream == "" {
		return kind.Hint(kind.Usagef("--upstream is empty, want the URL of the model's server"), "for a local Ollama: memcore proxy --upstream http://127.0.0.1:11434")
	}
	if p.tokenEnv != "" {
		if p.options.Token = os.Getenv(p.tokenEnv); p.options.Token == "" {
			return kind.Usagef("--token-env is %s, which is not set", p.tokenEnv)
		}
	}
	a.logFrom(slog.LevelInfo)
	if a.quiet {
		a.logFrom(slog.LevelWarn)
	}
	p.options.Logger = a.Log
	p.options.Turn = turn.Options{Retrieve: a.RetrieveOptions(), Logger: a.Log}
	if !a.Settings.Enabled {
		a.note("nothing will be injected: %s", app.TurnedOff)
		server, err := newProxy(p, nil)
		if err != nil {
			return err
		}
		return serveProxy(ctx, a, server)
	}
	return a.WithService(ctx, func(s *app.Service) (err error) {
		if p.options.Turn.System, err = s.System(p.system); err != nil {
			return err
		}
		p.options.Turn.Retrieve.Explain, p.options.Turn.Record = true, s.RecordTurns("proxy", "chat request")
		if p.system.When == app.SystemAuto && !s.Trusted() {
			a.note("the folder is not trusted: system messages get nothing; 'memcore trust add' trusts it, --system on gives what needs no trust")
		}
		server, err := newProxy(p, s.Manager)
		if err != nil {
			return err
		}
		return afterWarmUp(ctx, maxWarmUp, func(ctx context.Context) {
			warmUp(ctx, a, s.Manager)
			if system := p.options.Turn.System; system != nil {
				_, _ = system(ctx) // requests report its errors
			}
		}, func(ctx context.Context) error { return serveProxy(ctx, a, server) })
	})
}

// afterWarmUp serves once memory is warm, or after longest.
func afterWarmUp(ctx context.Context, longest time.Duration, warmUp func(context.Context), serve func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	warm := make(chan struct{})
	go func() {
		defer close(warm)
		warmUp(ctx)
	}()
	defer func() { stop(); <-warm }()
	select {
	case <-warm:
	case <-time.After(longest):
	}
	return serve(ctx)
}

// maxWarmUp is how long clients wait. Later requests pass without memory.
const maxWarmUp = 2 * time.Second

// newProxy makes a proxy. Its errors are usage errors; m may be nil.
func newProxy(p proxyFlags, m *core.Manager) (server *proxy.Proxy, err error) {
	if m == nil {
		server, err = proxy.New(p.upstream, nil, p.options) // a nil *Manager would be a memory
	} else {
		server, err = proxy.New(p.upstream, m, p.options)
	}
	if errors.Is(err, proxy.ErrToken) {
		return nil, kind.Hint(kind.Usagef("--listen: %w", err), "put one into an environment variable and name it with --token-env; clients send it as X-Memcore-Token")
	}
	if err != nil {
		return nil, kind.Usagef("proxy: %w", err)
	}
	return server, nil
}

// warmUp loads what the first request needs, and reports problems.
func warmUp(ctx context.Context, a *cli, m *core.Manager) {
	result, err := m.Search(ctx, "memory", core.SearchOptions{Limit: 1, MinSimilarity: 1}) // without hits, which would count as use
	if err != nil && ctx.Err() == nil {
		a.note("memory does not answer, requests pass without it: %v", err)
	}
	a.noteResult(result)
}

// serveProxy listens, says where, and answers until ctx ends.
func serveProxy(ctx context.Context, a *cli, server *proxy.Proxy) error {
	listener, err := server.Listen()
	if err != nil {
		return err
	}
	at := listening{URL: "http://" + listener.Addr().String(), BaseURL: server.BaseURL(reachable(listener.Addr()))}
	if a.json {
		err = a.printJSON(at)
	} else {
		err = a.print("listening on " + at.URL + ", set your client's base URL to " + at.BaseURL + "\n")
	}
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	return server.Serve(ctx, listener)
}

// listening is the JSON of proxy.
type listening struct {
	// URL is for clients of Anthropic and Ollama.
	URL string `json:"url"`
	// BaseURL is for clients of OpenAI's API.
	BaseURL string `json:"baseURL"`
}

// reachable is the address for clients: for all interfaces, the host name.
func reachable(address net.Addr) string {
	tcp, ok := address.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return address.String()
	}
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	_, port, _ := net.SplitHostPort(address.String())
	return net.JoinHostPort(name, port)
}

// injectTimeout is how long --once waits for memory. A proxy's client waits less.
const injectTimeout = 10 * time.Second

// injectOnce adds memory to a chat request on standard input.
func injectOnce(ctx context.Context, a *cli, p proxyFlags) error {
	if p.upstream != "" {
		return kind.Usagef("--once asks no server, --upstream names one: which one?")
	}
	request, err := a.wholeText([]string{"-"})
	if err != nil {
		return err
	}
	if !a.Settings.Enabled {
		a.note("nothing was injected: %s", app.TurnedOff)
		return a.printRequest(request)
	}
	a.logFrom(slog.LevelWarn) // a failure of memory is a warning here
	return a.WithService(ctx, func(s *app.Service) error {
		standing, err := s.System(p.system)
		if err != nil {
			return err
		}
		with, report, err := turn.JSON(ctx, s.Manager, []byte(request), turn.Options{Retrieve: a.RetrieveOptions(), Timeout: injectTimeout, System: standing, Logger: a.Log})
		if err != nil {
			return kind.Usagef("proxy --once: %w", err)
		}
		a.noteResult(core.Result{State: report.State, Degraded: report.Degraded, Stale: report.Stale})
		if report.System > 0 {
			a.note("the system message got %s of memory", plain.Count(report.System, "character"))
		}
		if report.Reason != "" {
			a.note("nothing was injected before the user's message: %s", report.Reason)
		}
		return a.printRequest(string(with))
	})
}
