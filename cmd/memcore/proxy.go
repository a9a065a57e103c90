package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/proxy"
	"github.com/memcore/memcore/inject/turn"
)

// proxyFlags are those of proxy.
type proxyFlags struct {
	upstream, tokenEnv string
	options            proxy.Options
}

func proxyCommand(a *app) *cobra.Command {
	var p proxyFlags
	cmd := &cobra.Command{
		Use:   "proxy --upstream URL",
		Short: "Pass requests on to a model's server and add memory to those of chats",
		Long: `Stand between a client and a model's server: OpenAI-compatible, Anthropic or Ollama. Chat requests get the memory block on their way;
everything else passes as it is. Give the client the base URL that is printed. Headers X-Memcore-… of each answer say what was injected,
or why nothing was; a line of the log does, too. Keys are the client's and go to the upstream only. See docs/proxy.md.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.proxy(cmd.Context(), p) },
	}
	f := cmd.Flags()
	f.StringVar(&p.upstream, "upstream", "", "`URL` of the model's server, such as https://api.openai.com/v1 or http://127.0.0.1:11434")
	f.StringVar(&p.options.Listen, "listen", proxy.DefaultListen, "`ADDRESS` to listen on; beyond this machine only with --token-env")
	f.BoolVar(&p.options.DryRun, "dry-run", false, "inject nothing, but say in the headers what would be")
	f.StringVar(&p.tokenEnv, "token-env", "", "`NAME` of the environment variable with a token that clients have to send as X-Memcore-Token")
	return cmd
}

func (a *app) proxy(ctx context.Context, p proxyFlags) error {
	if p.upstream == "" {
		return &hintError{usagef("--upstream is empty, want the URL of the model's server"), "for a local Ollama: memcore proxy --upstream http://127.0.0.1:11434"}
	}
	if p.tokenEnv != "" {
		if p.options.Token = os.Getenv(p.tokenEnv); p.options.Token == "" {
			return usagef("--token-env is %s, which is not set", p.tokenEnv)
		}
	}
	a.logFrom(slog.LevelInfo)
	if a.flags.quiet {
		a.logFrom(slog.LevelWarn)
	}
	p.options.Logger = a.log
	p.options.Turn = turn.Options{Retrieve: a.retrieveOptions(queryFlags{}), Logger: a.log}
	if !a.settings.Enabled {
		a.note("nothing will be injected: %s", turnedOff)
		server, err := newProxy(p, nil)
		if err != nil {
			return err
		}
		return a.serve(ctx, server)
	}
	return a.withMemory(ctx, func(m *core.Manager) error {
		server, err := newProxy(p, m)
		if err != nil {
			return err
		}
		return afterWarmUp(ctx, longestWarmUp, func(ctx context.Context) { a.warmUp(ctx, m) }, func(ctx context.Context) error { return a.serve(ctx, server) })
	})
}

// afterWarmUp serves once memory is warm, or after a while: then it gets warm meanwhile, and requests pass without it.
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

// longestWarmUp is how long clients of a proxy that begins have to wait for it: much may have changed since it was indexed.
const longestWarmUp = 2 * time.Second

// newProxy takes errors for mistakes in flags, which are all that it has.
func newProxy(p proxyFlags, m *core.Manager) (server *proxy.Proxy, err error) {
	if m == nil {
		server, err = proxy.New(p.upstream, nil, p.options) // not a nil *Manager, which is a memory
	} else {
		server, err = proxy.New(p.upstream, m, p.options)
	}
	if errors.Is(err, proxy.ErrToken) {
		return nil, &hintError{usagef("--listen: %w", err), "put one into an environment variable and name it with --token-env; clients send it as X-Memcore-Token"}
	}
	if err != nil {
		return nil, usagef("proxy: %w", err)
	}
	return server, nil
}

// warmUp loads what the first question needs, for which its turn has not the time, and says whether there is anything to be found.
func (a *app) warmUp(ctx context.Context, m *core.Manager) {
	result, err := m.Search(ctx, "memory", core.SearchOptions{Limit: 1, MinSimilarity: 1}) // no hit: none that would count as use
	if err != nil && ctx.Err() == nil {
		a.note("memory does not answer, requests pass without it: %v", err)
	}
	a.notes(result)
}

// serve listens, says where, and answers until ctx ends.
func (a *app) serve(ctx context.Context, server *proxy.Proxy) error {
	listener, err := server.Listen()
	if err != nil {
		return err
	}
	at := listening{URL: "http://" + listener.Addr().String(), BaseURL: server.BaseURL(reachable(listener.Addr()))}
	if a.flags.json {
		err = a.printJSON(at)
	} else {
		err = a.print("listening on " + at.URL + ", set your client's base URL to " + at.BaseURL + "\n")
	}
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	return server.Serve(ctx, listener)
}

// listening is what proxy prints as JSON.
type listening struct {
	// URL is the address; clients of Anthropic or Ollama use it as it is.
	URL string `json:"url"`
	// BaseURL is what clients of OpenAI's kind are told to use.
	BaseURL string `json:"baseURL"`
}

// reachable is an address for clients: one that stands for all of this machine's is none, so it becomes this machine's name.
func reachable(address net.Addr) string {
	tcp, ok := address.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return address.String()
	}
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	_, port, _ := net.SplitHostPort(address.String()) // it is one
	return net.JoinHostPort(name, port)
}
