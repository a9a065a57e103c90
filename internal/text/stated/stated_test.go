package stated

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShipped(t *testing.T) {
	m := Shipped()
	require.Len(t, m.Weights, Buckets*Outputs)
	require.NotEmpty(t, m.Fitted)
	for _, threshold := range m.Thresholds {
		require.True(t, threshold > 0.3 && threshold < 0.9, threshold)
	}
}

// None of these is in the data.
func TestClassify(t *testing.T) {
	later, opens := Place{First: true, Last: true}, Place{Opens: true, First: true, Last: true}
	for sentence, want := range map[string]struct{ states, stands bool }{
		"the lab is moved to the second floor, the old room has no power any more": {true, false},
		"wir haben nur noch zwei Lizenzen, mehr zahlt der Kunde nicht":             {true, false},
		"no, invoices have no number until they are sent":                          {true, false},
		"never touch the generated client, it is made from the schema":             {true, true},
		"nur Jonas darf auf den Produktionsserver, alle anderen über Tickets":      {true, true},
		"aquí no usamos mocks, la base de datos arranca en dos segundos":           {true, false},
		"数据库密码不要写进代码里":                                                             {true, true},
		"make the header a bit smaller":                                            {false, false},
		"why does the export take so long?":                                        {false, false},
		"it never loads":                                                           {false, false},
		"always show the newest comment first":                                     {false, false},
		"looks good, thanks":                                                       {false, false},
		"kannst du die Tabelle nach Datum ordnen":                                  {false, false},
	} {
		found, ok := Classify(sentence, later)
		if ok != want.states || found.Standing != want.stands || found.Standing != (found.Sure > 0) {
			t.Errorf("%q: %v, %+v", sentence, ok, found)
		}
	}
	_, ok := Classify("add a filter for the year", opens)
	require.False(t, ok)
}

func TestTokens(t *testing.T) {
	require.Equal(t, []string{begin, "don't", "use", code, ",", "run", code, "0", "times", "—", "提", "交", end},
		tokens("Don’t use `npm install`, run --all 12 times — 提交"))
}

func FuzzClassify(f *testing.F) {
	f.Add("never push to `main`", true)
	f.Add("提交前\xff必须…", false)
	f.Fuzz(func(t *testing.T, sentence string, opens bool) {
		for _, o := range Shipped().Score(Features(sentence, Place{Opens: opens})) {
			require.False(t, math.IsNaN(o) || math.IsInf(o, 0))
		}
	})
}
