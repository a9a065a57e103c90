package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/inject/httpapi"
)

// A service asks MCP servers when it indexes and follows them, never for a query.
func TestServiceAsksMCPServers(t *testing.T) {
	text := "The lighthouse pump stops at SIGUSR2."
	var asked atomic.Int64
	server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	server.AddResource(&mcp.Resource{Name: "pump", URI: "doc://pump"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		asked.Add(1)
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "doc://pump", Text: text}}}, nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	defer web.Close()
	t.Setenv("MEMCORE_MCP", `[{"name": "shelf", "url": "`+web.URL+`"}]`)

	s := openTestService(t, nil)
	kept := func() (all []source.Document) {
		for _, server := range s.Index().Servers(s.at) {
			listing, err := server.List(t.Context())
			require.NoError(t, err)
			all = append(all, listing.Documents...)
		}
		return all
	}
	require.Empty(t, s.Index().ReadServers(t.Context(), s.at, serversEvery).Warnings)
	require.Len(t, kept(), 1)
	report, err := s.Reindex(t.Context(), httpapi.IndexRequest{})
	require.NoError(t, err)
	require.Empty(t, report.Warnings)
	find := func() string {
		found, err := s.Search(t.Context(), httpapi.SearchRequest{Query: "lighthouse pump"})
		require.NoError(t, err)
		require.Len(t, found.Hits, 1)
		require.Equal(t, "mcp:shelf/doc://pump#L1", found.Hits[0].Source)
		return found.Hits[0].Text
	}
	require.Equal(t, text, find())
	require.EqualValues(t, 2, asked.Load(), "in the background and by indexing, not by the question")

	// Changes are found once the next read is due.
	text = "The lighthouse pump stops at SIGHUP."
	s.Index().ReadServers(t.Context(), s.at, serversEvery)
	require.EqualValues(t, 2, asked.Load())
	require.Empty(t, s.Index().ReadServers(t.Context(), s.at, time.Nanosecond).Warnings)
	require.EqualValues(t, 3, asked.Load())
	require.Equal(t, text, find())

	web.Close()
	report, err = s.Reindex(t.Context(), httpapi.IndexRequest{})
	require.NoError(t, err)
	require.Len(t, report.Warnings, 1)
	require.Contains(t, report.Warnings[0], "MCP server shelf was not read: ")
	require.Equal(t, text, find())
}
