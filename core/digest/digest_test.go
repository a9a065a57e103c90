package digest_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/digest"
)

var update = flag.Bool("update", false, "write the golden file")

// turns makes a log of "role: text" lines.
func turns(lines ...string) (all []chunker.Turn) {
	for i, l := range lines {
		role, text, _ := strings.Cut(l, ": ")
		all = append(all, chunker.Turn{Line: i + 1, EndLine: i + 1, Role: role, Text: text, Session: "s", Time: time.Date(2026, 2, 24, 12, i, 0, 0, time.UTC)})
	}
	return all
}

func ran(name, command, output string, failed bool) chunker.ToolUse {
	input, _ := json.Marshal(map[string]string{"command": command})
	return chunker.ToolUse{Name: name, Input: string(input), Output: output, Failed: failed}
}

func of(all []chunker.Turn) digest.Digest { return digest.Of(all, digest.Digest{}, nil) }

func TestRequest(t *testing.T) {
	for text, want := range map[string]string{
		"ok, please add a retry to the upload":                                                                                        "add a retry to the upload",
		"Can you please rename the package cart to basket? Keep the tests.":                                                           "rename the package cart to basket? Keep the tests.",
		"Implement the plan as specified in the file above, do not change it.\n\n# Plan: Move sessions to SQLite\n\n## Context\nlong": "Plan: Move sessions to SQLite Context long",
		"Implement the following plan:\n\n# Cache the vectors\n\nThey are slow.":                                                      "Cache the vectors They are slow.",
		"fix this:\n```\npanic: runtime error: index out of range [3] with length 3\n```":                                             "fix this: panic: runtime error: index out of range [3] with length 3",
		"2026-02-12 17:38:00 ERROR worker failed to open session\n2026-02-12 17:38:01 bye":                                            "worker failed to open session",
		"/pr-review 170": "/pr-review 170",
		"Got this comment from a reviewer, what say you?\n\nThe parser ignores tabs in keys.": "The parser ignores tabs in keys.",
		"**Why** does `go test` hang with the [new runner](http://a.example/x)?":              "Why does go test hang with the new runner?",
		"请把登录页面的超时改成三十秒":                                                                      "把登录页面的超时改成三十秒",
	} {
		t.Run(text, func(t *testing.T) {
			got := of(turns("user: " + text))
			require.Len(t, got.Exchanges, 1)
			require.Equal(t, want, got.Exchanges[0].Request)
		})
	}
	long := of(turns("user: " + strings.Repeat("the harbour office wants the berths sorted by length ", 20)))
	require.LessOrEqual(t, len(long.Exchanges[0].Request), 160)
	require.True(t, strings.HasSuffix(long.Exchanges[0].Request, "…"), long.Exchanges[0].Request)
}

