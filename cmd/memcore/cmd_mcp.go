package main

import (
	"context"
	"log/slog"
	"sync"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/inject/mcp"
	"github.com/memcore/memcore/internal/app"
)

func mcpCommand(a *cli) *cobra.Command {
	var address, tokenEnv string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve memory by the Model Context Protocol, over standard input and output or HTTP",
		Long: `Serve the memory of the workspace to an MCP client: tools to search, recall, save and forget, memory
files as resources, and prompts. Agents start this command; 'memcore init' configures them. It ends
with its input.

With --http it serves streamable HTTP at /mcp and requires the bearer token that --token-env names.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			token := ""
			if address != "" {
				var err error
				if token, err = tokenOf(tokenEnv); err != nil {
					return err
				}
			}
			a.logFrom(slog.LevelWarn)
			return a.WithService(cmd.Context(), func(s *app.Service) error { return serveMCP(cmd.Context(), a, s, address, token) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&address, "http", "", "`ADDRESS` to listen on, such as 127.0.0.1:7472, instead of standard input and output")
	f.StringVar(&tokenEnv, "token-env", "", "`NAME` of the environment variable that holds the bearer token")
	return cmd
}

func serveMCP(ctx context.Context, a *cli, s *app.Service, address, token string) error {
	ctx, stop := context.WithCancel(ctx)
	var first sync.WaitGroup
	first.Go(func() { s.IndexOnce(ctx) })
	defer first.Wait()
	defer stop()
	memory, err := s.MCP()
	if err != nil {
		return err
	}
	server := mcp.New(memory, mcp.Options{Version: version(), Logger: a.Log})
	if address == "" {
		if isTerminal(a.stdout) {
			a.note("this is a server for agents; it reads the Model Context Protocol from standard input. End it with Ctrl-D")
		}
		return server.ServeStdio(ctx, a.stdin, a.stdout.raw)
	}
	listener, err := listenOn(ctx, address, token)
	if err != nil {
		return err
	}
	a.note("serving MCP at http://%s/mcp", listener.Addr())
	return server.ServeHTTP(ctx, listener, token)
}
