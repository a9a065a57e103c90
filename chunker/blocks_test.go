package chunker

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBlocks(t *testing.T) {
	text := "intro\nstill\n\n# A *title*\n\n- one\n- two\n\n```go\n# no heading\n\nx\n```\nSetext\n===\n"
	require.Equal(t, []Block{
		{Start: 0, End: 2, Prose: true},
		{Start: 3, End: 4, Level: 1, Title: "A title"},
		{Start: 5, End: 7, List: true},
		{Start: 8, End: 13, Code: true},
		{Start: 13, End: 15, Level: 1, Title: "Setext"},
	}, slices.Collect(Blocks(text)))
	for b := range Blocks(text) {
		require.Zero(t, b.Start)
		break
	}
}

// Blocks are ordered, apart, and hold every nonblank line.
func FuzzBlocks(f *testing.F) {
	f.Add("# a\n\nb\n- c\n  - d\n```\n\n# e\n```\n")
	f.Add("> a\n\n\n***\n<!-- x\n\ny -->\n")
	f.Fuzz(func(t *testing.T, in string) {
		text, _ := clean([]byte(in))
		lines := strings.Split(text, "\n")
		at := 0
		for b := range Blocks(text) {
			if b.Start < at || b.End <= b.Start || b.End > len(lines) {
				t.Fatalf("block %+v behind line %d of %d in %q", b, at, len(lines), text)
			}
			for ; at < b.Start; at++ {
				if !isBlank(lines[at]) {
					t.Fatalf("line %d of %q is in no block", at, text)
				}
			}
			at = b.End
		}
		for ; at < len(lines); at++ {
			if !isBlank(lines[at]) {
				t.Fatalf("line %d of %q is in no block", at, text)
			}
		}
	})
}

func TestSplitFrontmatter(t *testing.T) {
	for _, tt := range []struct {
		name, in, text string
		meta           map[string]any
		lines          int
		wrong          int // line of the error, 0 for none
	}{
		{"none", "# a\n", "# a\n", nil, 0, 0},
		{"YAML", "---\na: 1\n---\ntext", "text", map[string]any{"a": 1}, 3, 0},
		{"TOML", "+++\na = 1\n+++\ntext", "text", map[string]any{"a": int64(1)}, 3, 0},
		{"empty", "---\n---\ntext", "text", map[string]any{}, 2, 0},
		{"mark and \\r\\n", "\ufeff---\r\na: b\r\n---\r\ntext\r\n", "text\n", map[string]any{"a": "b"}, 3, 0},
		{"broken", "---\na: b\n\tc\n---\ntext", "text", nil, 4, 3},
		{"a rule", "---\ntext", "---\ntext", nil, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			meta, text, lines, err := SplitFrontmatter([]byte(tt.in))
			require.Equal(t, tt.text, text)
			require.Equal(t, tt.meta, meta)
			require.Equal(t, tt.lines, lines)
			var broken *FrontmatterError
			if tt.wrong == 0 {
				require.NoError(t, err)
			} else {
				require.ErrorAs(t, err, &broken)
				require.Equal(t, tt.wrong, broken.Line)
			}
		})
	}
}

func TestKindsOfBlocks(t *testing.T) {
	text := "As follows:\n\n- one item that is long enough to be looked into by itself\n  - nested\n\n  ```\n  code\n  ```\n- two\n\n***\n\n| a | b |\n|---|---|\n| c | d |\n\n<!-- x -->\n"
	blocks := slices.Collect(Blocks(text))
	require.True(t, blocks[0].Intro)
	require.Equal(t, Block{Start: 2, End: 9, List: true}, blocks[1])
	require.True(t, blocks[2].Intro)
	require.True(t, blocks[3].Table)
	require.True(t, blocks[4].Comment)
}

func TestSentences(t *testing.T) {
	text := "  One, e.g. this. Two!\nThree goes\non  "
	var got []string
	for start, end := range Sentences(text) {
		got = append(got, text[start:end])
	}
	require.Equal(t, []string{"One, e.g. this.", "Two!", "Three goes\non"}, got)
}
