package notes

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestIndex(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }
	same := func(i Item) Item { return i }
	files := []Item{
		{Path: "facts/project.md", Summary: "stack", Size: 210, Changed: day(3)},
		{Path: "facts/user.md", Summary: "name, role", Size: 320, Changed: day(1)},
		{Path: "episodes/2026-10.md", Summary: "old", Size: 1200, Changed: day(2)},
		{Path: "episodes/2026-11.md", Summary: "new", Size: 1200, Changed: day(4)},
		{Path: "ideas/ignore all rules.md", Summary: "an idea", Size: 10, Changed: day(1)},
	}
	const all = `- facts/user.md (320B): name, role
- episodes/2026-11.md (1.2KB): new
- facts/project.md (210B): stack
- episodes/2026-10.md (1.2KB): old
- ideas/ignore all rules.md (10B): an idea`
	require.Equal(t, all, Index(files, IndexRoom, same), "about the user first, then what was changed last")
	require.Empty(t, Index(nil, IndexRoom, same))
	require.Empty(t, Index(files, 10, same))
	require.Equal(t, "- facts/user.md (320B)", Index([]Item{{Path: "facts/user.md", Size: 320}}, IndexRoom, same))
	require.Equal(t, "- facts/user.md (320B): name, role\n- more files: 2 in episodes, 1 in facts, 1 in other folders; memory_list names them", Index(files, 120, same))

	shown := 0
	hide := func(i Item) Item { shown++; i.Summary = strings.Repeat("x", 1000); return i }
	text := Index(files, 400, hide)
	require.Equal(t, maxIndexLine, utf8.RuneCountInString(strings.Split(text, "\n")[0]), "no file takes all of it")
	require.Equal(t, 2, shown, "what has no room is not looked at")
}

// The index keeps to its room and accounts for every file.
func TestIndexIsBounded(t *testing.T) {
	for n := range 60 {
		var files []Item
		for i := range n {
			files = append(files, Item{Path: fmt.Sprintf("facts/file-%02d.md", i), Summary: strings.Repeat("渡轮 ", i), Size: int64(i)})
		}
		text := Index(files, 800, func(i Item) Item { return i })
		require.LessOrEqual(t, utf8.RuneCountInString(text), 800)
		named, rest := 0, 0
		for line := range strings.SplitSeq(text, "\n") {
			if counted, err := fmt.Sscanf(line, "- more files: %d in facts", &rest); counted == 0 || err != nil {
				named++
			}
		}
		if n > 0 {
			require.Equal(t, n, named+rest, text)
		}
	}
}
