package eval

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A report equals itself in a comparison.
func FuzzReport(f *testing.F) {
	f.Add([]byte(`{"queries":[{"collection":"c","id":"q","text":"t","scores":{"recall@5":1},"firstRelevant":1}]}`))
	f.Add([]byte(`{"queries":[{"id":"q","answerable":true,"scores":{"mrr":0.3,"recall@5":1}},{"id":"r","answerable":true,"scores":{"mrr":0.7}},{"id":"s"}]}`))
	f.Add([]byte(`{"queries":[{"collection":"c","id":"q"},{"collection":"c","id":"q"}]}`))
	f.Add([]byte(`{"queries":[{"id":"q","answerable":true,"scores":{"mrr":1}},{"id":"q","answerable":true,"scores":{"mrr":0.5}}]}`))
	f.Add([]byte(`{"queries":[{"id":"q","answerable":true,"scores":{"mrr":1e308}},{"id":"r","answerable":true,"scores":{"mrr":1e308}}]}`))
	f.Add([]byte(`{"queries":[{}]}`))
	f.Add([]byte(`{"queries":[{"id":"q","rank":-1,"scores":{"":-1e308,"b":1e308}}]} {`))
	f.Fuzz(func(t *testing.T, data []byte) {
		report, err := parseReport(bytes.NewReader(data))
		if err != nil || len(report.Queries) > 50 {
			return
		}
		same, err := Compare(report, report)
		if err != nil {
			require.ErrorIs(t, err, ErrNothingInCommon)
			return
		}
		for _, change := range same.Changes {
			require.Equal(t, change.Before, change.After, change.Score)
			require.False(t, change.Fell(), change.Score)
		}
		_, err = json.Marshal(same)
		require.NoError(t, err)
	})
}

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
