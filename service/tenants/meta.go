package tenants

import (
	"context"

	"go.opentelemetry.io/otel/propagation"

	"github.com/memcore/memcore/inject/mcp"
)

// Fields of _meta of calls over MCP.
const (
	// versionField of a result is the version that has the change.
	versionField = "memcore/version"
	// atLeastField of a call asks for a memory that has at least a version.
	atLeastField = "memcore/at-least"
)

// traced returns ctx with the trace that the client of its call names, if any.
func traced(ctx context.Context) context.Context {
	carrier := propagation.MapCarrier{}
	for _, name := range propagation.TraceContext.Fields(propagation.TraceContext{}) {
		if value, ok := mcp.Meta(ctx, name).(string); ok {
			carrier[name] = value
		}
	}
	return propagation.TraceContext{}.Extract(ctx, carrier)
}

// atLeast returns the version that the client of ctx's call wants at least, or 0.
func atLeast(ctx context.Context) int64 {
	version, _ := mcp.Meta(ctx, atLeastField).(float64)
	return int64(max(min(version, 1<<53), 0))
}