func TestExchanges(t *testing.T) {
	for name, tt := range map[string]struct {
		log  []string
		want []string // request | outcome | reply, lines
	}{
		"acknowledgements go on": {
			[]string{"user: add a retry to the upload", "assistant: I'll add it.", "user: ok, go on", "assistant: Added a retry with back-off to upload.go.", "user: yes commit that", "assistant: Committed as abc123."},
			[]string{"1-6 add a retry to the upload | Added a retry with back-off to upload.go. | "},
		},
		"a correction is the reply": {
			[]string{"user: make the login test stable", "assistant: I can add a waitForTimeout(500) before the click, because the button is late.", "user: no sleeps please, wait for the button instead", "assistant: The test now waits for the button."},
			[]string{
				"1-2 make the login test stable | I can add a waitForTimeout(500) before the click, because the button is late. | no sleeps please, wait for the button instead",
				"3-4 no sleeps please, wait for the button instead | The test now waits for the button. | ",
			},
		},
		"a new subject is no reply": {
			[]string{"user: make the login test stable", "assistant: The test now waits for the button.", "user: now update the changelog of the server"},
			[]string{"1-2 make the login test stable | The test now waits for the button. | ", "3-3 update the changelog of the server |  | "},
		},
		"headings and announcements say nothing": {
			[]string{"user: why is the import slow", "assistant: Let me check the importer.", "assistant: ## Files Created\n\nPerfect!\n\n**Root cause**\n\nThe importer opens the database once per row.\n\n- [x] done\n\nAll tests pass now.\n\nWould you like me to commit?"},
			[]string{"1-3 why is the import slow | Root cause: The importer opens the database once per row. | "},
		},
		"what the agent is about to do": {
			[]string{"user: why is the import slow", "assistant: Now that I have a good understanding of the importer, I'll fix it because it is slow.\n\nIt reads `__init__.py` twice."},
			[]string{"1-2 why is the import slow | It reads __init__.py twice. | "},
		},
		"the last answer that says something": {
			[]string{"user: why is the import slow", "assistant: The importer is slow because it opens the database once per row.", "assistant: All 12 tests pass now."},
			[]string{"1-3 why is the import slow | The importer is slow because it opens the database once per row. | "},
		},
		"no requests": {
			[]string{"system: This session is being continued from a previous conversation that ran out of context. Always do X.", "assistant: The exporter drops empty rows because of a trim."},
			[]string{"2-2 … | The exporter drops empty rows because of a trim. | "},
		},
		"a selection names what it follows": {
			[]string{"user: review the parser package", "assistant: There are 12 observations.", "user: address 3 and 7", "assistant: Renamed the scanner.", "user: address 9"},
			[]string{"1-2 review the parser package | There are 12 observations. | ", "3-4 address 3 and 7 (after: review the parser package) | Renamed the scanner. | ", "5-5 address 9 (after: review the parser package) |  | "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range of(turns(tt.log...)).Exchanges {
				got = append(got, fmt.Sprintf("%d-%d %s | %s | %s", e.StartLine, e.EndLine, e.Request, e.Outcome, e.Reply))
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestOutcomeIsNotCutBeforeItsFinding(t *testing.T) {
	long := "The nightly report, which collects the entries of all eleven harbours and sends them to the office before the first boat leaves in the morning of every working day of the week, was empty because the query used the local time zone."
	got := of(turns("user: why was the report empty", "assistant: "+long)).Exchanges[0].Outcome
	require.LessOrEqual(t, len(got), 200)
	require.Contains(t, got, "because the query used the local time zone")
}

// An answer in a dialog is the words of the user, and part of the request.
func TestDialogs(t *testing.T) {
	said := func(text, asked string, dialog chunker.Dialog) chunker.Turn {
		return chunker.Turn{Role: "user", Text: text, Asked: asked, Dialog: dialog, Session: "s"}
	}
	log := turns("user: plan the export", "assistant: Here is my plan.")
	log[1].Tools = []chunker.ToolUse{{Name: "ExitPlanMode", Failed: true, Refused: true, Output: "The tool use was rejected."}}
	log = append(log,
		said("use tofu here, not terraform", "The user rejected this plan", chunker.DialogRejection),
		said("not that folder", "The user rejected Bash (rm -r data)", chunker.DialogRejection),
		said("Postgres", "Which store?", chunker.DialogChoice),
		said("always run the integration tests before a commit", "Which tests?", chunker.DialogAnswer),
		said("# Export\n\nOne file a day on the NAS.\n\n- as CSV", "The user approved this plan:", chunker.DialogPlan),
		said("the one in the cellar", "Which printer?", chunker.DialogAnswer),
		said("Never use tabs", "Which style?", chunker.DialogChoice),
	)
	for i := range log {
		log[i].Line, log[i].EndLine = i+1, i+1
	}
	got := of(log)
	require.Len(t, got.Exchanges, 1)
	require.Equal(t, digest.Exchange{StartLine: 1, EndLine: 9, Session: "s", Time: log[0].Time, Request: "plan the export", Reply: `asked "Which style?": Never use tabs`}, got.Exchanges[0])
	var texts []string
	for _, s := range got.Statements {
		texts = append(texts, fmt.Sprintf("%d %s %t %s", s.Line, s.Kind, s.Standing, s.Text))
	}
	require.Equal(t, []string{
		"3 rule true use tofu here, not terraform",
		"5 decision false Which store? Postgres",
		"6 rule true always run the integration tests before a commit",
		"7 decision false The user approved this plan: Export One file a day on the NAS. as CSV",
		"8 decision false Which printer? the one in the cellar",
		"9 decision false Which style? Never use tabs",
	}, texts)
	require.Empty(t, got.Failures)
	require.Equal(t, "not that folder", of(log[:4]).Exchanges[0].Reply)
	require.False(t, of(log[:4]).Exchanges[0].Interrupted)
	require.True(t, of(log[:2]).Exchanges[0].Interrupted)
}

// A refused call stops the exchange until the user says why.
func TestRefusals(t *testing.T) {
	log := turns("user: move the files", "assistant: Moving.", "tool: ", "user: the folder is called cellar")
	log[2].Tools = []chunker.ToolUse{{Name: "interrupt", Refused: true, Output: "[Request interrupted by user]"}}
	require.Equal(t, "the folder is called cellar", of(log).Exchanges[0].Reply)

	log = turns("user: move the files", "assistant: Moving.", "user: the folder is called cellar")
	log[1].Tools = []chunker.ToolUse{{Name: "Bash", Input: `{"command":"mv a b"}`, Failed: true, Refused: true, Output: "[Request interrupted by user for tool use]"}}
	require.Equal(t, "the folder is called cellar", of(log).Exchanges[0].Reply)
}

func TestFiles(t *testing.T) {
	log := turns("user: move the parser", "assistant: Moving.")
	log[1].Tools = []chunker.ToolUse{
		{Name: "Read", Input: `{"file_path":"/w/read.go"}`},
		{Name: "Edit", Input: `{"file_path":"/w/a.go","old_string":"x"}`},
		{Name: "Write", Input: `{"file_path":"/w/failed.go"}`, Failed: true},
		{Name: "write_file", Input: `{"file_path":"/w/a.go"}`},
		{Name: "shell", Input: `{"command":["apply_patch","*** Begin Patch\n*** Update File: b.go\n*** Add File: c.go\n*** End Patch"]}`},
		{Name: "replace", Input: `{"file_path":"/w/d.go"}`},
	}
	require.Equal(t, []string{"/w/a.go", "b.go", "c.go"}, of(log).Exchanges[0].Files)
}

func TestClassify(t *testing.T) {
	for _, tt := range []struct {
		text, want string // want: kind, "+" if it stands, ":" and moments
	}{
		{"please run the phone tests with PHONES_ENABLED=True, otherwise they are skipped silently", "rule+:test"},
		{"use tofu here, not terraform", "rule+:"},
		{"no sleeps please", "rule+:test"},
		{"a commit, no PR", "rule+:commit"},
		{"fold the fix into the commit", "rule+:commit"},
		{"table-driven tests", "rule+:test"},
		{"Table-driven tests please, no mocks", "rule+:test"},
		{"from now on the preview server runs on 3044", "rule+:"},
		{"Never push to main directly!", "rule+:commit"},
		{"always write commit messages in English", "rule+:commit"},
		{"We should never mock the database in tests.", "rule+:test"},
		{"Commit messages must start with the package name.", "rule+:commit"},
		{"don't push without asking", "rule+:commit"},
		{"I prefer tabs over spaces.", "preference+:"},
		{"I don't like that at all, put it back", ""},
		{"we decided to use Postgres", "decision:"},
		{"I've decided to vendor the library because it is not published", "decision:"},
		{"The staging database is on 10.0.0.5:5433, see main.go.", "fact:deploy"},
		{"my name is Ada Lovelace", "fact:"},
		{"we use pnpm in the frontend", "rule+:"},
		{"No, the linter issue is because you linted the file separately, just lint the whole project.", "correction:"},
		{"That is wrong, it is of type read.", "correction:"},
		{"Immer erst die Tests laufen lassen", "rule+:test"},
		{"Bitte nie direkt auf main pushen", "rule+:commit"},
		{"Ich bevorzuge kurze Funktionen", "preference+:"},
		{"Siempre usa nombres en inglés", "rule+:"},
		{"Prefiero funciones cortas", "preference+:"},
		{"Toujours lancer les tests avant un commit", "rule+:commit test"},
		{"Je préfère les fonctions courtes", "preference+:"},
		{"我喜欢用中文讨论，代码用英文。", "preference+:"},
		{"以后都用 pnpm，不要用 npm", "rule+:"},
		{"我们决定使用 Postgres", "decision:"},
		{"今後は必ずテストを書いてください", "rule+:test"},
		// said in a clause
		{"nice. btw never deploy on a friday, nobody is there to help", "rule+:deploy"},
		{"use the small runner, it's the only one with a card reader", "rule+:"},
		{"no new dependencies in this module, it has to build offline", "rule+:"},
		{"we write the notes in the past tense", "rule+:"},
		{"when you review, name the file first", "rule+:review"},
		{"the clusters are kx-blue and kx-green, always pass --context", "rule+:"},
		{"grundsätzlich: nachts wird nur geweckt, was Kunden merken", "rule+:"},
		{"提交信息写中文，一行，不要加前缀", "rule+:commit"},
		{`USE "uv pip"!!!`, "rule+:"},
		{"use that", ""},
		{"To avoid the pager pass it through cat", "rule+:"},
		{"never mind", ""},
		{"one commit would have been nicer", ""},
		{"but no event: /var/log/x.db", ""},
		{"the page takes eight seconds and looks broken", ""},
		// orders, questions, suppositions, the words of others
		{"add a button to the form", ""},
		{"please write tests for the parser", ""},
		{"fix the login test", ""},
		{"why did the tests fail", ""},
		{"should we always run the linter?", ""},
		{"maybe we should use sqlite instead of files", ""},
		{"if I use pnpm, it never works", ""},
		{"the reviewer says we should always use tabs", ""},
		{"the sync has always worked", ""},
		{"it never returns", ""},
		{"no problem, thanks", ""},
		{"no, it's fine", ""},
		{"show me how we always did that", ""},
		{"Let's use 12 characters instead of 10 for issue 17", ""},
		{"don't touch the other commands for now", ""},
		// No statements: what the product shall do, a single fault, and output of programs.
		{"By default the whole amount will be selected.", ""},
		{"always show the newest order first", ""},
		{"use all states", ""},
		{"no autocomplete", ""},
		{"make the `git pr` command optionally take a repo path instead of a session name", ""},
		{"yes, track the method; the system should know automatically if it is paid", ""},
		{"fais le test la page est toujours blanche", ""},
		{"no quiero esa flecha ahi", ""},
		{"先不要修改代码,那为什么我单独运行这个例子却可以测试通过", ""},
		{"Last thing, deleting doesn't work, showing this error: no function clause matching in Shop.View.handle_event/3", ""},
		{"49:12 Warning: 'error' is defined but never used.", ""},
		{"seems good, but replace that if with order.booking_id because order.guest is not working", ""},
		// how the agent shall work
		{"from now on, never ask me questions like \"shall I go on?\"", "rule+:"},
		{"Always commit the parent task when all of its parts are done", "rule+:commit"},
		{"no, tasks.md should always use that normal format", "rule+:"},
		{"Je souhaite dorénavant que tu me parles en français", "rule+:"},
		{"no quiero archivos MD que no te pido", "rule+:"},
		{"用中文回答我", "rule+:"},
		{"only Ada deploys to the shops", "rule+:deploy"},
		{"Ben only reviews small changes", "rule+:review"},
		{"no new UI library, the cashiers know the look", "rule+:"},
		{"benchmark on the machine called tower, it has its clock fixed", "rule+:"},
		{"in English please, the others read it too", "rule+:"},
		{"do not merge any cells of the table", ""},
		{"DO NOT WRITE ANY CODE OR RUN ANY COMMANDS", ""},
		{"No please lets commit it", ""},
		{"Can you 1) update the list so that this never happens in the future?", ""},
		{"don't commit generated files", "rule+:commit"},
		{"do not modify any files outside of src/", "rule+:"},
		{"don't make any changes to the code", ""},
		{"ask before you install anything", "rule+:"},
		{"run the linter before each commit", "rule+:commit"},
		{"but no commit in main branch?!", ""},
		{"no luck, it is still empty", ""},
		{"no result, the page is white", ""},
		{"los commits en inglés y en imperativo", "rule+:commit"},
		{"测试对话中，每次点击侧边框其他选项，刷新聊天框", ""},
		{"上线前要老王点头", "rule+:deploy"},
	} {
		kind, standing := digest.Classify(tt.text)
		got := string(kind)
		if standing {
			got += "+"
		}
		if kind != "" {
			var moments []string
			for _, s := range of(turns("user: " + tt.text)).Statements {
				for _, m := range s.Moments {
					moments = append(moments, string(m))
				}
			}
			got += ":" + strings.Join(moments, " ")
		}
		if got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestStatements(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"inside a request":         {"Add a page for orders. No emojis please. It shows the newest first.", []string{"No emojis please."}},
		"with its reason":          {"Always run make lint. Otherwise the hook fails. Then add a page.", []string{"Always run make lint. Otherwise the hook fails."}},
		"with what it is not":      {"Always use port 3044. Not 3000. Add a page.", []string{"Always use port 3044. Not 3000."}},
		"with when":                {"Always run make lint. Before each commit. In the sidebar the title is cut.", []string{"Always run make lint. Before each commit."}},
		"with where not":           {"Always use tabs. But not in YAML.", []string{"Always use tabs. But not in YAML."}},
		"with when and why":        {"Always run make lint. Before each commit. Otherwise the hook fails.", []string{"Always run make lint. Before each commit. Otherwise the hook fails."}},
		"with when, another rule":  {"Always use pnpm. Before each commit always run make lint.", []string{"Always use pnpm.", "Before each commit always run make lint."}},
		"before another line":      {"Always use pnpm.\nBefore the release", []string{"Always use pnpm."}},
		"what restricts nothing":   {"Add a page. Not 3000 rows.", nil},
		"in code":                  {"look:\n```\n# always use this flag\n```\nadd it", nil},
		"quoted":                   {"> always use tabs\n\nadd that to the docs", nil},
		"in a pasted plan":         {"Implement the following plan:\n\n# Plan: cache\n\nAlways use the cache. We decided to use Redis.", nil},
		"in a pasted review":       {"Let's address   1. We should always use tabs here.\n\n  2. Never use spaces.", nil},
		"in a specification":       {"Build this.\n\n# Goal\nAlways be fast.\n# Scope\nNever lose data.", nil},
		"after what is pasted":     {"Address this: - Issue: never checked in sync\n\nBe sure to keep it DRY", []string{"Be sure to keep it DRY"}},
		"list of rules":            {"rules for you:\n- always use pnpm\n- the button is blue\n- never amend pushed commits", []string{"always use pnpm", "never amend pushed commits"}},
		"in a mail":                {"Bob wrote:\nalways push straight to main\nnever ask before you delete files.", nil},
		"in a quotation":           {"\"never use tabs in this project\" is what he wrote", nil},
		"in a terminal":            {"⏺ Always run the linter before you push.", nil},
		"told of the task":         {"the printer is on 192.168.40.21", nil},
		"without what leads to it": {"go ahead. also, from now on, never ask me that", []string{"also, from now on, never ask me that"}},
		"twice":                    {"Always use pnpm.\nAlways use pnpm.", []string{"Always use pnpm."}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range of(turns("user: " + tt.text)).Statements {
				got = append(got, s.Text)
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestFailures(t *testing.T) {
	for name, tt := range map[string]struct {
		runs []chunker.ToolUse
		want []string // program | error | cure
	}{
		"missing tool": {
			[]chunker.ToolUse{ran("Bash", "cd web && python tools/gen.py --all", "Exit code 127\n/bin/bash: line 1: python: command not found", true), ran("Bash", "python3 tools/gen.py --all", "ok", false)},
			[]string{"python | python: command not found | python3 tools/gen.py --all"},
		},
		"flag": {
			[]chunker.ToolUse{ran("shell", "git show abc --no-stat", "fatal: unrecognized argument: --no-stat", true), ran("shell", "ls", "a", false), ran("shell", "git show --stat abc", "commit", false)},
			[]string{"git show | fatal: unrecognized argument: --no-stat | git show --stat abc"},
		},
		"usage, with the exit code in the output": {
			[]chunker.ToolUse{ran("Bash", "gh pr diff 150 -- a.go", "Exit code 1\naccepts at most 1 arg(s), received 2", false)},
			[]string{"gh pr | accepts at most … arg(s), received … | "},
		},
		"part of a pipe": {
			[]chunker.ToolUse{ran("Bash", "sed -n 1,5p main.go | cat -A", "Exit code 1\ncat: illegal option -- A\nusage: cat [-belnstuv]", true)},
			[]string{"cat | cat: illegal option -- A | "},
		},
		"server away": {
			[]chunker.ToolUse{ran("run_shell_command", "PGUSER=a psql -h localhost -c 'select 1'", "Output: psql: error: connection to server at \"localhost\" (127.0.0.1), port 5432 failed: Connection refused\nExit Code: 2", true), ran("run_shell_command", "psql -h db -c 'select 1'", "1", false)},
			[]string{"psql | psql: error: connection to server at … (…), port … failed: Connection refused | psql -h db -c 'select 1'"},
		},
		"wrong directory": {
			[]chunker.ToolUse{ran("Bash", "go test ./...", "Exit code 1\ngo: go.mod file not found in current directory or any parent directory; see 'go help modules'", true), ran("Bash", "cd server && go test ./...", "ok", false)},
			[]string{"go test | go: … file not found in current directory or any parent directory; see … | cd server && go test ./..."},
		},
		"another folder": {
			[]chunker.ToolUse{ran("Bash", "go test ./...", "Exit code 1\ngo: go.mod file not found", true), ran("Bash", "go -C server test ./...", "ok", false)},
			[]string{"go test | go: … file not found | go -C server test ./..."},
		},
		"a script of another folder": {
			[]chunker.ToolUse{ran("Bash", "npm run build", "Exit code 1\nnpm error Missing script: \"build\"", true), ran("Bash", "cd web && npm run lint", "ok", false), ran("Bash", "cd web && npm run build", "ok", false)},
			[]string{`npm run | npm error Missing script: "build | cd web && npm run build`},
		},
		"no package in the folder": {
			[]chunker.ToolUse{ran("Bash", "npm run build 2>&1 | tail -20", "Exit code 254\nnpm error code ENOENT\nnpm error enoent Could not read package.json: Error: ENOENT: no such file or directory, open '/w/package.json'", true), ran("Bash", "cd web && npm run build", "ok", false)},
			[]string{`npm run | npm error code ENOENT | cd web && npm run build`},
		},
		"a program of another folder": {
			[]chunker.ToolUse{ran("Bash", "npm run build", "Exit code 127\n> vite build\nsh: 1: vite: not found", true), ran("Bash", "cd web && npm run build", "ok", false)},
			[]string{`vite | vite: not found | cd web && npm run build`},
		},
		"what was installed first": {
			[]chunker.ToolUse{ran("Bash", "npm run build", "Exit code 127\n> vite build\nsh: 1: vite: not found", true), ran("Bash", "ls && npm run build", "ok", false), ran("Bash", "npm ci && npm run build", "ok", false)},
			[]string{`vite | vite: not found | npm ci && npm run build`},
		},
		"after another command it may have passed by itself": {
			[]chunker.ToolUse{ran("Bash", "git push", "Exit code 1\nerror: failed to push some refs to 'https://x.example/y.git'", true), ran("Bash", "git status && git push", "ok", false)},
			[]string{"git push | error: failed to push some refs to … | "},
		},
		"runner": {
			[]chunker.ToolUse{ran("Bash", "uv run pytest -k x", "Exit code 2\nerror: unexpected argument '-k' found", true)},
			[]string{"uv run pytest | error: unexpected argument '-k' found | "},
		},
		"a folder that is not there": {
			[]chunker.ToolUse{ran("Bash", "cd web && npm run test:e2e", "Exit code 1\n(eval):cd:1: no such file or directory: web", true), ran("Bash", "npm run lint", "ok", false), ran("Bash", "cd /w/shop/web && npm run test:e2e", "ok", false)},
			[]string{"cd | cd:…: no such file or directory: web | cd /w/shop/web && npm run test:e2e"},
		},
		"a here-document": {
			[]chunker.ToolUse{ran("Bash", "python3 - <<'PY'\nprint(1)\nPY", "Exit code 127\nzsh: command not found: python3", true), ran("Bash", "/usr/bin/python3 - <<'PY'\nprint(1)\nPY", "1", false)},
			[]string{"python3 | command not found: python3 | /usr/bin/python3 - <<'PY' …"},
		},
		"a shell that knows no &&": {
			[]chunker.ToolUse{ran("Bash", `cd "d:\shop new" && npm run build`, "Exit code 1\nThe token '&&' is not a valid statement separator in this version.", true), ran("Bash", "npm test", "ok", false), ran("Bash", `cd "d:\shop new"; npm run build`, "ok", false)},
			[]string{`shell | The token … is not a valid statement separator in this version. | cd "d:\shop new"; npm run build`},
		},
		"what stands before the command is missing": {
			[]chunker.ToolUse{ran("Bash", "PORT=1 timeout 10s npm run dev", "Exit code 127\n(eval):1: command not found: timeout", true), ran("Bash", "npm run test", "ok", false), ran("Bash", "PORT=1 npm run dev", "ok", false)},
			[]string{"timeout | command not found: timeout | PORT=1 npm run dev"},
		},
		"an alias of what is missing": {
			[]chunker.ToolUse{ran("Bash", "python3 -c 'print(1)'", "Exit code 127\n(eval):1: command not found: python3.12", true), ran("Bash", "python3 x.py | wc", "", false), ran("Bash", "/usr/bin/python3 -c 'print(1)'", "1", false)},
			[]string{"python3.12 | command not found: python3.… | /usr/bin/python3 -c 'print(1)'"},
		},
		"an option that the error names": {
			[]chunker.ToolUse{ran("Bash", "sed -n 3p a.go | cat -A", "Exit code 1\ncat: illegal option -- A", true), ran("Bash", "cat -A b.go | head", "", true), ran("Bash", "sed -n 3p a.go | cat -vet", "x", false)},
			[]string{"cat | cat: illegal option -- A | sed -n 3p a.go | cat -vet"},
		},
		"another branch is no other form": {
			[]chunker.ToolUse{ran("Bash", "git push origin a", "Exit code 1\nerror: failed to push some refs to 'https://x.example/y.git'", true), ran("Bash", "git push origin b", "ok", false)},
			[]string{"git push | error: failed to push some refs to … | "},
		},
		"an option more is one": {
			[]chunker.ToolUse{ran("Bash", "git push origin a", "Exit code 1\nerror: failed to push some refs to 'https://x.example/y.git'", true), ran("Bash", "git push --no-verify origin a", "ok", false)},
			[]string{"git push | error: failed to push some refs to … | git push --no-verify origin a"},
		},
		"what passed by itself has no cure": {
			[]chunker.ToolUse{ran("Bash", "curl -v http://localhost:3001/health", "Exit code 7\ncurl: (7) Failed to connect: Connection refused", true), ran("Bash", "curl -s http://localhost:3001/other", "ok", false), ran("Bash", "sleep 5 && curl http://localhost:3001/health 2>&1 | head", "ok", false)},
			[]string{"curl | curl: (…) Failed to connect: Connection refused | "},
		},
		"what was installed has none": {
			[]chunker.ToolUse{ran("Bash", "goreleaser check", "Exit code 127\nzsh: command not found: goreleaser", true), ran("Bash", "KEY=x goreleaser build", "ok", false)},
			[]string{"goreleaser | command not found: goreleaser | "},
		},
		"another script is no other form": {
			[]chunker.ToolUse{ran("Bash", "npx prisma generate", "Exit code 1\nEPERM: operation not permitted, rename 'a' -> 'b'", true), ran("Bash", "npx prisma migrate deploy", "ok", false)},
			[]string{"npx prisma | EPERM: operation not permitted, rename … -> … | "},
		},
		"what is not there has its name in the key": {
			[]chunker.ToolUse{ran("Bash", "npm run e2e", "npm error Missing script: \"e2e\"", true), ran("Bash", "sqlite3 a.db 'select 1 from x'", "Error: in prepare, no such table: x", true)},
			[]string{`npm run | npm error Missing script: "e2e | `, "sqlite3 | Error: in prepare, no such table: x | "},
		},
		"only an answer":   {[]chunker.ToolUse{ran("Bash", "curl -s x", "Exit code 22\n{\"error\":\"not_found: forbidden\"}", true)}, nil},
		"a type error":     {[]chunker.ToolUse{ran("Bash", "npm run build", "Exit code 1\nType error: Property 'x' does not exist on type 'Y'.", true)}, nil},
		"a log's line":     {[]chunker.ToolUse{ran("Bash", "go test ./...", "Exit code 1\n2026/02/09 16:21:53 WARN path failed error=\"lstat /x: no such file or directory\"", true)}, nil},
		"failing test":     {[]chunker.ToolUse{ran("Bash", "go test ./...", "Exit code 1\n--- FAIL: TestX (0.00s)\n    x_test.go:3: expected 1, got 2\nFAIL", true)}, nil},
		"compile error":    {[]chunker.ToolUse{ran("Bash", "go build ./...", "Exit code 1\n./main.go:12:3: undefined: foo", true)}, nil},
		"lint":             {[]chunker.ToolUse{ran("Bash", "golangci-lint run", "Exit code 1\nmain.go:4:2: var x is unused (unused)", true)}, nil},
		"grep without hit": {[]chunker.ToolUse{ran("Bash", "grep -rn foo .", "Exit code 1", true)}, nil},
		"looking":          {[]chunker.ToolUse{ran("Bash", "ls docs", "Exit code 1\nls: docs: No such file or directory", true)}, nil},
		"denied":           {[]chunker.ToolUse{{Name: "Bash", Input: "rm -rf x", Output: "Error: the tool use was rejected", Failed: true, Refused: true}}, nil},
		"worked":           {[]chunker.ToolUse{ran("Bash", "grep -c 'command not found' log", "command not found", false)}, nil},
		"no shell":         {[]chunker.ToolUse{{Name: "Read", Input: `{"file_path":"x"}`, Output: "no such file", Failed: true}}, nil},
		"the same again is no cure": {
			[]chunker.ToolUse{ran("Bash", "npm run e2e", "npm error code ELIFECYCLE\nnpm error missing script: e2e", true), ran("Bash", "npm run e2e", "ok", false), ran("Bash", "npm run test:e2e", "ok", false)},
			[]string{"npm run | npm error missing script: e2e | npm run test:e2e"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := turns("user: try it")
			for i, run := range tt.runs {
				log = append(log, chunker.Turn{Line: i + 2, EndLine: i + 2, Role: "assistant", Session: "s", Tools: []chunker.ToolUse{run}})
			}
			var got []string
			for _, f := range of(log).Failures {
				got = append(got, f.Program+" | "+f.Error+" | "+f.Cure)
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestBrief(t *testing.T) {
	for _, tt := range []struct{ command, program, want string }{
		{"sed -n 3p a.go | cat -A", "cat", "sed -n 3p a.go | cat -A"},
		{"sed -n 3p /a/very/long/path/to/a.go | cat -A", "cat", "… cat -A"},
		{"cd /w/shop && echo 'go; on' && git status --short && git log -3", "git status", "cd /w/shop; … git status --short; …"},
		{"sed -n 3p /a/very/long/path/to/a.go | head", "cat", "sed -n 3p /a/very/long/path/to/a.go | head"},
	} {
		require.Equal(t, tt.want, digest.Brief(tt.command, tt.program, 30))
	}
}

func TestEqualErrors(t *testing.T) {
	fail := func(output string) string {
		log := turns("assistant: x")
		log[0].Tools = []chunker.ToolUse{ran("Bash", "tool run", output, true)}
		return of(log).Failures[0].Error
	}
	require.Equal(t, fail("tool: cannot open /home/ada/a.db: permission denied (code 13)"), fail("tool: cannot open /srv/b/c.db: permission denied (code 7)"))
	require.NotEqual(t, fail("tool: permission denied"), fail("tool: connection refused"))
}

func TestRedact(t *testing.T) {
	log := turns("user: why", "assistant: It failed because the key hunter2 was wrong in config.go.")
	log[1].Tools = []chunker.ToolUse{ran("Bash", "psql -W hunter2", "psql: error: authentication failed for hunter2", true), ran("Bash", "hunter2 --help", "bash: hunter2: command not found", true)}
	got := digest.Of(log, digest.Digest{}, func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") })
	text, err := json.Marshal(got)
	require.NoError(t, err)
	require.NotContains(t, string(text), "hunter2")
	require.Contains(t, got.Exchanges[0].Outcome, "***")
	require.Contains(t, got.Failures[0].Command, "***")
	require.Equal(t, "***", got.Failures[1].Program, "it was pasted where a command belongs")
}

// A log of several exchanges with tools, for the golden file, the property and the benchmark.
func sample() []chunker.Turn {
	log := turns(
		"user: Please add a retry to the upload. Never retry more than twice.", "assistant: Let me look at it.", "assistant: The upload fails because the token expires after 60 seconds. I added a retry to upload.go.",
		"user: no, not in upload.go, put it into client.go", "assistant: Moved the retry to client.go; upload.go is as before.", "user: ok commit", "assistant: Committed.",
		"user: from now on the preview server runs on 3044", "assistant: Noted: the preview server runs on port 3044 from now on.", "user: why is the import slow?", "assistant: The importer is slow because it opens the database once per row.", "user: thanks",
	)
	log[2].Tools = []chunker.ToolUse{{Name: "Edit", Input: `{"file_path":"upload.go"}`, Output: "done"}, ran("Bash", "git show x --no-stat", "fatal: unrecognized argument: --no-stat", true)}
	log[4].Tools = []chunker.ToolUse{{Name: "Edit", Input: `{"file_path":"client.go"}`, Output: "done"}, ran("Bash", "git show x", "commit", false)}
	log[8].Tools = []chunker.ToolUse{ran("Bash", "tofu plan", "Exit code 127\nzsh: command not found: tofu", true)}
	return log
}

func TestGolden(t *testing.T) {
	got, err := json.MarshalIndent(of(sample()), "", "\t")
	require.NoError(t, err)
	file := filepath.Join("testdata", "digest.json")
	if *update {
		require.NoError(t, os.WriteFile(file, append(got, '\n'), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(string(want)), string(got))
}

// A fact that is only told is kept once the agent has work to do with it.
func TestFactToldLater(t *testing.T) {
	got := of(turns("user: print the labels", "assistant: Which printer shall I use?", "user: the printer in the hall is 192.168.40.21")).Statements
	require.Len(t, got, 1)
	require.Equal(t, digest.Fact, got[0].Kind)
}

// Reading a log in pieces gives the same digest, also if they overlap and if it goes through JSON.
func TestPieces(t *testing.T) {
	log := sample()
	whole := of(log)
	for cut := 1; cut < len(log); cut++ {
		for back := 0; back <= min(cut-1, 3); back++ {
			var first digest.Digest
			text, err := json.Marshal(of(log[:cut]))
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, &first))
			require.Equal(t, whole, digest.Of(log[cut-back:], first, nil), "cut before %d, from %d", cut+1, cut-back+1)
		}
	}
	require.Equal(t, whole, digest.Of(nil, whole, nil))
}

func TestOfChangesNoArguments(t *testing.T) {
	log := sample()
	first := of(log[:4])
	before, _ := json.Marshal(first)
	digest.Of(log[4:], first, nil)
	after, _ := json.Marshal(first)
	require.Equal(t, string(before), string(after))
}

func FuzzOf(f *testing.F) {
	f.Add("no, use tabs. Always!", "because it broke", "cd x && y", "Exit code 1\ny: command not found", true)
	f.Add("我喜欢。\xff```", "# a\n**b**:\n- c", `{"command":["bash","-lc","a | b"]}`, "fatal: \x1b[31mx", false)
	f.Add(`"Q"="A"`, "Root cause:\nx", "<<EOF", "\"Which one?\"=\"that\"", false)
	f.Fuzz(func(t *testing.T, said, answer, command, output string, failed bool) {
		log := turns("user: "+said, "assistant: "+answer, "user: "+output)
		for _, name := range []string{"Bash", "AskUserQuestion", "Edit"} {
			log[1].Tools = append(log[1].Tools, chunker.ToolUse{Name: name, Input: command, Output: output, Failed: failed})
		}
		got := of(log)
		check := func(text string, n int) {
			if len(text) > n || strings.ContainsAny(text, "\n\r\x00") {
				t.Errorf("%q is longer than %d or no line", text, n)
			}
		}
		for _, e := range got.Exchanges {
			check(e.Request, 160)
			check(e.Outcome, 200)
			check(e.Reply, 300)
		}
		for _, s := range got.Statements {
			check(s.Text, 300)
		}
		for _, one := range got.Failures {
			check(one.Shown, 160)
			check(one.Error, 160)
			check(one.Command, 200)
			check(one.Cure, 200)
		}
		for cut := 1; cut < len(log); cut++ {
			pieces := digest.Of(log[cut:], of(log[:cut]), nil)
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(pieces)
			if string(a) != string(b) {
				t.Errorf("cut before %d:\n%s\n%s", cut+1, a, b)
			}
		}
	})
}

func BenchmarkOf(b *testing.B) {
	log := sample()
	output := strings.Repeat("2026-02-12 17:38:00 INFO worker.go:12: opened the session of harbour 17\n", 200)
	for i := range log {
		if log[i].Role == "assistant" {
			log[i].Text += "\n\n" + strings.Repeat("The worker keeps its session open while the loop runs. ", 20)
			log[i].Tools = append(slices.Clip(log[i].Tools), ran("Bash", "make run", output, false))
		}
	}
	var all []chunker.Turn
	size := 0
	for size < 20<<20 {
		for _, t := range log {
			t.Line, t.EndLine = len(all)+1, len(all)+1
			all = append(all, t)
			size += len(t.Text)
			for _, use := range t.Tools {
				size += len(use.Input) + len(use.Output)
			}
		}
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		of(all)
	}
}

func TestMomentsAsked(t *testing.T) {
	for order, want := range map[string]string{
		"commit":                                     "commit",
		"commit this":                                "commit",
		"ok, good. now commit & push it":             "commit",
		"fix the typo and commit":                    "commit",
		"can you please commit what we have?":        "commit",
		"open the pull request for the fares":        "commit",
		"create a new branch for it":                 "commit",
		"committe das bitte":                         "commit",
		"commite das":                                "commit",
		"deploye auf staging":                        "deploy",
		"haz un commit":                              "commit",
		"das bitte noch committen":                   "commit",
		"提交一下":                                       "commit",
		"закоммить это":                              "commit",
		"show me the diff of the last commit":        "",
		"abort the rebase":                           "",
		"which branch am I on":                       "",
		"annule le dernier commit":                   "",
		"撤销上一次提交":                                    "",
		"add tests for the fares":                    "test",
		"review the open pull request":               "review",
		"have a look at the open PR, then deploy it": "review deploy",
		"address the review comments":                "",
		"tag 4.4":                                    "deploy",
		"add a tag to the note":                      "",
	} {
		var got []string
		for _, m := range digest.MomentsAsked(order) {
			got = append(got, string(m))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", order, got, want)
		}
	}
}

// A complaint about what the agent does is no rule to do it.
func TestComplaint(t *testing.T) {
	for _, text := range []string{"you never ask me before deleting things", "du fragst nie bevor du etwas löschst", "they never rotate the keys", "nobody writes tests here"} {
		for _, s := range of(turns("user: a b c", "assistant: Done.", "user: "+text)).Statements {
			require.False(t, s.Standing, text)
		}
	}
}

// What tells how things are or are to be done is found in many languages.
func TestTold(t *testing.T) {
	for text, want := range map[string]bool{
		"the depot closes at noon on saturdays now, nobody is there to unload after that": true,
		"hm. and no new columns in the ledger, the old readers are strict about them":     true,
		"no wait, readings of the hall never leave the house, their contract has it so":   true,
		"only tests on the board count, the simulator has no clock":                       true,
		"rechnungen gehen immer per post raus, weil der kunde keine mails liest":          true,
		"los informes van siempre en metros, porque el cliente no usa otra cosa":          true,
		"les factures restent dix ans, parce que la loi ne permet pas moins":              true,
		"i relatori arrivano sempre in treno, perché il parcheggio non basta":             true,
		"os relatórios ficam sempre em metros, pois o cliente não usa outra coisa":        true,
		"facturen gaan altijd per post, omdat de klant geen mail leest":                   true,
		"отчёты всегда в метрах, потому что заказчик не знает других единиц":              true,
		"raporty są zawsze w metrach, bo klient nie zna innych jednostek":                 true,
		"raporlar her zaman metre olarak kalır, çünkü müşteri başka birim bilmiyor":       true,
		"报表都是公制，因为客户不认别的单位":                                                               true,
		"add a column for the weight to the ledger":                                       false,
		"the page shows me an error, you see it when you open the list":                   false,
		"not in a.go, put it into b.go":                                                   false,
		"can you move the button to the left, and make it blue?":                          false,
	} {
		got := of(turns("user: what does the import do", "assistant: It reads the ledger.", "user: "+text)).Statements
		if len(got) > 0 != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// What is said to a commit without saying so is about commits.
func TestMomentOfWhatIsTold(t *testing.T) {
	log := turns("user: export the heights", "assistant: Done.", "user: good, commit it", "assistant: Committed.",
		"user: the village is always before the number, because the harbour master sorts them")
	said := of(log).Statements
	require.Len(t, said, 1)
	require.Equal(t, []digest.Moment{digest.Commit}, said[0].Moments)
}
