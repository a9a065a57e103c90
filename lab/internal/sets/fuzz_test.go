package sets

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Judgments name queries and documents of the collection.
func FuzzBEIR(f *testing.F) {
	f.Add("{\"_id\":\"d\",\"text\":\"a\"}\n", "{\"_id\":\"q\",\"text\":\"b\"}\n", "q\td\t1\n")
	f.Add("{\"_id\":\"d\"}\r\n\r\n{\"_id\":\"d\"}", "{\"_id\":7}", "query-id\tcorpus-id\tscore\nq\td\t-1")
	f.Add("[]", "null", "\t\t")
	f.Fuzz(func(t *testing.T, corpus, queries, judgments string) {
		folder := t.TempDir()
		for name, text := range map[string]string{corpusFile: corpus, queriesFile: queries, judgmentsFile: judgments} {
			path := filepath.Join(folder, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		}
		c, err := ReadBEIR(folder)
		if err != nil {
			require.ErrorContains(t, err, folder, "an error names the file")
			return
		}
		documents, asked := map[string]bool{}, map[string]bool{}
		for _, d := range c.Documents {
			require.False(t, d.ID == "" || documents[d.ID], d.ID)
			documents[d.ID] = true
		}
		for _, q := range c.Queries {
			require.False(t, q.ID == "" || asked[q.ID], q.ID)
			asked[q.ID] = true
		}
		for query, of := range c.Judgments {
			require.True(t, asked[query], query)
			for document, relevance := range of {
				require.True(t, documents[document], document)
				require.Positive(t, relevance)
			}
		}
	})
}
