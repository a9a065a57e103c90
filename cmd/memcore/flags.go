package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/kind"
)

// tokenOf reads the token of --http from the environment.
func tokenOf(variable string) (string, error) {
	if token := os.Getenv(variable); variable != "" && token != "" {
		return token, nil
	}
	return "", kind.Hint(kind.Usagef("--http needs a token, on loopback too: other users of this machine could ask otherwise"), "set a variable to one and name it with --token-env")
}

// listenOn requires a token beyond loopback.
func listenOn(ctx context.Context, address, token string) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	if at, ok := listener.Addr().(*net.TCPAddr); ok && !at.IP.IsLoopback() && token == "" {
		listener.Close()
		return nil, kind.Hint(kind.Usagef("%s can be reached from other machines: that needs a token", address), "set a variable to one and name it with --token-env")
	}
	return listener, nil
}

// queryFlags are the flags of search, retrieve and explain.
type queryFlags struct {
	limit  int
	narrow narrowFlags
}

func (q *queryFlags) add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&q.limit, "limit", 0, "`N` hits at most (default: as configured)")
	q.narrow.add(cmd.Flags())
}

func (q *queryFlags) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("limit") && q.limit < 1 {
		return kind.Usagef("--limit is %d, want at least 1", q.limit)
	}
	return q.narrow.check()
}

func retrieveRequest(a *cli, q queryFlags, text string) httpapi.RetrieveRequest {
	return httpapi.RetrieveRequest{Query: text, Path: a.TypedDocument(q.narrow.path), Kind: q.narrow.kind, Times: q.narrow.Times, Limit: q.limit}
}

// narrowFlags limit a query to a part of memory.
type narrowFlags struct {
	kind, path string
	httpapi.Times
}

func (n *narrowFlags) add(f *pflag.FlagSet) {
	f.StringVar(&n.Since, "since", "", "nothing older than `TIME`: a date, RFC 3339, 7d, or words such as \"last week\"")
	f.StringVar(&n.Until, "until", "", "nothing newer than `TIME`; a day is included")
	f.StringVar(&n.kind, "kind", "", "`KIND` to search: markdown, conversation, or document of a memory service (default: all)")
	f.StringVar(&n.path, "path", "", "document or folder `PATH` to search, as citations name it")
	f.StringVar(&n.Now, "now", "", "`TIME` that \"last week\" counts from (default: now)")
	_ = f.MarkHidden("now") // the flag exists
}

func (n narrowFlags) check() error {
	if n.kind != "" && !slices.Contains(source.Kinds, n.kind) {
		return kind.Usagef("--kind is %q, want %s", n.kind, strings.Join(source.Kinds, " or "))
	}
	if err := app.CheckTimes(n.Times); err != nil {
		return kind.Usagef("--%v", err)
	}
	return nil
}
