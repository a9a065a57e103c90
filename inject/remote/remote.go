package remote

import (
	"context"
	"time"

	"github.com/memcore/memcore/core"
)

// Remote makes a Client a core.Remote, so that a memory asks the service together with its index:
//
//	core.Options{Remote: client.Remote{Client: c}}
type Remote struct{ Client *Client }

var _ core.Remote = Remote{}

// Retrieve implements core.Remote.
func (r Remote) Retrieve(ctx context.Context, request string, o core.RetrieveOptions) (core.Result, error) {
	found, err := r.Client.Retrieve(ctx, RetrieveRequest{Query: request, Scope: o.Scope, Path: o.Path, Kind: o.Kind, Limit: o.Limit,
		TokenBudget: o.TokenBudget, MinSimilarity: max(o.MinSimilarity, 0), Explain: o.Explain,
		Since: stamp(o.Since), Until: stamp(o.Until), Now: present(o.Now)})
	return found.Result, err
}

// Search implements core.Remote.
func (r Remote) Search(ctx context.Context, query string, o core.SearchOptions) (core.Result, error) {
	return r.Client.Search(ctx, SearchRequest{Query: query, Scope: o.Scope, Path: o.Path, Kind: o.Kind, Limit: o.Limit,
		MinSimilarity: max(o.MinSimilarity, 0), Explain: o.Explain,
		Since: stamp(o.Since), Until: stamp(o.Until), Now: present(o.Now)})
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

// present is what "yesterday" counts from: the service may be in another time zone.
func present(now time.Time) string {
	if now.IsZero() {
		now = time.Now()
	}
	return now.Format(time.RFC3339)
}
