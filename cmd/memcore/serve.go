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
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/inject/daemon"
	"github.com/memcore/memcore/inject/httpapi"
)

func serveCommand(a *app) *cobra.Command {
	var address, tokenEnv string
	var onDemand, stop, status bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon: the memories of all workspaces, kept open and fresh",
		Long: `Run the daemon in the foreground: an HTTP API with JSON (GET /v1/openapi.json describes it) on a socket of yours. It keeps the memories that are used open, follows
their files, and makes hooks and queries faster; all of them work without it. Hooks start it by themselves (memory.daemon.start), and it ends when nobody
has asked for memory.daemon.idle. You have one at most; one of a newer release takes its place.

--http also listens on TCP, with the token that --token-env names. --status says how the one that runs is, --stop ends it.`,
		Args: arguments(cobra.NoArgs, "none"),
		// A daemon can be ended, whatever the configuration says by now.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case stop:
				return a.stopDaemon(cmd.Context())
			case status:
				return a.daemonStatus(cmd.Context())
			}
			if err := a.prepare(); err != nil {
				return err
			}
			return a.serveDaemon(cmd.Context(), address, tokenEnv, onDemand)
		},
	}
	f := cmd.Flags()
	f.StringVar(&address, "http", "", "`ADDRESS` to listen on as well, such as 127.0.0.1:7473")
	f.StringVar(&tokenEnv, "token-env", "", "`NAME` of the environment variable that holds the token for --http")
	f.BoolVar(&onDemand, "on-demand", false, "end when nobody asks any more, and log to a file")
	f.BoolVar(&stop, "stop", false, "end the daemon that runs")
	f.BoolVar(&status, "status", false, "say how the daemon is")
	return cmd
}

// daemonPlace is where the daemon of this user is found, whatever the workspace.
func (a *app) daemonPlace() (daemon.Place, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return daemon.Place{}, &hintError{fmt.Errorf("no folder for the daemon: %w", err), "set HOME"}
	}
	return daemon.At(filepath.Join(cache, "memcore", "run")), nil
}

// daemonFits tells whether the daemon would do what this process does: it knows the files of configuration, but neither the flags nor the environment of
// whoever asks.
func (a *app) daemonFits() bool {
	return a.oneWay() == ""
}

// oneWay names a flag or a variable that makes this process another than one that knows the files of configuration only; "" if there is none.
func (a *app) oneWay() string {
	for name, value := range map[string]string{"--config": a.flags.config, "--index-dir": a.flags.indexDir, "--engine": a.flags.engine} {
		if value != "" {
			return name
		}
	}
	for _, s := range knownSettings {
		if os.Getenv(s.environment()) != "" && s.key != "hook.budget" && !strings.HasPrefix(s.key, "daemon.") {
			return s.environment()
		}
	}
	return ""
}

// target names the workspace to the daemon.
func (a *app) target() httpapi.Target { return httpapi.Target{Workspace: a.project} }

// askDaemon lets the daemon answer, if one runs that would answer what this process does. If it is false, this process has to.
func (a *app) askDaemon(ctx context.Context, path string, in, out any) bool {
	if !a.daemonFits() {
		return false
	}
	at, err := a.daemonPlace()
	if err != nil {
		return false
	}
	ctx, stop := context.WithTimeout(ctx, daemonWait)
	defer stop()
	_, err = at.Call(ctx, http.MethodPost, path, in, out)
	return err == nil
}

// daemonWait is how long a command waits for the daemon before it does the work itself, or says that it does not answer.
const daemonWait = 3 * time.Second

// starter starts this program as the daemon. It lives longer than who starts it, and serves other workspaces as well: of the environment it gets what the system
// and the configured servers need.
func (a *app) starter() (daemon.Starter, error) {
	binary, err := os.Executable()
	s := daemon.Starter{Binary: binary, Args: []string{"serve", "--on-demand"}, Version: version(), Env: []string{}}
	wanted := []string{a.settings.OpenAI.APIKeyEnv, a.settings.Rerank.APIKeyEnv, a.settings.Reflect.APIKeyEnv}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if ofSystem().MatchString(name) || slices.Contains(wanted, name) || a.settings.Shared.URI != "" && strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "OTEL_") {
			s.Env = append(s.Env, variable)
		}
	}
	return s, err
}

