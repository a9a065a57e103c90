package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
)

// values returns the values of a flag or argument, for completion.
type values func(ctx context.Context, a *cli, typed string) ([]string, error)

func fixed(all ...string) values {
	return func(context.Context, *cli, string) ([]string, error) { return all, nil }
}

// flagValues returns the values of flags, by "COMMAND FLAG", or "FLAG" for all other commands.
func flagValues() map[string]values {
	return map[string]values{
		"agent":           fixed(setup.Names()...),
		"engine":          fixed(append([]string{config.EngineAuto}, app.EngineNames()...)...),
		"kind":            fixed(source.Kinds...),
		"scope":           fixed(core.ScopeProject, core.ScopeGlobal),
		"system":          fixed(app.SystemAuto, app.SystemOn, app.SystemOff),
		"role":            fixed("user", "assistant", "system", "tool"),
		"target":          fixed(notes.TargetProject, notes.TargetGlobal),
		"session":         sessionIDs,
		"search path":     documentIDs,
		"retrieve path":   documentIDs,
		"explain path":    documentIDs,
		"source":          documentIDs,
		"pending accept":  proposalIDs,
		"pending decline": proposalIDs,
	}
}

// argumentValues returns the values of a command's first argument; of all, if it takes several.
func argumentValues() map[string]values {
	return map[string]values{"hook": fixed(agents.Names()...), "forget": documentIDs, "tool": toolNames, "session show": sessionIDs, "session reflect": sessionIDs, "session delete": sessionIDs}
}

// completeValues makes shells offer values in a command and those below it.
func completeValues(a *cli, cmd *cobra.Command, flags, arguments map[string]values) {
	for _, child := range cmd.Commands() {
		completeValues(a, child, flags, arguments)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		offer := flags[cmd.Name()+" "+f.Name]
		if offer == nil {
			offer = flags[f.Name]
		}
		if offer == nil || f.Value.Type() == "bool" {
			return
		}
		err := cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return offered(cmd, a, offer, typed)
		})
		if err != nil {
			panic(err) // the flag exists, and has none yet
		}
	})
	offer := arguments[cmd.Name()]
	if cmd.HasParent() && offer == nil {
		offer = arguments[cmd.Parent().Name()+" "+cmd.Name()]
	}
	if offer != nil {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 && !strings.HasSuffix(cmd.Use, "…") {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return offered(cmd, a, offer, typed)
		}
	}
}

// offered returns the values that continue what is typed. It is silent if they are unknown.
func offered(cmd *cobra.Command, a *cli, offer values, typed string) ([]string, cobra.ShellCompDirective) {
	a.quiet = true
	if err := a.prepare(); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	all, err := offer(ctx, a, typed)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var fitting []string
	for _, value := range all {
		if strings.HasPrefix(value, typed) && !strings.ContainsAny(value, "\t\r\n") {
			fitting = append(fitting, value)
		}
	}
	return fitting, cobra.ShellCompDirectiveNoFileComp
}

// completes reports whether a command completes what is typed in a shell, or prints how.
func completes(cmd *cobra.Command) bool {
	name := cmd.Name()
	if parent := cmd.Parent(); parent != nil && parent.Name() == "completion" {
		return true
	}
	return name == cobra.ShellCompRequestCmd || name == cobra.ShellCompNoDescRequestCmd || name == "completion"
}

func sessionIDs(_ context.Context, a *cli, _ string) ([]string, error) {
	return session.List(a.SessionsDir())
}

// documentIDs are the paths of indexed documents, as citations name them.
func documentIDs(ctx context.Context, a *cli, typed string) (paths []string, err error) {
	err = a.Index().With(ctx, func(m *core.Manager) error {
		some, _, err := m.Documents(ctx, core.DocumentsOptions{Find: typed, Limit: mostOffered})
		for _, d := range some {
			paths = append(paths, d.Path)
		}
		return err
	})
	return paths, err
}

// mostOffered bounds the documents that a shell offers.
const mostOffered = 1000

func proposalIDs(_ context.Context, a *cli, _ string) ([]string, error) {
	waiting, err := a.Notes().Proposals().Waiting()
	ids := []string{"all"}
	for _, p := range waiting {
		ids = append(ids, p.ID)
	}
	return ids, err
}

func toolNames(_ context.Context, a *cli, _ string) (names []string, err error) {
	all, err := app.TerminalTools(a.Workspace, nil)
	for _, tool := range all {
		names = append(names, tool.Name)
	}
	return names, err
}
