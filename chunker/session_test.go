package chunker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/chunker"
)

// log makes turns of texts that begin with the role.
func log(texts ...string) []chunker.Turn {
	var turns []chunker.Turn
	for i, text := range texts {
		role, said, _ := strings.Cut(text, ": ")
		turn := chunker.Turn{Line: i + 1, EndLine: i + 1, Role: role, Session: "s", Time: time.Date(2026, 5, 1, 9, i, 0, 0, time.UTC), Text: said}
		if role == "tool" {
			turn.Text, turn.Tools = "", []chunker.ToolUse{{Name: "bash", Input: said}}
		}
		turns = append(turns, turn)
	}
	return turns
}

const cause = "The worker stops because the queue closes its channel twice: once in Stop and once in the deferred call. I removed the deferred one, and the test of the shutdown passes now, a hundred times in a row."

func TestSessionKeepsWhatIsWorthKnowing(t *testing.T) {
	for _, tt := range []struct {
		name  string
		turns []chunker.Turn
		want  []string // "speaker | heading | text"
		left  map[string]int
	}{
		{"an exchange", log("user: why does the worker stop?", "assistant: Let me look at the queue.", "tool: grep -r close", "assistant: "+cause),
			[]string{"assistant | why does the worker stop? | " + cause}, map[string]int{chunker.LeftOutRequest: 1, chunker.LeftOutAnnouncement: 1, chunker.LeftOutTools: 1}},
		{"an acknowledgement asks nothing new", log("user: why does the worker stop?", "assistant: It may be the queue.", "user: go on", "assistant: "+cause),
			[]string{"assistant | why does the worker stop? | " + cause}, map[string]int{chunker.LeftOutRequest: 2, chunker.LeftOutShort: 1}},
		{"a correction", log("user: add a test", "assistant: Done.", "user: no, never use sleep in tests, pass a fake clock instead"),
			[]string{"user | add a test | no, never use sleep in tests, pass a fake clock instead"}, map[string]int{chunker.LeftOutRequest: 1, chunker.LeftOutShort: 1}},
		{"a question states nothing", log("user: should we always use the fake clock?"), nil, map[string]int{chunker.LeftOutRequest: 1}},
		{"pasted output", log("user: 2026-05-01 09:00:00 ERROR worker failed to start\n2026-05-01 09:00:01 INFO bye", "assistant: "+cause),
			[]string{"assistant | worker failed to start | " + cause}, map[string]int{chunker.LeftOutPasted: 1}},
		{"a short last answer", log("user: which port has staging?", "assistant: Staging listens on 5433, behind the proxy on 443; production has 5432."),
			[]string{"assistant | which port has staging? | Staging listens on 5433, behind the proxy on 443; production has 5432."}, map[string]int{chunker.LeftOutRequest: 1}},
		{"an answer that knows nothing", log("user: which port has staging?", "assistant: I'm not sure; the configuration doesn't say which port the staging database uses.",
			"user: and who would know?", "assistant: I couldn't find the owner of the staging database. Do you want me to look through the tickets of the team as well?"),
			nil, map[string]int{chunker.LeftOutRequest: 2, chunker.LeftOutUnknown: 2}},
		{"what was not found is a finding, with its cause", log("user: why is it slow?", "assistant: The client doesn't specify a timeout, so each request waits for the gateway. I set it to two seconds in pool.go, and the queue drains."),
			[]string{"assistant | why is it slow? | The client doesn't specify a timeout, so each request waits for the gateway. I set it to two seconds in pool.go, and the queue drains."}, map[string]int{chunker.LeftOutRequest: 1}},
		{"a cause beside what was not found", log("user: is the index wrong?", "assistant: I found nothing wrong with the index: the query is slow since it casts user_id to text.",
			"user: and the timeout?", "assistant: The timeout is not documented, but in the source it is 90 seconds (client.go:212)."),
			[]string{"assistant | is the index wrong? | I found nothing wrong with the index: the query is slow since it casts user_id to text.",
				"assistant | and the timeout? | The timeout is not documented, but in the source it is 90 seconds (client.go:212)."}, map[string]int{chunker.LeftOutRequest: 2}},
		{"what is only told is kept if no answer has it", log("user: The staging database listens on port 9771.", "assistant: OK."),
			[]string{"user | … | The staging database listens on port 9771."}, map[string]int{chunker.LeftOutShort: 1}},
		{"else the answer has it as its heading", log("user: The staging database listens on port 9771.", "assistant: "+cause),
			[]string{"assistant | The staging database listens on port 9771. | " + cause}, map[string]int{chunker.LeftOutRequest: 1}},
		{"after another exchange", log("user: why does the worker stop?", "assistant: "+cause, "user: Anna owns the billing module now.", "assistant: Noted."),
			[]string{"assistant | why does the worker stop? | " + cause, "user | why does the worker stop? | Anna owns the billing module now."}, map[string]int{chunker.LeftOutRequest: 1, chunker.LeftOutShort: 1}},
		{"an order that tells something is an order", log("user: The build was red since Monday. Fix it.", "assistant: Done."), nil, map[string]int{chunker.LeftOutRequest: 1, chunker.LeftOutShort: 1}},
		{"code alone", log("user: write it", "assistant: ```go\n"+strings.Repeat("x := 1\n", 60)+"```"), nil, map[string]int{chunker.LeftOutRequest: 1, chunker.LeftOutCode: 1}},
		{"what an agent writes to make room", log("system: " + cause), nil, map[string]int{chunker.LeftOutSummary: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			chunks, left := chunker.Session("log.jsonl", tt.turns, "", chunker.Options{})
			var got []string
			for _, c := range chunks {
				require.Len(t, c.Headings, 1)
				got = append(got, c.Speaker+" | "+c.Headings[0]+" | "+c.Text)
			}
			require.Equal(t, tt.want, got)
			require.Len(t, left, len(tt.turns))
			counts := map[string]int{}
			for _, reason := range left {
				if reason != "" {
					counts[reason]++
				}
			}
			require.Equal(t, tt.left, counts)
		})
	}
}

