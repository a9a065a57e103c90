package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/text/plain"
)

// rows are lines with a name before them, which is empty for a line that goes on.
type rows struct{ strings.Builder }

func (r *rows) add(name, format string, args ...any) {
	fmt.Fprintf(r, "%-10s %s\n", name, plain.OneLine(fmt.Sprintf(format, args...)))
}

// text says what is there, and what memory will be made of.
func (plan initPlan) text(a *cli, r initRequest) string {
	var b rows
	p := plan.project
	b.add("project", "%s", p.Path)
	for i, agent := range plan.agents {
		name := "agents"
		if i > 0 {
			name = ""
		}
		b.add(name, "%s (%s)", agent.Title, cmp.Or(strings.Join(agent.Found, ", "), "not found on this machine"))
	}
	if len(plan.agents) == 0 {
		b.add("agents", "none was found; --agent sets one up that is not there yet")
	}
	if a.AtHome() {
		b.add("index", "nothing, since this is your home folder; 'memcore index PATH' names what is to be indexed")
		return b.String()
	}
	text := plain.Count(p.Markdown, "Markdown file")
	if len(p.MemoryFiles) > 0 {
		text += ", " + strings.Join(p.MemoryFiles, " and ") + " among them"
	}
	b.add("index", "%s", text)
	if len(p.Hidden) > 0 {
		b.add("", "%s", hiddenText(p.Hidden, r.hidden))
	}
	switch {
	case plan.past != nil && plan.follows:
		b.add("", "%s of agents; --conversations=false leaves them out", pastText(*plan.past))
	case plan.past != nil:
		b.add("", "not the %s of agents (--conversations)", pastText(*plan.past))
	}
	if r.want.Hooks && len(plan.agents) > 0 {
		kept := "they keep prompts in a journal, and in " + a.Settings.SessionsDir + " what agents do not log themselves (--keep-prompts=false: neither)"
		if !keepsPrompts(a, r) {
			kept = "they keep no prompts and no answers"
		}
		b.add("hooks", "%s", kept)
		if index := indexesProjects(a, r, plan); index == config.IndexOff {
			b.add("", "they index no other projects (hook.index: %s; --index-projects: they do)", index)
		} else {
			b.add("", "they index other projects at the first prompt there (hook.index: %s; --index-projects=false: they do not)", index)
		}
	}
	return b.String()
}

func keepsPrompts(a *cli, r initRequest) bool {
	if r.chosen("keep-prompts") {
		return r.keepPrompts
	}
	return a.Settings.Hook.Log
}

// hiddenText is "left out: 8 Markdown files in hidden folders: .agents (6), .plans (2); --hidden or
// 'memcore index . .agents .plans' adds them".
func hiddenText(hidden map[string]int, wanted bool) string {
	n := 0
	folders := slices.Sorted(maps.Keys(hidden))
	var counts []string
	for _, folder := range folders {
		n += hidden[folder]
		counts = append(counts, fmt.Sprintf("%s (%d)", folder, hidden[folder]))
	}
	text := fmt.Sprintf("%s in hidden folders: %s", plain.Count(n, "Markdown file"), strings.Join(counts, ", "))
	if wanted {
		return text
	}
	return "left out: " + text + "; --hidden or 'memcore index . " + strings.Join(folders, " ") + "' adds them"
}

// pastText is "312 past sessions (41.2 MB, about 3 min)".
func pastText(p app.PastSessions) string {
	text := fmt.Sprintf("%s (%s", plain.Count(p.Sessions, "past session"), plain.Bytes(p.Bytes))
	if p.Took > 0 {
		text += ", about " + roundly(p.Took)
	}
	return text + ")"
}

// roundly returns a time as a person would say it.
func roundly(d time.Duration) string {
	switch {
	case d < 2*time.Second:
		return "a second"
	case d < 90*time.Second:
		return fmt.Sprintf("%d seconds", int(d.Round(time.Second)/time.Second))
	}
	return fmt.Sprintf("%d minutes", int(d.Round(time.Minute)/time.Minute))
}

// printEnding says what to do now, what is kept where, and how to take it back.
func printEnding(a *cli, plan initPlan, r initRequest, trusted bool) error {
	if a.json {
		return nil
	}
	var b rows
	b.WriteString("\n")
	ask := "something that your notes say"
	if plan.project.Longest != "" {
		ask = "something that " + plan.project.Longest + " says"
	}
	if len(plan.agents) == 0 {
		b.add("now", "ask memory yourself: memcore retrieve \"…\"; any MCP client can run 'memcore mcp'")
	} else {
		var titles []string
		for _, agent := range plan.agents {
			titles = append(titles, agent.Title)
		}
		b.add("now", "start %s here, and ask about %s", strings.Join(titles, ", "), ask)
		b.add("", "memcore explain --last shows what your last prompt got, and why")
	}
	if names := plan.project.MemoryFiles; len(names) > 0 && !trusted {
		b.add("trust", "memcore trust add lets %s instruct agents that do not read them themselves", strings.Join(names, ", "))
	}
	b.add("kept", "the index in %s, which you can delete at any time", a.Names().Of(plan.at.Root))
	if len(plan.agents) > 0 && keepsPrompts(a, r) {
		b.add("", "what agents do not log themselves in %s", a.Settings.SessionsDir)
	}
	b.add("names", "BEANS.md, ~/.beans and ~/.ai are the names of the design that memcore implements;")
	b.add("", "the settings fileNames, folder, home and sessionsDir change them (~/.beans/config.yaml)")
	b.add("undo", "memcore uninstall takes back all that init wrote")
	return a.print(b.String())
}
