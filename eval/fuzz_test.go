package eval

import (
	"bytes"
	"encoding/json"
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

func FuzzParseCases(f *testing.F) {
	f.Add("cases:\n  - query: x\n    expect: [a.md#b, {text: c}]\n  - query: y\n    expect_nothing: true\n")
	f.Add("cases:\n  - query: x\n    expect_not: [a.md]\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		cases, err := ParseCases([]byte(text))
		if err != nil && len(cases) > 0 {
			t.Error("cases and an error")
		}
		for _, c := range cases {
			if c.ExpectNothing == (len(c.Expect)+len(c.ExpectNot) > 0) {
				t.Errorf("case %+v expects nothing and something, or neither", c)
			}
		}
	})
}