// ofSystem are variables that say where things are on this machine.
var ofSystem = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(HOME|USER|LOGNAME|PATH|SHELL|LANG|LC_.*|TZ|TMPDIR|TEMP|TMP|XDG_.*|SSL_CERT_.*|(https?|no|all)_proxy|SYSTEMROOT|USERPROFILE|(LOCAL)?APPDATA|HOMEDRIVE|HOMEPATH|GOMAXPROCS|MEMCORE_DAEMON_.*)$`)
})

func (a *app) startDaemon(ctx context.Context) error {
	if !a.daemonFits() {
		return nil
	}
	at, err := a.daemonPlace()
	if err != nil {
		return err
	}
	s, err := a.starter()
	if err != nil {
		return err
	}
	return at.Start(ctx, s)
}

// replaceDaemon puts this release in the place of an older one.
func (a *app) replaceDaemon(ctx context.Context, running string) error {
	at, err := a.daemonPlace()
	if err != nil {
		return err
	}
	if !daemon.IsNewer(version(), running) {
		return nil
	}
	if err := a.prepare(); err != nil {
		return err
	}
	s, err := a.starter()
	if err != nil {
		return err
	}
	return at.Replace(ctx, running, s)
}

// mostLog is the size of the log of a daemon from which on the next one begins anew, in bytes.
const mostLog = 1 << 20

func (a *app) serveDaemon(ctx context.Context, address, tokenEnv string, onDemand bool) error {
	if name := a.oneWay(); name != "" {
		return &hintError{usagef("the daemon serves all workspaces with their own configuration; %s would be imposed on all of them", name), "put it into ~/.beans/config.yaml"}
	}
	at, err := a.daemonPlace()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(a.stderr, &slog.HandlerOptions{Level: level(a.flags.verbose)}))
	if onDemand {
		file, err := at.Log(mostLog)
		if err != nil {
			return err
		}
		defer file.Close()
		log = slog.New(slog.NewJSONHandler(file, nil))
	}
	a.log = log
	debug.SetMemoryLimit(int64(a.settings.Daemon.Memory) << 20)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	options := httpapi.Options{Version: version(), Logger: log, Open: func(ctx context.Context, folder string) (httpapi.Workspace, error) { return a.openService(ctx, folder) },
		Project: func(folder string) (string, error) { return a.projectOf(folder) }}
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")+os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" {
		traces, end, err := httpapi.Traces(ctx, version())
		if err != nil {
			return err
		}
		defer func() {
			last, stop := context.WithTimeout(context.Background(), 2*time.Second)
			defer stop()
			if err := end(last); err != nil {
				log.Warn("traces were not sent", "error", err)
			}
		}()
		options.Traces = traces
	}
	server := httpapi.New(options, stop)
	defer server.Close()
	o := daemon.Options{LastUsed: server.LastUsed, Busy: server.Busy, Ending: server.EndStreams, Ended: server.Close, Logger: log}
	if onDemand {
		o.Idle = a.settings.Daemon.Idle
	}
	if address != "" {
		token := os.Getenv(tokenEnv)
		if tokenEnv == "" || token == "" {
			return &hintError{usagef("--http takes a token, on loopback too: other users of this machine could ask otherwise"), "set a variable to one and name it with --token-env"}
		}
		listener, err := listenOn(ctx, address, token)
		if err != nil {
			return err
		}
		defer listener.Close()
		o.More = map[net.Listener]http.Handler{listener: server.Remote(token)}
		tcp := listener.Addr()
		o.Listening = func() { a.note("listening at http://%s", tcp) }
	}
	if also := o.Listening; !onDemand {
		o.Listening = func() {
			if also != nil {
				also()
			}
			a.note("listening at %s; Ctrl-C ends it", at.Socket())
		}
	}
	go a.staySmall(ctx, server)
	err = at.Run(ctx, server.Handler(), o)
	if errors.Is(err, daemon.ErrRunning) && onDemand {
		return nil // another was faster
	}
	if errors.Is(err, daemon.ErrRunning) {
		return &hintError{err, "'memcore serve --status' says which, '--stop' ends it"}
	}
	return err
}

func level(verbose bool) slog.Level {
	if verbose {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// projectOf is the folder of the workspace that a folder is in.
func (a *app) projectOf(folder string) (string, error) {
	other := &app{home: a.home, cwd: folder}
	return other.findProject()
}

// staySmall closes what nobody is using when the process holds nearly as much memory as it may.
func (a *app) staySmall(ctx context.Context, server *httpapi.Server) {
	ticker := time.NewTicker(10 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if h := server.Health(); h.Memory > h.MemoryMost*9/10 {
				a.log.Warn("much memory is used; workspaces that nobody is asking are closed", "bytes", h.Memory, "limit", h.MemoryMost)
				server.Shrink()
				debug.FreeOSMemory()
			}
		}
	}
}

func (a *app) stopDaemon(ctx context.Context) error {
	at, err := a.daemonPlace()
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, 5*daemonWait)
	defer stop()
	err = at.Stop(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return &hintError{errors.New("the daemon does not answer"), "end its process: its id is that of 'memcore serve' in the system's list of processes"}
	}
	if errors.Is(err, daemon.ErrAway) {
		a.note("no daemon is running")
		return nil
	}
	if err != nil {
		return fmt.Errorf("stop the daemon: %w", err)
	}
	return a.print("stopped\n")
}

func (a *app) daemonStatus(ctx context.Context) error {
	at, err := a.daemonPlace()
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, daemonWait)
	defer stop()
	var h httpapi.Health
	if _, err := at.Call(ctx, http.MethodGet, "/v1/health", nil, &h); errors.Is(err, daemon.ErrAway) {
		a.note("no daemon is running; hooks start one, and 'memcore serve' runs one here")
		return nil
	} else if errors.Is(err, context.DeadlineExceeded) {
		return &hintError{errors.New("the daemon does not answer"), "'memcore serve --stop' tries to end it; hooks and queries do without"}
	} else if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(h)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "memcore %s, process %d, since %s\n%s, %d of %d MB of memory\nsocket %s\n", h.Version, h.PID, h.Started.Local().Format(time.DateTime), count(int(h.Requests), "request"), h.Memory>>20, h.MemoryMost>>20, at.Socket())
	for _, w := range h.Open {
		state := "watched"
		if !w.Watching {
			state = "not watched"
		}
		if w.Problem != "" {
			state += ": " + oneLine(w.Problem)
		}
		fmt.Fprintf(&b, "open: %s (%s, %s)\n", w.Workspace, count(int(w.Requests), "request"), state)
	}
	return a.print(b.String())
}