func TestSessionRedactsWhatItKeeps(t *testing.T) {
	var seen []int // lines of turns
	redact := func(line int, text string) string {
		seen = append(seen, line)
		return strings.ReplaceAll(text, "hunter22", "[redacted]")
	}
	const short = "The password is hunter22, now let me look at the queue."
	turns := log("user: why?", "assistant: "+short, "assistant: "+cause+" The password is hun<think>x</think>ter22.", "assistant: "+cause+" Use hunter22.")
	chunks, left := chunker.Session("log.jsonl", turns, "", chunker.Options{Redact: redact})
	require.Equal(t, []string{chunker.LeftOutRequest, chunker.LeftOutShort, "", ""}, left)
	require.Len(t, chunks, 2)
	require.Contains(t, chunks[0].Text, "The password is [redacted].", "parts that come together are seen")
	require.Contains(t, chunks[1].Text, "Use [redacted].")
	require.Equal(t, []int{3, 3, 4}, seen, "what is left out is not looked at, and what was is not looked at again")
}

func TestSessionOfText(t *testing.T) {
	long := "We looked at three ways. " + cause + "\n\n```sh\nmake test\n```\n\nNow let me update the changelog.\n\n```go\n" + strings.Repeat("x := 1\n", 30) + "```"
	chunks, _ := chunker.Session("log.jsonl", log("user: why?", "assistant: "+long), "", chunker.Options{})
	text := ""
	for _, c := range chunks {
		text += c.Text + "\n"
	}
	require.Contains(t, text, "make test", "a command that worked stays")
	require.NotContains(t, text, "changelog", "what will be done next says nothing")
	require.Equal(t, 3, strings.Count(text, "x := 1"), "long code is cut")
}

// A dialog goes on with the request, and what the user decides there is kept with what they were
// asked. A subagent's report is an answer to the request; without one, to what the subagent was
// asked.
func TestSessionOfDialogsAndSubagents(t *testing.T) {
	const options = "There are two brokers that fit: NATS keeps it simple, Kafka keeps it all."
	turns := log("user: set up the queue", "assistant: "+options, "user: NATS", "user: no", "user: # Queue\n\nNATS on mq-1.\n\n```sh\n"+strings.Repeat("make\n", 20)+"```", "subagent: Port 4222 is taken on mq-1.", "user: keep it in attic/", "assistant: It runs.")
	for i, asked := range map[int][2]string{2: {"choice", "Which\nbroker?"}, 3: {"rejection", "The user rejected Bash (rm -r data)"}, 4: {"plan", "The user approved this plan:"}, 6: {"rejection", "The user rejected Bash (rm -r old)"}} {
		turns[i].Dialog, turns[i].Asked = chunker.Dialog(asked[0]), asked[1]
	}
	turns[5].Speaker = "subagent Explore"
	chunks, left := chunker.Session("log.jsonl", turns, "", chunker.Options{})
	var got []string
	for _, c := range chunks {
		got = append(got, c.Speaker+" | "+strings.Join(c.Headings, "; ")+" | "+c.Text)
	}
	require.Equal(t, []string{
		"user | set up the queue | Which broker? NATS",
		"user | set up the queue | The user approved this plan:\n# Queue\n\nNATS on mq-1.\n\n```sh\nmake\nmake\nmake\n…\n```",
		"subagent Explore | set up the queue | Port 4222 is taken on mq-1.",
		"user | set up the queue | The user rejected Bash (rm -r old): keep it in attic/",
	}, got)
	require.Equal(t, []string{chunker.LeftOutRequest, chunker.LeftOutShort, "", chunker.LeftOutRequest, "", "", "", chunker.LeftOutShort}, left, "the answer before a dialog is not the last one")
	require.Equal(t, "set up the queue", chunker.Request(turns, ""))

	alone := log("subagent: Port 4222 is taken by the old broker on mq-1, which must go first.")
	alone[0].Asked = "Check the ports"
	chunks, _ = chunker.Session("log.jsonl", alone, "", chunker.Options{})
	require.Equal(t, []string{"Check the ports"}, chunks[0].Headings)

	talk := chunker.Conversation("log.jsonl", turns[2:3], chunker.Options{})
	require.Equal(t, "Which broker? NATS", talk[0].Text)
}

