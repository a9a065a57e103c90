package prompt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/text/prompt"
)

func TestAsksWhatWasSolved(t *testing.T) {
	for want, texts := range map[bool][]string{
		true: {
			"what bug did we fix last time?", "What bug did we fix last time?", "what bugs did you fix", "which problem did we solve in the last session?", "what did we fix last time?", "hi, what bug did we last fix?",
			"what was the last bug we fixed?", "What was the last bug?", "welchen Bug haben wir letztes Mal behoben?", "我们上次修复了什么bug？", "上次解决了什么问题？",
		},
		false: {
			"", "go on", "what bug did we fix in the parser?", "what did we fix yesterday in the proxy", "fix the last bug", "what was the last error in the log?", "why does my test fail?",
			"what did we decide last time?", "which bugs are open?", "write down what bug we fixed last time", "```\nwhat bug did we fix last time?\n```", "上次修复的问题又出现了",
		},
	} {
		for _, text := range texts {
			require.Equal(t, want, prompt.Parse(text).AsksWhatWasSolved(), text)
		}
	}
}

func FuzzAsksWhatWasSolved(f *testing.F) {
	for _, seed := range []string{"what bug did we fix last time?", "上次修复了什么", "\xff what did we fix", "?"} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, text string) { prompt.Parse(text).AsksWhatWasSolved() })
}
