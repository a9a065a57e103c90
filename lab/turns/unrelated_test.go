package turns

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/lab/internal/memories"
)

// minSame is the share of prompts that must be given the same after so many unrelated notes were
// added. It is what has been reached; the goal is that only a score within .01 of a limit changes.
var minSame = map[int]float64{3: 0.97, 30: 0.93, 300: 0.82}

// Notes about something else change little of what prompts are given.
func TestUnrelatedNotes(t *testing.T) {
	if testing.Short() {
		t.Skip("it embeds some thousand chunks")
	}
	embedder, err := memories.Embedder("")
	require.NoError(t, err)
	same, speaking, turns := map[int]int{}, map[int]int{}, map[int]int{}
	for _, folder := range []string{"said/tidewatch", "said/gridlock", "turns/parcels"} {
		var before []eval.AskedTurn
		for _, notes := range []int{0, 3, 30, 300} {
			asked := askBeside(t, memories.Opener(embedder), filepath.Join("../../testdata/eval", folder), notes)
			if notes == 0 {
				before = asked
				continue
			}
			for i, turn := range asked {
				turns[notes]++
				if len(turn.Given)+len(before[i].Given) > 0 {
					speaking[notes]++
				}
				if slices.Equal(citations(turn), citations(before[i])) {
					same[notes]++
				} else {
					t.Logf("%s with %d notes: %q: %v became %v", folder, notes, turn.Prompt, scores(before[i]), scores(turn))
				}
			}
		}
	}
	for notes, least := range minSame {
		changed := turns[notes] - same[notes]
		t.Logf("%d notes: %d of %d prompts are given something else, of %d that are given anything", notes, changed, turns[notes], speaking[notes])
		require.GreaterOrEqual(t, float64(same[notes])/float64(turns[notes]), least, "with %d notes", notes)
	}
}

// askBeside asks a set's prompts of memories that also have some notes about something else.
func askBeside(t *testing.T, open eval.Opener, folder string, notes int) []eval.AskedTurn {
	t.Helper()
	root := filepath.Join(t.TempDir(), filepath.Base(folder))
	require.NoError(t, os.CopyFS(root, os.DirFS(folder)))
	states, err := filepath.Glob(filepath.Join(root, "states", "*"))
	require.NoError(t, err)
	for _, state := range states {
		require.NoError(t, os.Mkdir(filepath.Join(state, "other"), 0o700))
		for i := range notes {
			require.NoError(t, os.WriteFile(filepath.Join(state, "other", fmt.Sprintf("%03d.md", i)), []byte(note(i)), 0o600))
		}
	}
	sets, err := eval.ReadTurns(root)
	require.NoError(t, err)
	report, err := eval.RunTurns(context.Background(), open, sets, eval.TurnsOptions{Retrieve: core.RetrieveOptions{Unrecorded: true}})
	require.NoError(t, err)
	return slices.DeleteFunc(report.Turns, func(a eval.AskedTurn) bool { return a.Kind == eval.KindSaidStart })
}

func citations(turn eval.AskedTurn) []string {
	var all []string
	for _, g := range turn.Given {
		all = append(all, fmt.Sprintf("%s#L%d-L%d", g.Path, g.Lines[0], g.Lines[1]))
	}
	slices.Sort(all)
	return all
}

func scores(turn eval.AskedTurn) []string {
	all := []string{}
	for _, g := range turn.Given {
		all = append(all, fmt.Sprintf("%s#L%d %.3f", g.Path, g.Lines[0], g.Score))
	}
	return all
}

// note makes a note of a kitchen, a garden or a choir; notes of less than 360 numbers differ.
func note(i int) string {
	pick := func(words []string, turn int) string { return words[turn%len(words)] }
	things := []string{"rhubarb", "leeks", "sourdough", "quince jelly", "broad beans", "apricots", "a walnut cake", "pumpkin soup"}
	places := []string{"by the south wall", "in the cellar", "on the balcony", "beside the compost", "in the blue pot"}
	people := []string{"Aunt Rosalind", "the altos", "our neighbour", "the beekeeper", "Grandfather", "the tenors", "the baker's daughter", "Uncle Ferdinand", "the sopranos"}
	verbs := []string{"praised", "forgot", "asked about", "brought", "would rather have had"}
	songs := []string{"the carol in four parts", "an old lullaby", "the second psalm", "a round about cuckoos", "the harvest hymn", "a madrigal"}
	months := []string{"March", "April", "May", "June", "July", "August", "September"}
	return fmt.Sprintf("# %s, %s\n\n%s did well %s this %s, although the frost came late and the snails were hungry. On Sunday %s %s it, "+
		"and we sang %s twice, the second time in tune. Next %s I shall water less, cover the seedlings with straw and keep a jar for the winter.\n",
		pick(things, i), pick(months, i/8), pick(things, i), pick(places, i), pick(months, i/8), pick(people, i), pick(verbs, i/9), pick(songs, i/5), pick(months, i/8+1))
}
