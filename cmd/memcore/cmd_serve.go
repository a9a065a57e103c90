package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/inject/daemon"
	"github.com/memcore/memcore/inject/daemon/address"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/view"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
)

// serveOptions are the flags of the daemon.
type serveOptions struct {
	address, tokenEnv string
	onDemand          bool
	open              string // folder of a workspace; "" for none
}

func serveCommand(a *cli) *cobra.Command {
	var o serveOptions
	var stop, status bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon, which keeps the memories of all workspaces open and fresh",
		Long: `Run the daemon in the foreground. It keeps memories open, follows their files, and answers hooks and
queries faster over a private socket. Everything works without it. Hooks start it
(memory.daemon.start), and it ends after memory.daemon.idle without a request. Only one runs at a
time; a newer release replaces it.

It serves an HTTP API with JSON, which GET /v1/openapi.json describes. --http also listens on TCP,
with the token that --token-env names.`,
		Args: arguments(cobra.NoArgs, "none"),
		// --stop and --status work even if the configuration is wrong.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case stop:
				ran, err := stopDaemon(cmd.Context())
				if err != nil {
					return err
				}
				if !ran {
					a.note("no daemon is running")
					return nil
				}
				return a.print("stopped\n")
			case status:
				return daemonStatus(cmd.Context(), a)
			}
			if err := a.prepareAndNote(cmd); err != nil {
				return err
			}
			return serveDaemon(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.address, "http", "", "`ADDRESS` to listen on as well, such as 127.0.0.1:7473")
	f.StringVar(&o.tokenEnv, "token-env", "", "`NAME` of the environment variable that holds the token for --http")
	f.BoolVar(&o.onDemand, "on-demand", false, "end when idle, and log to a file")
	f.StringVar(&o.open, "open", "", "open the workspace of `DIR` for its next hook")
	// Hooks start the daemon with these.
	_, _ = f.MarkHidden("on-demand"), f.MarkHidden("open")
	f.BoolVar(&stop, "stop", false, "end the running daemon")
	f.BoolVar(&status, "status", false, "describe the running daemon")
	return cmd
}

const (
	// maxLog limits a log file, in bytes.
	maxLog = 1 << 20
	// memoryLimit is what the daemon tries to stay below, in bytes.
	memoryLimit = 512 << 20
)

func serveDaemon(ctx context.Context, a *cli, o serveOptions) error {
	if name := a.Override(); name != "" {
		return kind.Hint(kind.Usagef("the daemon serves all workspaces with their own configuration; %s would be imposed on all of them", name), "put it into ~/.beans/config.yaml")
	}
	at, err := app.DaemonPlace()
	if err != nil {
		return err
	}
	level := slog.LevelInfo
	if a.verbose {
		level = slog.LevelDebug
	}
	a.Log = slog.New(slog.NewJSONHandler(a.stderr.json(), &slog.HandlerOptions{Level: level}))
	if o.onDemand {
		file, err := at.Log(maxLog)
		if err != nil {
			return err
		}
		defer file.Close()
		a.Log = slog.New(slog.NewJSONHandler(file, nil))
	}
	debug.SetMemoryLimit(memoryLimit)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var site *view.Site
	server := httpapi.New(httpapi.Options{Version: version(), Logger: a.Log,
		View: func(folder string) (httpapi.ViewReply, error) { return site.Link(folder) },
		Open: func(ctx context.Context, folder string) (httpapi.Workspace, error) {
			w, err := a.In(folder)
			if err != nil {
				return nil, err
			}
			return w.Open(ctx)
		},
		WorkspaceOf: func(folder string) (string, error) {
			return projectAt(a, folder)
		},
		Opened: isOpened}, stop)
	defer server.Close()
	site = view.NewSite(view.New(viewed{server}, version()))
	defer func() {
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		site.Close(ctx)
	}()
	go staySmall(ctx, a, server)
	if o.open != "" {
		folder, err := filepath.Abs(o.open)
		if err != nil {
			return err
		}
		if folder, err = projectAt(a, folder); err != nil {
			return err
		}
		go func() { // before anybody asks for it
			if err := server.Use(ctx, folder, func(httpapi.Workspace) error { return nil }); err != nil {
				a.Log.Warn("the workspace was not opened", "workspace", folder, "error", err)
			}
		}()
	}
	return runDaemon(ctx, a, o, at, server)
}

// projectAt returns the folder of the project around a folder.
func projectAt(a *cli, folder string) (string, error) {
	there := &config.Config{Cwd: folder}
	err := there.Locate()
	return there.Project, err
}

