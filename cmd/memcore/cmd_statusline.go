package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/text/plain"
)

// maxStatus limits the input, in bytes.
const maxStatus = 1 << 20

// statusBudget limits the time, unless hooks may take longer.
const statusBudget = time.Second

func statuslineCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "statusline",
		Short: "Print the status line of Claude Code: what the last prompt got, memory files, turns and tokens",
		Long: `Print one line for the status line of Claude Code, which describes its session on standard input:
what memory gave to the last prompt, memory files and their tokens, turns of the session, and tokens
in its context window. 'memcore init' sets it up. The line leaves out what is unknown, and the exit
code is 0.`,
		Args: cobra.ArbitraryArgs,
		// Run nothing that may fail, since the exit code is 0.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := context.WithTimeout(cmd.Context(), max(statusBudget, hookBudget()))
			defer stop()
			a.logFrom(noLog)
			if line := statuslineText(ctx, a); line != "" {
				return a.print(line + "\n")
			}
			return nil
		},
	}
}

// statuslineText is the line; "" if nothing is known.
func statuslineText(ctx context.Context, a *cli) string {
	var status hook.Status
	if in, ok := a.stdin.(*os.File); !ok || !isTerminal(in) {
		sent, err := io.ReadAll(io.LimitReader(a.stdin, maxStatus))
		if err == nil {
			status, _ = hook.ParseStatus(sent) // else the line is of this folder
		}
	}
	dir := a.From()
	if info, err := os.Stat(status.Dir); filepath.IsAbs(status.Dir) && err == nil && info.IsDir() {
		dir = status.Dir
	}
	here, err := a.In(dir)
	if err != nil {
		return ""
	}
	if !here.Settings.Enabled {
		return "[memory is off]"
	}
	memory, err := here.Curated().Layer().Load(ctx)
	if err != nil {
		return ""
	}
	prompts := promptsOf(here, status.Session)
	line := app.Footer(memory)
	if len(prompts) > 0 {
		line = topicsText(prompts[len(prompts)-1]) + line
	}
	current := ""
	if n := len(prompts); n > 0 {
		current = plain.Count(n, "turn")
	}
	if status.Tokens > 0 {
		if current != "" {
			current += ", "
		}
		current += plain.Thousands(status.Tokens) + " tokens"
	}
	if current != "" {
		line += fmt.Sprintf(" [Session: %s]", current)
	}
	return line
}

// maxTopics is how many characters of topics a status line has.
const maxTopics = 50

// promptsOf returns the prompts of a session of Claude Code that hooks recorded.
func promptsOf(w *app.Workspace, id string) (prompts []journal.Entry) {
	at, err := w.Folders()
	if err != nil || id == "" {
		return nil
	}
	entries, _ := at.Journal().Of(journal.Head{Agent: agents.ClaudeCode, Session: id}) // a status line never fails
	return slices.DeleteFunc(entries, func(e journal.Entry) bool { return e.Kind != journal.PromptEvent })
}

// topicsText is "memcore: 2 passages, 3 lines: Sign-in, Deploying " if the prompt got some, else
// "".
func topicsText(e journal.Entry) string {
	if e.Undelivered != "" {
		return ""
	}
	var kinds []journal.Kind
	counts := map[journal.Kind]int{}
	var topics, texts []string
	for _, g := range e.Shown() {
		if counts[g.Kind]++; counts[g.Kind] == 1 {
			kinds = append(kinds, g.Kind)
		}
		if topic := cmp.Or(g.Title, path.Base(g.Path)); !slices.Contains(topics, topic) {
			topics = append(topics, topic)
		}
	}
	if len(kinds) == 0 {
		return ""
	}
	for _, k := range kinds {
		texts = append(texts, plain.Count(counts[k], string(k)))
	}
	return plain.Line("memcore: %s: %s ", strings.Join(texts, ", "), plain.Shorten(strings.Join(topics, ", "), maxTopics))
}
