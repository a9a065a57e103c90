package mcp

import "context"

// Meta returns a field of _meta of ctx's call, or nil.
func Meta(ctx context.Context, name string) any {
	if a, ok := ctx.Value(askKey{}).(*asking); ok {
		return a.request.Params.Meta[name]
	}
	return nil
}

// SetMeta sets a field of _meta of the result of ctx's call.
func SetMeta(ctx context.Context, name string, value any) {
	if a, ok := ctx.Value(askKey{}).(*asking); ok {
		if a.meta == nil {
			a.meta = map[string]any{}
		}
		a.meta[name] = value
	}
}
