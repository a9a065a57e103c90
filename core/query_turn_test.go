package core

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/store"
)

func TestQuestionsOfTurns(t *testing.T) {
	for prompt, question := range map[string]bool{
		"why did we not take DynamoDB":                   true,
		"Which port does staging postgres use?":          true,
		"Can a release be withdrawn?":                    true,
		"How can we deploy without downtime?":            true,
		"Can you tell me which port staging uses?":       true,
		"Could you please remind me why we left Heroku?": true,
		"page size":                                               true,
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
	} {
		require.Equal(t, tt.want, turnOf(tt.prompt).echoes(tt.text), tt.text)
	}
}

// Within a session, a few words are an order, and what the agent did is not asked of memory.
func TestQuestionsWithinASession(t *testing.T) {
	for prompt, want := range map[string][2]bool{ // at first, and later
		"page size":                     {true, false},
		"which port does staging use?":  {true, true},
		"did you update the changelog?": {true, false},
		"ok how do I deploy then":       {true, true},
		"add a test for the parser":     {false, false},
	} {
		require.Equal(t, want, [2]bool{turnOf(prompt).isQuestion(0), turnOf(prompt).isQuestion(4)}, prompt)
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

// Where the embedder does not know the script of a prompt, words judge, not cosines.
func TestCosinesOfTurns(t *testing.T) {
	minilm, e5 := relevance.For("minilm/all-MiniLM-L6-v2/1"), relevance.For("pack/multilingual-e5-small/1")
	for _, tt := range []struct {
		prompt   string
		embedder *relevance.Model
		why      string
	}{
		{"add an export of reports", minilm, "is nearer to the prompt than most of memory"},
		{"ajoute un export des rapports", minilm, "is nearer to the prompt than most of memory"},
		{"帮我写一个导出报表的功能", minilm, ""},
		{"帮我写一个导出报表的功能", e5, "is nearer to the prompt than most of memory"},
		{"добавь экспорт отчётов", minilm, ""},
	} {
		near, far := candidateOf(store.Record{Text: "发票编号不能有空缺"}), candidateOf(store.Record{Text: "每月第一个星期一"})
		near.setCosine(0.95)
		far.setCosine(0.1)
		asked := turnOf(tt.prompt)
		asked.model, asked.question = tt.embedder, false
		all := []*candidate{far, near}
		orderForTurn(relevance.ForTurns(), tt.embedder, all)
		q := relevance.Query{Text: tt.prompt, Chunks: 1000, Vectors: true, Words: []relevance.Word{{Text: "exports"}}}
		asked.decide(relevance.ForTurns(), q, all, 0.5)
		require.Equal(t, tt.why, near.sure, tt.prompt)
		require.Empty(t, far.sure, tt.prompt)
	}
}

// While embeddings are made, a lead is over the candidates that have one.
func TestLeadWhileEmbedding(t *testing.T) {
	var all []*candidate
	for i := range 12 {
		c := candidateOf(store.Record{Text: "a note"})
		if i < 3 {
			c.setCosine(0.3 + 0.05*float64(i))
		}
		all = append(all, c)
	}
	minilm := relevance.For("minilm/all-MiniLM-L6-v2/1")
	leads := func(all []*candidate) (leads []float64) {
		orderForTurn(relevance.ForTurns(), minilm, all)
		for _, c := range all {
			if c.Cosine != nil {
				leads = append(leads, c.lead)
			}
		}
		return leads
	}
	embedded := leads(all[:3])
	require.Len(t, embedded, 3)
	require.Equal(t, embedded, leads(all))
}
