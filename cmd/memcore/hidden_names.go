package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// A hiddenName is a second name of a command. Help, completion and manual pages leave it out.
type hiddenName struct {
	name    string
	command func(*cli) *cobra.Command
	flag    string // that the name sets, to true or after "=" to another value; "" for none
}

// hiddenNames are mostly names by which the documents in docs/dev/seeds.md ask for something that a
// command with another name does.
var hiddenNames = []hiddenName{
	{"context", memoryShowCommand, ""},
	{"inject", proxyCommand, "once"},
	{"log append", sessionAppendCommand, ""},
	{"memory add", saveCommand, ""},
	{"memory refresh", memoryListCommand, ""},
	{"memory stats", memoryListCommand, ""},
	{"memory status", statuslineCommand, ""},
	{"model use", modelAddCommand, ""},
	{"recall", searchCommand, "sessions"},
	{"reflect", sessionReflectCommand, ""},
	{"stats", statusCommand, "usage"},
	{"watch", serveCommand, "open=."},
}

// addHiddenNames adds a command for each hidden name, below parents that may be hidden, too.
func addHiddenNames(a *cli, root *cobra.Command) {
	for _, n := range hiddenNames {
		parent, name := root, n.name
		if group, last, ok := strings.Cut(n.name, " "); ok {
			parent, name = groupNamed(root, group), last
		}
		cmd := n.command(a)
		_, arguments, _ := strings.Cut(cmd.Use, " ")
		cmd.Use, cmd.Hidden = strings.TrimSpace(name+" "+arguments), true
		if n.flag != "" {
			flag, value, given := strings.Cut(n.flag, "=")
			if !given {
				value = "true"
			}
			if err := cmd.Flags().Set(flag, value); err != nil {
				panic(err) // the command has no such flag
			}
		}
		parent.AddCommand(cmd)
	}
}

// groupNamed returns the command that groups others under a name, and makes a hidden one if need
// be.
func groupNamed(root *cobra.Command, name string) *cobra.Command {
	for _, cmd := range root.Commands() {
		if cmd.Name() == name {
			return cmd
		}
	}
	group := &cobra.Command{Use: name, Hidden: true, Args: cobra.ArbitraryArgs, RunE: helpOrUnknown}
	root.AddCommand(group)
	return group
}
