package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cli/browser"
	"github.com/spf13/cobra"

	"github.com/memcore/memcore/inject/daemon"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/kind"
)

func viewCommand(a *cli) *cobra.Command {
	var link bool
	cmd := &cobra.Command{
		Use:   "view",
		Short: "Show in a browser what is remembered, what was given and why",
		Long: `Open a page in the browser that shows what this workspace remembers, what agents got and why. The
daemon serves it on this machine only. The link works once and for two minutes.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return openView(cmd.Context(), a, link)
		},
	}
	cmd.Flags().BoolVar(&link, "link", false, "print the link instead of opening the browser")
	return cmd
}

// openView opens the browser. If it cannot, it prints the link.
func openView(ctx context.Context, a *cli, link bool) error {
	reply, err := viewLink(ctx, a)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(reply)
	}
	if !link {
		browser.Stdout, browser.Stderr = io.Discard, io.Discard
		if browser.OpenURL(reply.URL) == nil {
			a.note("opened in your browser; 'memcore view --link' prints the link")
			return nil
		}
		a.note("no browser could be opened; open this link within two minutes:")
	}
	return a.print(reply.URL + "\n")
}

// daemonStarts bounds how long a command waits for a daemon that it starts.
const daemonStarts = 10 * time.Second

// viewLink asks the daemon for a link, and starts it if need be.
func viewLink(ctx context.Context, a *cli) (reply httpapi.ViewReply, err error) {
	if name := a.Override(); name != "" {
		return reply, kind.Usagef("view: the daemon serves the page, with the configuration files' settings, not with %s", name)
	}
	place, err := app.DaemonPlace()
	if err != nil {
		return reply, err
	}
	ask := func() error {
		_, err := place.Call(ctx, "POST", "/v1/view", httpapi.Target{Workspace: a.Project}, &reply)
		return err
	}
	if err = ask(); !errors.Is(err, daemon.ErrAway) {
		return reply, err
	}
	if err := startDaemon(ctx, a.Workspace); err != nil {
		return reply, fmt.Errorf("start the daemon: %w", err)
	}
	for end := time.Now().Add(daemonStarts); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return reply, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		if err = ask(); !errors.Is(err, daemon.ErrAway) {
			return reply, err
		}
	}
	return reply, kind.Hint(fmt.Errorf("the daemon did not start within %s: %w", daemonStarts, err), "'memcore serve' shows why")
}
