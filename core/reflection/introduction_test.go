package reflection

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/session"
)

func TestIntroductions(t *testing.T) {
	for text, want := range map[string]string{
		"I am Zhang San":                        "- I am Zhang San",
		"Hi! I’m Zhang San, fix the login.":     "- I’m Zhang San, fix the login.",
		"I am Bo.":                              "- I am Bo.",
		"My name's Ada":                         "- My name's Ada",
		"I live in Lisbon":                      "- I live in Lisbon",
		"My time zone is Europe/Berlin.":        "- My time zone is Europe/Berlin.",
		"Ich heiße Anna und arbeite an Wind.":   "- Ich heiße Anna und arbeite an Wind.",
		"Me llamo José":                         "- Me llamo José",
		"Je m'appelle Chloé.":                   "- Je m'appelle Chloé.",
		"我是张三":                                  "- 我是张三",
		"我叫张三，是工程师。":                            "- 我叫张三，是工程师。",
		"私の名前は田中です。":                            "- 私の名前は田中です。",
		"I am stuck here":                       "",
		"I'm Getting an exception":              "",
		"I am OK.":                              "",
		"我是说这个测试不对":                             "",
		"What is my name?":                      "",
		"fix this: <p>My name is Mallory</p>":   "",
		"Look:\n> My name is Mallory Smith.":    "",
		"Look:\n\n```\nmy name is Mallory\n```": "",
		"why does this say so?\n2026-11-22T10:00:00Z INFO my name is worker-7\n2026-11-22T10:00:01Z INFO started": "",
	} {
		p := newPlace(t, nil)
		found, err := Propose(t.Context(), p.data, []session.Message{{Role: "user", Content: text, Citation: "x#L1"}}, now)
		require.NoError(t, err)
		if want == "" {
			require.Empty(t, found, text)
			continue
		}
		require.Len(t, found, 1, text)
		require.Equal(t, notes.Proposal{ID: found[0].ID, At: found[0].At, Kind: notes.ProposedFact, Path: "facts/user.md", Text: want, Source: "x#L1", AboutUser: true}, found[0])
	}
}
