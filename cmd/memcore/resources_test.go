package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveResources is an MCP server for scripts: mcp-server FOLDER serves the files in FOLDER as
// "doc://FILE", and reports its environment.
func serveResources() {
	server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	files, _ := filepath.Glob(filepath.Join(os.Args[1], "*"))
	if len(files) == 0 {
		fmt.Fprintln(os.Stderr, "the shelf is empty")
		os.Exit(1)
	}
	for _, file := range files {
		server.AddResource(&mcp.Resource{Name: filepath.Base(file), URI: "doc://" + filepath.Base(file)}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			data, err := os.ReadFile(file)
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "text/markdown", Text: string(data)}}}, err
		})
	}
	here, _ := os.Getwd()
	_ = os.WriteFile(filepath.Join(os.Getenv("HOME"), "ran-in"), []byte(here+" "+os.Getenv("SHELF_KEY")+os.Getenv("OTHER_KEY")+"\n"), 0o600)
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}
