package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

// Questions about the user get facts, in turns and searches, with and without vectors. Other
// questions do not.
func TestFactsAboutTheUser(t *testing.T) {
	const facts = "data/memory/facts/user.md"
	for _, vectors := range []bool{true, false} {
		m := newMemory(t)
		m.write("../notes/"+facts, "# User Facts\n\n> Summary: user name, language, role\n\n- Name: Zhang San\n- Language: prefers Chinese discussion, English code\n- Role: Full-stack developer\n")
		m.write("memories/preferences.md", "# Preferences\n\n- The editor is Helix\n")
		m.write("profile.md", "# Profile of the CPU\n\nMost time goes into name lookups of the user service.\n") // no such file
		if !vectors {
			m.options.Embedder = nil
		}
		memory := m.open()
		index(t, memory)
		for question, want := range map[string]string{
			"what's my name?":                facts,
			"who am i":                       facts,
			"我叫什么名字？":                        facts,
			"wie heiße ich?":                 facts,
			"¿cómo me llamo?":                facts,
			"comment je m'appelle ?":         facts,
			"私の名前は何ですか？":                     facts,
			"what do you know about me?":     facts,
			"which editor do I use?":         "memories/preferences.md",
			"why does my parser panic?":      "",
			"rename the variable my name":    "",
			"go on":                          "",
			"who wrote the ballad of Mulan?": "",
		} {
			for name, options := range map[string]core.RetrieveOptions{"turn": {}, "search": {MinSimilarity: 0.9}} {
				result, err := memory.RetrieveRelevant(t.Context(), question, options)
				require.NoError(t, err)
				got := ""
				if len(result.Hits) > 0 {
					got = result.Hits[0].Path
				}
				if want != "" {
					want := "notes/" + want
					require.Equal(t, want, got, "%s, %s, vectors %v", question, name, vectors)
				} else {
					require.Empty(t, got, "%s, %s, vectors %v", question, name, vectors)
				}
			}
		}
		for _, work := range []string{"can you change my editor?", "could you add my name?"} {
			result, err := memory.RetrieveRelevant(t.Context(), work, core.RetrieveOptions{Explain: true})
			require.NoError(t, err)
			for _, hit := range result.Hits {
				require.NotEqual(t, "says who the user is", hit.Explain.Why, work)
			}
		}
		result, err := memory.RetrieveRelevant(t.Context(), "who am i", core.RetrieveOptions{Not: []string{"notes/" + facts}})
		require.NoError(t, err)
		for _, hit := range result.Hits {
			require.NotEqual(t, "notes/"+facts, hit.Path, "what the session has is not given again")
		}
		result, err = memory.RetrieveRelevant(t.Context(), "who am i", core.RetrieveOptions{Path: "notes/team.md"})
		require.NoError(t, err)
		require.Empty(t, result.Hits, "of another document")
	}
}

// A file with sections answers with a fact, not with its summary.
func TestFactsInSections(t *testing.T) {
	m := newMemory(t)
	m.write("facts/user.md", "# User\n\n> Summary: user name, language, role\n\n## Basic Info\n\n- Name: Zhang San\n- Role: developer\n\n## Machines\n\n- Laptop: runs Fedora\n")
	memory := m.open()
	index(t, memory)
	for _, question := range []string{"who am I", "what's my name?", "Wie heiße ich?"} {
		result, err := memory.RetrieveRelevant(t.Context(), question, core.RetrieveOptions{})
		require.NoError(t, err)
		require.NotEmpty(t, result.Hits, question)
		require.Contains(t, result.Hits[0].Text, "Zhang San", question)
	}
}

// about-me.md is about the user in any folder, user.md only among memories.
func TestFilesAboutTheUser(t *testing.T) {
	for file, want := range map[string]bool{"about-me.md": true, "people/me.md": true, "memories/user.md": true, "tables/user.md": false} {
		m := newMemory(t)
		m.write(file, "# Jonas\n\nName: Jonas Weber. Lives in Graz.\n")
		m.write("deploy.md", "# Deploy\n\nDeploys run on Tuesdays from the release branch.\n")
		memory := m.open()
		index(t, memory)
		result, err := memory.RetrieveRelevant(t.Context(), "who am I?", core.RetrieveOptions{})
		require.NoError(t, err)
		require.Equal(t, want, len(result.Hits) > 0, file)
	}
}

// A rule answers if it says who the user is.
func TestRulesAboutTheUser(t *testing.T) {
	m := newMemory(t)
	m.write("BEANS.md", "# Ours\n\n## Auto-saved Memories\n\n- The user's name is Zhang San, and tests come first in this project, as everybody knows who has worked on it.\n")
	m.write("sub/AGENTS.md", "# Rules\n\n- Tests come first, and no change goes in without one, as everybody knows who has worked here for a while.\n")
	memory := m.open()
	index(t, memory)
	result, err := memory.RetrieveRelevant(t.Context(), "who am i?", core.RetrieveOptions{})
	require.NoError(t, err)
	require.Len(t, result.Hits, 1)
	require.Equal(t, "notes/BEANS.md", result.Hits[0].Path)
}
