package when

import "testing"

func TestOnly(t *testing.T) {
	for text, want := range map[string]bool{
		"what did we decide last week":               true,
		"What did I tell you on Tuesday?":            true,
		"what happened yesterday":                    true,
		"what have we done today":                    true,
		"What did I note on 5 May?":                  true,
		"which notes did we write yesterday":         true,
		"was habe ich gestern notiert":               true,
		"¿qué anoté ayer?":                           true,
		"昨天我写了什么":                                    true,
		"what was decided in the last three days?":   true,
		"summarize last week":                        true,
		"remind me what we discussed on May 7":       true,
		"was haben wir letzte Woche entschieden?":    true,
		"Was habe ich dir am Dienstag gesagt":        true,
		"¿qué decidimos la semana pasada?":           true,
		"qué te dije el martes":                      true,
		"qu'avons-nous décidé la semaine dernière ?": true,
		"qu'est-ce que je t'ai dit mardi":            true,
		"上周我们决定了什么":                                  true,
		"周二我跟你说了什么？":                                 true,
		"先週何を決めましたか":                                 true,
		"火曜日に何を言いましたか":                               true,

		"what did we decide about the cache last week": false,
		"what did I note about nginx yesterday":        false,
		"what do we do today":                          false,
		"what should we do tomorrow":                   false,
		"what did we decide":                           false,
		"do it today":                                  false,
		"fix what we broke yesterday":                  false,
		"yesterday":                                    false,
		"the release planned for 7 May":                false,
		"was machen wir heute":                         false,
		"上周我们对缓存决定了什么":                                 false,
		"先週キャッシュについて何を決めましたか":                          false,
		"how are you today":                            false,
		"what is due next week":                        false,
	} {
		if got := Only(text, Parse(text, now), now); got != want {
			t.Errorf("Only(%q) = %v, want %v", text, got, want)
		}
	}
}

func FuzzOnly(f *testing.F) {
	f.Add("what did we decide last week")
	f.Add("上周我们决定了什么\xff 05/07/2023 x")
	f.Fuzz(func(t *testing.T, text string) {
		if Only(text, nil, now) {
			t.Errorf("Only(%q) without a span", text)
		}
		Only(text, Parse(text, now), now)
	})
}
