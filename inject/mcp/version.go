package mcp

import "context"

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

// AtLeast returns the version that the client of ctx's call wants at least, or 0.
func AtLeast(ctx context.Context) int64 {
	a, ok := ctx.Value(askKey{}).(*asking)
	if !ok {
		return 0
	}
	version, _ := a.request.Params.Meta[atLeastField].(float64)
	return int64(max(min(version, 1<<53), 0))
}
