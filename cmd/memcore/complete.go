package main

import (
	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
)

// completeValues makes shells offer the values of flags and arguments, in a command and those below
// it.
func completeValues(a *cli, cmd *cobra.Command) {
	fixed := func(all ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp)
	}
	sessions := func(*cobra.Command, []string, string) (ids []string, _ cobra.ShellCompDirective) {
		a.quiet = true // a shell shows no notes
		if a.prepare() == nil {
			ids, _ = session.List(a.SessionsDir())
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
	flags := map[string]cobra.CompletionFunc{
		"agent":   fixed(setup.Names()...),
		"engine":  fixed(append([]string{config.EngineAuto}, app.EngineNames()...)...),
		"kind":    fixed(source.Kinds...),
		"scope":   fixed(core.ScopeProject, core.ScopeGlobal),
		"system":  fixed(app.SystemAuto, app.SystemOn, app.SystemOff),
		"role":    fixed("user", "assistant", "system", "tool"),
		"target":  fixed(notes.TargetProject, notes.TargetGlobal),
		"session": sessions,
	}
	for name, offer := range flags {
		if f := cmd.Flags().Lookup(name); f != nil && f.Value.Type() != "bool" {
			if err := cmd.RegisterFlagCompletionFunc(name, offer); err != nil {
				panic(err) // the flag exists, and has none yet
			}
		}
	}
	switch cmd.CommandPath() {
	case "memcore hook":
		cmd.ValidArgsFunction = fixed(agents.Names()...)
	case "memcore session show", "memcore session reflect", "memcore session delete":
		cmd.ValidArgsFunction = sessions
	}
	for _, child := range cmd.Commands() {
		completeValues(a, child)
	}
}

// completes reports whether a command completes what is typed in a shell, or prints how.
func completes(cmd *cobra.Command) bool {
	name := cmd.Name()
	if parent := cmd.Parent(); parent != nil && parent.Name() == "completion" {
		return true
	}
	return name == cobra.ShellCompRequestCmd || name == cobra.ShellCompNoDescRequestCmd || name == "completion"
}
