package core

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/store"
)

func TestQuestionsOfTurns(t *testing.T) {
	for prompt, question := range map[string]bool{
		"why did we not take DynamoDB":                            true,
		"Which port does staging postgres use?":                   true,
		"Can a release be withdrawn?":                             true,
		"How can we deploy without downtime?":                     true,
		"Can you tell me which port staging uses?":                true,
		"Could you please remind me why we left Heroku?":          true,
		"ok how do I deploy then":                                 true,
		"so, where do the backups go?":                            true,
		"und wie lange gilt ein Gutschein?":                       true,
		"ok and why is it red?":                                   false,
		"and the other one?":                                      false,
		"so what does this do":                                    false,
		"Can you also reload the page when the role changes?":     false,
		"I've plenty of reports. Could we add a filter?":          false,
		"let's keep working, is the list of tasks still right?":   false,
		"Would it be possible to have the minimum as a date?":     false,
		"Kannst du die Tests für den Export schreiben?":           false,
		"这个组件有类型错误,可以帮我修复一下吗":                                     false,
		"add a test for the parser, which edge cases are missing": false,
	} {
		require.Equal(t, question, turnOf(prompt).question, prompt)
	}
}

func TestEchoes(t *testing.T) {
	for _, tt := range []struct {
		prompt, text string
		want         bool
	}{
		{"please write the examples of the tree in the way of the toast", "Please write the examples of the toast in the way of the tree", true},
		{"please write the examples of the tree in the way of the toast", "Examples of the toast are made by hand, since its timer needs a real clock.", false},
		{"请按照 combobox 的例子帮我编写 tree 的例子", "请按照 combobox 的例子帮我编写 toast 的例子", true},
		{"请按照 combobox 的例子帮我编写 tree 的例子", "toast 的计时器需要真实时钟，所以单元测试里不能使用假的定时器。", false},
		// a question has most words of its answer
		{"which server is the demo?", "the demo server is demo2.example.net now", false},
		{"which port does the staging database use?", "the staging database does use port 5433", false},
		{"which port does the staging database use?", "does the staging database use port 5433?", true},
		{"which port does the staging database use?", "the port which the staging database does use", true},
		{"use port 5432 of the staging database", "use port 5433 of the staging database", true},
	} {
		require.Equal(t, tt.want, turnOf(tt.prompt).echoes(tt.text), tt.text)
	}
}

// A prompt is a question for what it asks, wherever in a conversation it stands.
func TestQuestions(t *testing.T) {
	for prompt, want := range map[string]bool{
		"page size":                      true,
		"which port does staging use?":   true,
		"did you update the changelog?":  false,
		"ok how do I deploy then":        true,
		"add a test for the parser":      false,
		"can you add a test?":            false,
		"can you tell me the page size?": true,
	} {
		require.Equal(t, want, turnOf(prompt).question, prompt)
	}
}

func TestCountLater(t *testing.T) {
	of := func(path string, day int) *candidate {
		r := store.Record{Kind: source.KindConversation, Time: time.Date(2026, 5, day, 0, 0, 0, 0, time.UTC)}
		c := candidateOf(r)
		c.Path = path
		return c
	}
	document := candidateOf(store.Record{Kind: source.KindMarkdown})
	all := []*candidate{of("a", 1), of("b", 4), of("a", 2), of("c", 4), document}
	countLater(all)
	var later []int
	for _, c := range all {
		later = append(later, c.Later)
	}
	require.Equal(t, []int{2, 0, 2, 0, 0}, later)
}

// Programs also write prompts, through all roads.
func TestTurnOfAProgram(t *testing.T) {
	require.Equal(t, SilenceMachine, turnOf("<task-notification>\n<summary>Which port has staging?</summary>\n</task-notification>").silence)
	require.Empty(t, turnOf("Which port has staging?").silence)
}
