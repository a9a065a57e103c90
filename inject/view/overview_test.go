package view

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
)

func TestNextIsOneThing(t *testing.T) {
	check := Check{Name: "index", State: "problem", Text: "nothing is indexed here yet", Do: "memcore index"}
	for name, tt := range map[string]struct {
		o    Overview
		want string
	}{
		"off":       {Overview{Checks: []Check{check}}, "set memory.enabled in the configuration"},
		"a problem": {Overview{Enabled: true, Proposals: 2, Checks: []Check{{Text: "nobody can help"}, check}}, "memcore index"},
		"proposals": {Overview{Enabled: true, Proposals: 2}, "memcore memory pending"},
		"nothing":   {Overview{Enabled: true}, ""},
	} {
		p := overviewOf(tt.o)
		require.Equal(t, tt.o.Proposals > 0 && tt.want != "memcore memory pending", p.Waiting != nil, "%s: what waits is shown once", name)
		if tt.want == "" {
			require.Nil(t, p.Next, name)
			continue
		}
		require.Equal(t, tt.want, p.Next.Do, name)
		require.NotContains(t, p.Checks, *p.Next, name)
	}
}

func TestAboutTheUser(t *testing.T) {
	rows := aboutRows(Overview{AboutUser: []core.MemoryHit{{Path: "notes/about-me.md", StartLine: 1, Text: "# About me\n\nI am Ada.\n- I use tabs.\n"}, {Path: "facts/user.md", StartLine: 3, Text: strings.Repeat("- A fact.\n", 9)}},
		Sums: core.Sums{AboutUser: []string{"facts/user.md", "facts/preferences.md"}}})
	require.Equal(t, []aboutRow{{"notes/about-me.md", 1, []string{"I am Ada.", "- I use tabs."}}, {"facts/user.md", 3, slices.Repeat([]string{"- A fact."}, maxFacts)}, {"facts/preferences.md", 1, nil}}, rows)
}

func TestDocumentsHavePages(t *testing.T) {
	asked := core.DocumentsOptions{Find: "a&b", Skip: 150}
	p := documentsOf(asked, make([]core.DocumentInfo, 100), 300)
	require.Equal(t, 50, p.Previous)
	require.True(t, p.More())
	var page strings.Builder
	require.NoError(t, templates().ExecuteTemplate(&page, "memory", p))
	require.Contains(t, page.String(), `href="memory?find=a%26b&amp;kind=&amp;source=&amp;skip=50"`)
	require.Contains(t, page.String(), `href="memory?find=a%26b&amp;kind=&amp;source=&amp;skip=250"`)
	require.Equal(t, []int{151, 250}, []int{p.First, p.Last})
	p = documentsOf(core.DocumentsOptions{}, make([]core.DocumentInfo, 2), 2)
	require.False(t, p.More())
}

func TestSystemIsATree(t *testing.T) {
	segment := func(path, from string, first, last, tokens int) curated.Segment {
		return curated.Segment{Path: path, ImportedFrom: from, FirstLine: first, LastLine: last, Tokens: tokens}
	}
	p := systemOf(Layer{
		Limits: curated.Limits{Lines: 100, Tokens: 1000},
		Memory: curated.Memory{
			Usage: curated.Usage{Lines: 50, Tokens: 80, Bytes: 300},
			Files: []curated.File{{Path: "~/.beans/BEANS.md", Tier: curated.Global, Tokens: 20, Lines: 10}, {Path: "gone.md", Tier: curated.Project, Reason: "its folder is not trusted"},
				{Path: "BEANS.md", Tier: curated.Project, Tokens: 60, Lines: 40, Cut: true, LeftOut: "lines 50-90 of BEANS.md"}},
			Segments: []curated.Segment{segment("~/.beans/BEANS.md", "", 1, 10, 20), segment("BEANS.md", "", 1, 5, 10), segment("team.md", "BEANS.md", 1, 1, 20), segment("deep.md", "team.md", 2, 3, 25), segment("BEANS.md", "", 7, 9, 5)},
		}})
	require.Equal(t, []tierNode{
		{"Your own files", []folderNode{{"~/.beans", []fileNode{{Path: "~/.beans/BEANS.md", Lines: "lines 1–10", Tokens: 20, Share: "25 %"}}}}},
		{"The project", []folderNode{{".", []fileNode{{Path: "BEANS.md", Lines: "lines 1–5, lines 7–9", Tokens: 60, Share: "75 %", LeftOut: "lines 50-90 of BEANS.md",
			Imports: []fileNode{{Path: "team.md", Lines: "line 1", Tokens: 20, Imports: []fileNode{{Path: "deep.md", Lines: "lines 2–3", Tokens: 25}}}}}}}}},
	}, p.Tiers)
	require.Equal(t, "gone.md", p.Out[0].Path)
	require.Equal(t, []budgetRow{{"Lines", "50", "100", "50 %"}, {"Tokens", "80", "1k", "8 %"}}, p.Budget)
	systemOf(Layer{Memory: curated.Memory{Files: []curated.File{{Tier: curated.Project, Path: "a"}}, Segments: []curated.Segment{segment("a", "b", 1, 1, 1), segment("b", "a", 1, 1, 1)}}}) // ends
}

// Languages have names, also those that only their script tells.
func TestLanguagesAreNamed(t *testing.T) {
	p := overviewOf(Overview{Languages: map[string]int{"zh": 3, "de": 2, "xx": 1}})
	require.Equal(t, []languageRow{{"Chinese", 3}, {"German", 2}, {"xx", 1}}, p.Languages)
}
