package tenants

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/postgres"
	"github.com/memcore/memcore/service/postgres/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

// operatorKey is that of all worlds.
const operatorKey = "operator-0123456789-0123456789-0123456789"

// A database of a test, which is empty.
type database struct{ owner, node string } // URLs

func newDatabase(t *testing.T) (d database) {
	t.Helper()
	d.owner, d.node = postgrestest.Database(t)
	return d
}

// open opens it as a node.
func (d database) open(t *testing.T) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), d.node, postgres.Options{Connections: 8})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return db
}

// documents are all of a tenant.
func (d database) documents(t *testing.T, tenant string) (all []postgres.Exported) {
	t.Helper()
	db := d.open(t)
	known, err := db.Tenants().Get(t.Context(), tenant)
	require.NoError(t, err)
	scopes, err := db.Tenants().Scopes(t.Context(), known.ID)
	require.NoError(t, err)
	for one, err := range db.Export(t.Context(), known.ID, scopes) {
		require.NoError(t, err)
		all = append(all, one)
	}
	return all
}

// find returns the tables that have a text, in any row.
func (d database) find(t *testing.T, text string) (tables []string) {
	t.Helper()
	ctx := context.Background()
	c, err := pgx.Connect(ctx, d.owner)
	require.NoError(t, err)
	defer c.Close(ctx)
	rows, err := c.Query(ctx, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'memcore'")
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	for _, name := range names {
		var found bool
		require.NoError(t, c.QueryRow(ctx, fmt.Sprintf("SELECT EXISTS (SELECT FROM memcore.%s AS r WHERE position($1 IN r::text) > 0)", pgx.Identifier{name}.Sanitize()), text).Scan(&found))
		if found {
			tables = append(tables, name)
		}
	}
	return tables
}

// operate does what has to succeed with the operator's key, below /v1/tenants.
func (w *world) operate(c call) string {
	w.t.Helper()
	path := "/v1/tenants"
	if c.path != "" {
		path += "/" + c.path
	}
	r, err := http.NewRequestWithContext(w.t.Context(), c.method, w.nodes[c.node].URL+path, strings.NewReader(c.body))
	require.NoError(w.t, err)
	r.Header.Set("Authorization", "Bearer "+operatorKey)
	answer, err := w.client.Do(r)
	require.NoError(w.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusOK, answer.StatusCode, "%s", text)
	return string(text)
}

func (w *world) createTenant(name string) {
	w.t.Helper()
	w.operate(call{method: "POST", body: fmt.Sprintf(`{"name": %q}`, name)})
}

// createKey makes a key of a tenant.
func (w *world) createKey(tenant string, k service.Key) (made service.Key) {
	w.t.Helper()
	body, err := json.Marshal(k)
	require.NoError(w.t, err)
	a := w.must(call{method: "POST", tenant: tenant, path: "/keys", key: "Bearer " + operatorKey, body: string(body)})
	text, _, _ := strings.Cut(a.text, "\n")
	require.NoError(w.t, json.Unmarshal([]byte(text), &made))
	return made
}
