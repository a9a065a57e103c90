package mcp

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
)

// Fields of _meta, for memories that have versions.
const (
	// versionField of a result is the version that has the change.
	versionField = "memcore/version"
	// atLeastField of a call asks for a memory that has at least a version.
	atLeastField = "memcore/at-least"
)

// SetVersion tells the client of ctx's call which version of the memory has its change.
func SetVersion(ctx context.Context, version int64) {
	if a, ok := ctx.Value(askKey{}).(*asking); ok {
		a.version = version
	}
}

// Traced returns ctx with the trace that the client of its call names in _meta, if any.
func Traced(ctx context.Context) context.Context {
	carrier := propagation.MapCarrier{}
	if a, ok := ctx.Value(askKey{}).(*asking); ok {
		for _, name := range propagation.TraceContext.Fields(propagation.TraceContext{}) {
			if value, ok := a.request.Params.Meta[name].(string); ok {
				carrier[name] = value
			}
		}
	}
	return propagation.TraceContext{}.Extract(ctx, carrier)
}

// AtLeast returns the version that the client of ctx's call wants at least, or 0.
func AtLeast(ctx context.Context) int64 {
	a, ok := ctx.Value(askKey{}).(*asking)
	if !ok {
		return 0
	}
	version, _ := a.request.Params.Meta[atLeastField].(float64)
	return int64(max(min(version, 1<<53), 0))
}