// isOpened reports whether the state knows a project: it is noted when a command, a hook or an MCP
// client of this machine opens its memory.
func isOpened(project string) bool {
	at, err := (&config.Config{Project: project}).Folders()
	if err != nil {
		return false
	}
	_, err = os.Stat(at.WorkspacePath())
	return err == nil
}

// viewed are the workspaces of the daemon, for the pages of memcore view.
type viewed struct{ *httpapi.Server }

// Use implements view.Memories.
func (v viewed) Use(ctx context.Context, folder string, do func(view.Memory) error) error {
	return v.Server.Use(ctx, folder, func(ws httpapi.Workspace) error { return do(ws.(*app.Service).Page()) }) // Options.Open opened it
}

// runDaemon listens, says where, and answers until ctx ends.
func runDaemon(ctx context.Context, a *cli, o serveOptions, at daemon.Place, server *httpapi.Server) error {
	run := daemon.Options{LastUsed: server.LastUsed, Busy: server.Busy, Ending: server.EndStreams, Ended: server.Close, Logger: a.Log}
	if o.onDemand {
		run.Idle = a.Settings.Daemon.Idle
	}
	var addresses []string
	if o.address != "" {
		token, err := tokenOf(o.tokenEnv)
		if err != nil {
			return err
		}
		listener, err := listenOn(ctx, o.address, token)
		if err != nil {
			return err
		}
		defer listener.Close()
		run.More = map[net.Listener]http.Handler{listener: server.Remote(token)}
		addresses = append(addresses, fmt.Sprintf("listening at http://%s", listener.Addr()))
	}
	if !o.onDemand {
		addresses = append(addresses, fmt.Sprintf("listening at %s; Ctrl-C ends it", at.Socket()))
	}
	run.Listening = func() {
		for _, text := range addresses {
			a.note("%s", text)
		}
	}
	err := at.Run(ctx, server.Handler(), run)
	if errors.Is(err, daemon.ErrRunning) {
		if o.onDemand {
			return nil // another was faster
		}
		return kind.Hint(err, "'memcore serve --status' says which, '--stop' ends it")
	}
	return err
}

// staySmall closes idle workspaces when the process nears its memory limit.
func staySmall(ctx context.Context, a *cli, server *httpapi.Server) {
	ticker := time.NewTicker(10 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if h := server.Health(); h.Memory > h.MemoryMost*9/10 {
				a.Log.Warn("much memory is used; idle workspaces are closed", "bytes", h.Memory, "limit", h.MemoryMost)
				server.Shrink()
				debug.FreeOSMemory()
			}
		}
	}
}

// stopDaemon ends the daemon, and reports whether one ran.
func stopDaemon(ctx context.Context) (ran bool, err error) {
	at, err := app.DaemonPlace()
	if err != nil {
		return false, err
	}
	ctx, stop := context.WithTimeout(ctx, 5*app.DaemonWait)
	defer stop()
	err = at.Stop(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return true, kind.Hint(errors.New("the daemon does not answer"), "end its process: its id is that of 'memcore serve' in the system's list of processes")
	}
	if errors.Is(err, daemon.ErrAway) {
		return false, nil
	}
	if err != nil {
		return true, fmt.Errorf("stop the daemon: %w", err)
	}
	return true, nil
}

func daemonStatus(ctx context.Context, a *cli) error {
	at, err := app.DaemonPlace()
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, app.DaemonWait)
	defer stop()
	var h httpapi.Health
	if _, err := at.Call(ctx, http.MethodGet, "/v1/health", nil, &h); errors.Is(err, daemon.ErrAway) && !errors.Is(err, address.ErrFolder) {
		a.note("no daemon is running; hooks start one, and 'memcore serve' runs one here")
		return nil
	} else if errors.Is(err, context.DeadlineExceeded) {
		return kind.Hint(errors.New("the daemon does not answer"), "'memcore serve --stop' tries to end it; hooks and queries do without")
	} else if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(h)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "memcore %s, process %d, since %s\n%s, %d of %d MB of memory\n%s\n", h.Version, h.PID, h.Started.Local().Format(time.DateTime), plain.Count(int(h.Requests), "request"), h.Memory>>20, h.MemoryMost>>20, plain.Line("socket %s", at.Socket()))
	for _, w := range h.Open {
		state := "watched"
		if !w.Watching {
			state = "not watched"
		}
		if w.Problem != "" {
			state += ": " + plain.OneLine(w.Problem)
		}
		fmt.Fprintln(&b, plain.Line("open: %s (%s, %s)", w.Workspace, plain.Count(int(w.Requests), "request"), state))
	}
	return a.print(b.String())
}
