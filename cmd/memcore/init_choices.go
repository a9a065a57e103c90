package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/app/plain"
	"github.com/memcore/memcore/internal/workspace"
)

// initChoices are what init asks on a terminal, or takes from flags.
type initChoices struct {
	conversations, keepPrompts, indexProjects bool
	changed                                   func(flag string) bool
}

func (c *initChoices) add(f *pflag.FlagSet) {
	f.BoolVar(&c.conversations, "conversations", false, "also index agents' sessions, past and later; with --index-projects, other projects' too")
	f.BoolVar(&c.keepPrompts, "keep-prompts", true, "let hooks keep prompts and answers in sessions (memory.hook.log)")
	f.BoolVar(&c.indexProjects, "index-projects", false, "let hooks index other projects in the background at the first prompt there (memory.hook.index)")
}

// choosing says which questions make sense.
type choosing struct{ ask, agents, hooks, index bool }

// A chosen is what was chosen.
type chosen struct {
	conversations bool              // are to be indexed, or are already
	past          *app.PastSessions // that are not indexed yet
	settings      []setup.Setting
	keepsPrompts  bool
}

// settle asks, unless a flag answers.
func (c initChoices) settle(ctx context.Context, a *cli, may choosing) (chosen, error) {
	decide := func(flag string, value, relevant, byDefault bool, question string) (answer, decided bool) {
		if c.changed(flag) {
			return value, true
		}
		if !relevant || !may.ask {
			return false, false
		}
		return a.agrees(ctx, question, byDefault), true
	}
	made, err := lookBack(ctx, a, may)
	if err != nil {
		return made, err
	}
	conversations, decided := decide("conversations", c.conversations, may.index && !made.conversations && (may.agents || made.past != nil), true, pastQuestion(made.past))
	if decided {
		made.conversations = conversations
	}
	keep, decided := decide("keep-prompts", c.keepPrompts, may.hooks, a.Settings.Hook.Log,
		fmt.Sprintf("Keep prompts and answers in %s, so that agents can recall them?", a.Settings.SessionsDir))
	if decided && keep != a.Settings.Hook.Log {
		made.settings = append(made.settings, setup.Setting{Key: "hook.log", Value: fmt.Sprint(keep)})
	}
	if decided {
		made.keepsPrompts = keep
	}
	projects, decided := decide("index-projects", c.indexProjects, may.hooks && a.Settings.Hook.Index == config.IndexOff, true,
		"Index other projects too, in the background at the first prompt there?")
	if decided {
		value := indexSetting(projects, made.conversations)
		if value != a.Settings.Hook.Index {
			made.settings = append(made.settings, setup.Setting{Key: "hook.index", Value: value})
		}
	}
	return made, ctx.Err()
}

// indexSetting is the value of hook.index. Other projects get their past sessions if this one does.
func indexSetting(projects, conversations bool) string {
	switch {
	case !projects:
		return config.IndexOff
	case conversations:
		return config.IndexAll
	}
	return config.IndexFiles
}

// lookBack reports whether conversations are indexed here, and counts those that are not.
func lookBack(ctx context.Context, a *cli, may choosing) (chosen, error) {
	made := chosen{keepsPrompts: a.Settings.Hook.Log}
	at, err := a.Folders()
	if err != nil {
		return made, err
	}
	registered, err := workspace.Load(at.Sources())
	made.conversations = registered.Conversations
	if err != nil || !may.index || registered.Conversations {
		return made, err
	}
	past, err := a.Index().PastSessions(ctx, registered)
	if err == nil && past.Sessions > 0 {
		made.past = &past
	}
	return made, err
}

// pastText is "312 past sessions (41.2 MB, about 3 min)".
func pastText(p app.PastSessions) string {
	text := fmt.Sprintf("%s (%s", plain.Count(p.Sessions, "past session"), plain.Bytes(p.Bytes))
	if p.Took > 0 {
		text += ", about " + roundly(p.Took)
	}
	return text + ")"
}

func pastQuestion(p *app.PastSessions) string {
	if p == nil {
		return "Also index the sessions of agents, once there are some here?"
	}
	return "Also index " + pastText(*p) + "?"
}

// roundly returns a time as a person would say it.
func roundly(d time.Duration) string {
	switch {
	case d < 2*time.Second:
		return "a second"
	case d < 90*time.Second:
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%d min", int(d.Round(time.Minute)/time.Minute))
}

// printEnding says what happens now, how to see it, what is kept where and how to stop it.
func printEnding(a *cli, r setupReport, made chosen) error {
	if a.json {
		return nil
	}
	var b strings.Builder
	b.WriteString("\n")
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s%s\n", name, plain.OneLine(fmt.Sprintf(format, args...)))
	}
	if len(r.Agents) == 0 {
		line("now", "ask memory yourself: memcore retrieve \"…\"; any MCP client can run 'memcore mcp'")
	} else {
		var titles []string
		for _, agent := range r.Agents {
			titles = append(titles, agent.Title)
		}
		line("now", "at each prompt memcore gives %s what it knows of it, or nothing", strings.Join(titles, ", "))
		ask := "something that your notes say"
		if r.Project.Longest != "" {
			ask = "something that " + r.Project.Longest + " says"
		}
		line("try", "start an agent here, ask it about %s, then run: memcore explain --last", ask)
	}
	if made.past != nil && !made.conversations {
		line("not yet", "%s: memcore init --conversations", pastText(*made.past))
	}
	if len(r.Project.MemoryFiles) > 0 {
		line("next", "memcore trust add lets %s instruct agents that do not read them themselves", strings.Join(r.Project.MemoryFiles, ", "))
	}
	printKept(a, line, len(r.Agents) > 0, made.keepsPrompts)
	if len(r.Agents) > 0 {
		line("stop", "memcore uninstall-hooks; 'memcore save --undo' takes back what init wrote")
	} else if r.Written {
		line("stop", "memcore save --undo takes back what init wrote")
	}
	return a.print(b.String())
}

// printKept says what is kept, and where.
func printKept(a *cli, line func(name, format string, args ...any), agents, prompts bool) {
	at, err := a.Folders()
	if err != nil {
		return
	}
	line("kept", "the index in %s, which you can delete", at.Root)
	switch {
	case !agents:
		return
	case prompts:
		line("", "prompts and answers in %s; 'memcore init --keep-prompts=false' ends that", a.Settings.SessionsDir)
	default:
		line("", "no prompts and no answers in sessions")
	}
	line("", "the last prompt of recent sessions in %s, for 'memcore explain --last'", at.Last())
}