// A log in parts makes the same chunks as at once.
func TestSessionReadOn(t *testing.T) {
	turns := log("user: why does the worker stop?", "assistant: "+cause, "assistant: "+cause+" It also holds for the scheduler, which has a queue of its own.")
	all, _ := chunker.Session("log.jsonl", turns, "", chunker.Options{})
	rest, _ := chunker.Session("log.jsonl", turns[2:], "why does the worker stop?", chunker.Options{})
	require.Equal(t, all[len(all)-1:], rest)
}

func FuzzSession(f *testing.F) {
	f.Add("why?", cause, "go on", "")
	f.Add("```\n", "<details>", "| a | b |", "x\n\x00")
	f.Fuzz(func(t *testing.T, a, b, c, before string) {
		turns := log("user: "+a, "assistant: "+b, "user: "+c, "assistant: "+a+"\n\n"+b)
		chunks, _ := chunker.Session("log.jsonl", turns, before, chunker.Options{})
		again, _ := chunker.Session("log.jsonl", turns, before, chunker.Options{})
		require.Equal(t, chunks, again)
		seen := map[string]bool{}
		for _, chunk := range chunks {
			if chunk.StartLine < 1 || chunk.EndLine > 4 || strings.TrimSpace(chunk.Text) == "" || len(chunk.Headings) != 1 || seen[chunk.ID] {
				t.Fatalf("bad chunk %+v", chunk)
			}
			seen[chunk.ID] = true
		}
	})
}

// A message that only tells something is kept even if no answer to it is; an order or a question is
// not.
func TestTold(t *testing.T) {
	for text, kept := range map[string]bool{
		"The staging database listens on port 9771.":            true,
		"The fiscal year starts on 1 April.":                    true,
		"The payment provider needs a timeout of 47 seconds.":   true,
		"The invoices are stored in the bucket inv-h7.":         true,
		"Our CI runs on Buildkite.":                             true,
		"Anna owns the billing module now.":                     true,
		"Fiscal year of the ledger starts on 1 April.":          true,
		"Hotfix: the payment provider needs 47 seconds.":        true,
		"Deploys happen on Tuesdays.":                           true,
		"It was agreed that invoices go out on Mondays.":        true,
		"It turned out the proxy drops the header.":             true,
		"btw, my editor is Helix and my shell is fish":          true,
		"Die Datenbank läuft auf Port 5433.":                    true,
		"La base de datos está en el puerto 5433.":              true,
		"Notre serveur de test est derrière le proxy.":          true,
		"我们决定：发票保留 12 年。":                                       true,
		"测试数据库的端口是 7711。":                                       true,
		"データベースはポート5433で動いています。":                                true,
		"add a button to the login page":                        false,
		"Add users to the staging database, then run the seed.": false,
		"Fix the tests that are red.":                           false,
		"rename the scanner share to vole":                      false,
		"on the login page add a link to the terms":             false,
		"is the staging database on port 9771?":                 false,
		"The build is red. Can you look?":                       false,
		"thanks, that is all for now":                           false,
		"在登录页加一个按钮":                                             false,
		"请把端口改为 7711":                                           false,
		"Bitte die Datenbank auf Port 5433 legen.":              false,
		"Plan: add a page for each of the providers.":           false,
		"go on": false,
	} {
		chunks, _ := chunker.Session("s.jsonl", []chunker.Turn{{Role: "user", Text: text, Line: 1, EndLine: 1}, {Role: "assistant", Text: "OK.", Line: 2, EndLine: 2}}, "", chunker.Options{})
		require.Equal(t, kept, len(chunks) > 0, text)
	}
}
