package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const rows = `{"part":"kill -9","case":"memcore save","count":1200,"unit":"kills","result":"nothing | lost","failed":false}
{"part":"kill -9","case":"memcore forget","count":8,"unit":"kills","result":"nothing lost","failed":false}
{"part":"full disk","case":"memcore index","count":3,"unit":"levels","result":"said","failed":false}
`

func TestTable(t *testing.T) {
	dir := t.TempDir()
	name, doc := filepath.Join(dir, "rows"), filepath.Join(dir, "doc.md")
	require.NoError(t, os.WriteFile(name, []byte(rows), 0o644))
	require.NoError(t, os.WriteFile(doc, []byte("# Doc\n\n<!-- torture -->\nold\n<!-- /torture -->\n\nEnd.\n"), 0o644))

	var out bytes.Buffer
	require.NoError(t, run(&out, name, "kill -9,full disk", doc, "Today."))
	const table = "Today.\n\n| attack | cases | count | failed |\n|---|---:|---:|---:|\n| full disk | 1 | 3 levels | 0 |\n| kill -9 | 2 | 1,208 kills | 0 |\n"
	const cases = "\n| attack | on | count | result |\n|---|---|---:|---|\n" +
		"| full disk | memcore index | 3 levels | said |\n| kill -9 | memcore forget | 8 kills | nothing lost |\n| kill -9 | memcore save | 1,200 kills | nothing \\| lost |\n"
	require.Equal(t, table+cases, out.String())
	written, err := os.ReadFile(doc)
	require.NoError(t, err)
	require.Equal(t, "# Doc\n\n<!-- torture -->\n"+table+"<!-- /torture -->\n\nEnd.\n", string(written))
}

func TestTableFails(t *testing.T) {
	for _, tt := range []struct{ name, rows, want, doc, err string }{
		{"a failed row", `{"part":"load","case":"soak","failed":true}`, "", "", "load: soak: failed"},
		{"a part without a row", rows, "kill -9,clock", "", "clock: no row was reported"},
		{"what is no row", "{", "", "", "reading the rows"},
		{"a document without a place", rows, "", "# Doc\n", "has no lines"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			name, doc := filepath.Join(dir, "rows"), ""
			require.NoError(t, os.WriteFile(name, []byte(tt.rows), 0o644))
			if tt.doc != "" {
				doc = filepath.Join(dir, "doc.md")
				require.NoError(t, os.WriteFile(doc, []byte(tt.doc), 0o644))
			}
			require.ErrorContains(t, run(&bytes.Buffer{}, name, tt.want, doc, ""), tt.err)
		})
	}
}
