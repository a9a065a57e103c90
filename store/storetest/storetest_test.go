package storetest

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

// The kit runs on indexes that each break one clause: its check must fail.

// A vectorFault changes a store.VectorIndex; nil fields change nothing.
type vectorFault struct {
	store.VectorIndex
	put          func(ix store.VectorIndex, recs []store.Record) error
	commit       func(ix store.VectorIndex) error
	nearest      func(ix store.VectorIndex, ctx context.Context, vec []float32, k int, f store.Filter) ([]store.Hit, error)
	document     func(recs []store.Record) []store.Record
	count        func(ix store.VectorIndex) (int, error)
	delete       func(ix store.VectorIndex, ids []string) error
	similarities func(found map[string]float64, err error) (map[string]float64, error)
	discard      func()
	purge        func() error
	close        func() error
}

func (x *vectorFault) Put(ctx context.Context, recs []store.Record) error {
	if x.put != nil {
		return x.put(x.VectorIndex, recs)
	}
	return x.VectorIndex.Put(ctx, recs)
}

func (x *vectorFault) Delete(ctx context.Context, ids []string) error {
	if x.delete != nil {
		return x.delete(x.VectorIndex, ids)
	}
	return x.VectorIndex.Delete(ctx, ids)
}

func (x *vectorFault) Commit(ctx context.Context) error {
	if x.commit != nil {
		return x.commit(x.VectorIndex)
	}
	return x.VectorIndex.Commit(ctx)
}

func (x *vectorFault) Discard() {
	if x.discard != nil {
		x.discard()
		return
	}
	x.VectorIndex.Discard()
}

func (x *vectorFault) Purge(ctx context.Context) error {
	if x.purge != nil {
		return x.purge()
	}
	return x.VectorIndex.Purge(ctx)
}

func (x *vectorFault) Nearest(ctx context.Context, vec []float32, k int, f store.Filter) ([]store.Hit, error) {
	if x.nearest != nil {
		return x.nearest(x.VectorIndex, ctx, vec, k, f)
	}
	return x.VectorIndex.Nearest(ctx, vec, k, f)
}

func (x *vectorFault) Similarities(ctx context.Context, vec []float32, ids []string) (map[string]float64, error) {
	found, err := x.VectorIndex.Similarities(ctx, vec, ids)
	if x.similarities != nil {
		return x.similarities(found, err)
	}
	return found, err
}

func (x *vectorFault) Document(ctx context.Context, path string) ([]store.Record, error) {
	recs, err := x.VectorIndex.Document(ctx, path)
	if x.document != nil {
		return x.document(recs), err
	}
	return recs, err
}

func (x *vectorFault) Count(ctx context.Context) (int, error) {
	if x.count != nil {
		return x.count(x.VectorIndex)
	}
	return x.VectorIndex.Count(ctx)
}

func (x *vectorFault) Close() error {
	if x.close != nil {
		return x.close()
	}
	return x.VectorIndex.Close()
}

// hits is a fault in the hits of a search.
func hits(change func([]store.Hit) []store.Hit) *vectorFault {
	return &vectorFault{nearest: func(ix store.VectorIndex, ctx context.Context, vec []float32, k int, f store.Filter) ([]store.Hit, error) {
		hits, err := ix.Nearest(ctx, vec, k, f)
		return change(hits), err
	}}
}

// filters is a fault in the meaning of a filter.
func filters(change func(store.Filter) store.Filter) *vectorFault {
	return &vectorFault{nearest: func(ix store.VectorIndex, ctx context.Context, vec []float32, k int, f store.Filter) ([]store.Hit, error) {
		return ix.Nearest(ctx, vec, k, change(f))
	}}
}

var background = context.Background()

func TestTheKitNoticesVectorFaults(t *testing.T) {
	for _, tt := range []struct {
		check string
		fault func() *vectorFault // a new one for each index
	}{
		{"recs may be changed after Put", func() *vectorFault {
			var kept [][]store.Record
			return &vectorFault{
				put: func(_ store.VectorIndex, recs []store.Record) error { kept = append(kept, recs); return nil },
				commit: func(ix store.VectorIndex) error {
					for _, recs := range kept {
						ix.Put(background, recs)
					}
					return ix.Commit(background)
				},
			}
		}},
		{"a bad vector refuses its Put and no other", func() *vectorFault {
			return &vectorFault{put: func(ix store.VectorIndex, recs []store.Record) error {
				for _, rec := range recs { // so that those before the bad one are put
					if err := ix.Put(background, []store.Record{rec}); err != nil {
						return err
					}
				}
				return nil
			}}
		}},
		{"random changes, commits and discards agree with a map", func() *vectorFault {
			return &vectorFault{put: func(ix store.VectorIndex, recs []store.Record) error {
				return errors.Join(ix.Put(background, recs), ix.Commit(background))
			}}
		}},
		{"an uncommitted batch is lost in a crash", func() *vectorFault {
			return &vectorFault{put: func(ix store.VectorIndex, recs []store.Record) error {
				return errors.Join(ix.Put(background, recs), ix.Commit(background))
			}}
		}},
		{"random changes, commits and discards agree with a map", func() *vectorFault { return &vectorFault{discard: func() {}} }},
		{"Purge leaves nothing on disk of what was deleted", func() *vectorFault {
			return &vectorFault{purge: func() error { return nil }}
		}},
		{"a Commit that fails drops its batch", func() *vectorFault {
			return &vectorFault{commit: func(ix store.VectorIndex) error { return ix.Commit(background) }}
		}},
		{"random changes, commits and discards agree with a map", func() *vectorFault {
			return &vectorFault{commit: func(store.VectorIndex) error { return nil }}
		}},
		{"random changes, commits and discards agree with a map", func() *vectorFault {
			return &vectorFault{delete: func(ix store.VectorIndex, ids []string) error {
				if found, _ := ix.Similarities(background, vectorOf("query"), ids); len(found) < len(ids) {
					return errors.New("unknown")
				}
				return ix.Delete(background, ids)
			}}
		}},
		{"random changes, commits and discards agree with a map", func() *vectorFault {
			return &vectorFault{delete: func(store.VectorIndex, []string) error { return nil }}
		}},
		{"random changes, commits and discards agree with a map", func() *vectorFault {
			var gone []string
			return &vectorFault{
				delete: func(_ store.VectorIndex, ids []string) error { gone = append(gone, ids...); return nil },
				commit: func(ix store.VectorIndex) error {
					return errors.Join(ix.Delete(background, gone), ix.Commit(background))
				},
			}
		}},
		{"IDs of another form are refused", func() *vectorFault {
			return &vectorFault{put: func(ix store.VectorIndex, recs []store.Record) error { ix.Put(background, recs); return nil }}
		}},
		{"Document is ordered by line, then ID", func() *vectorFault {
			return &vectorFault{document: func(recs []store.Record) []store.Record { slices.Reverse(recs); return recs }}
		}},
		{"a search has the k best hits, by score, then ID", func() *vectorFault {
			return hits(func(all []store.Hit) []store.Hit {
				slices.SortFunc(all, func(a, b store.Hit) int { return cmp.Compare(b.Score, a.Score) })
				for i := 1; i < len(all); i++ {
					if all[i].Score == all[i-1].Score {
						all[i], all[i-1] = all[i-1], all[i]
					}
				}
				return all
			})
		}},
		{"a search has the k best hits, by score, then ID", func() *vectorFault {
			return &vectorFault{nearest: func(ix store.VectorIndex, ctx context.Context, vec []float32, k int, f store.Filter) ([]store.Hit, error) {
				return ix.Nearest(ctx, vec, max(k, 1), f)
			}}
		}},
		{"filters narrow a search", func() *vectorFault {
			return filters(func(f store.Filter) store.Filter { f.Not = nil; return f })
		}},
		{"filters narrow a search", func() *vectorFault {
			return filters(func(f store.Filter) store.Filter { f.Kind = ""; return f })
		}},
		{"Since and Until bound the time", func() *vectorFault {
			return filters(func(f store.Filter) store.Filter { f.Since = f.Since.Truncate(24 * time.Hour); return f })
		}},
		{"Since and Until bound the time", func() *vectorFault {
			return filters(func(f store.Filter) store.Filter { f.Until = f.Until.Add(time.Second); return f })
		}},
		{"paths in filters are plain text", func() *vectorFault {
			return filters(func(f store.Filter) store.Filter { f.Path = strings.ReplaceAll(f.Path, "'", "''"); return f })
		}},
		{"records come back field by field", func() *vectorFault {
			return hits(func(all []store.Hit) []store.Hit {
				for i := range all {
					all[i].Record.Text = strings.TrimSpace(all[i].Record.Text)
				}
				return all
			})
		}},
		{"records come back field by field", func() *vectorFault {
			return &vectorFault{document: func(recs []store.Record) []store.Record {
				for i := range recs {
					recs[i].Time = recs[i].Time.In(time.FixedZone("here", 3600))
				}
				return recs
			}}
		}},
		{"records come back field by field", func() *vectorFault {
			return hits(func(all []store.Hit) []store.Hit {
				for i := range all {
					all[i].Record.Vector = []float32{1}
				}
				return all
			})
		}},
		{"answers may be changed by the caller", func() *vectorFault {
			var once sync.Once
			var cached []store.Hit
			return hits(func(all []store.Hit) []store.Hit {
				once.Do(func() { cached = all })
				return cached
			})
		}},
		{"another open index sees a commit at its next read", func() *vectorFault {
			var once sync.Once
			n := 0
			return &vectorFault{count: func(ix store.VectorIndex) (int, error) {
				once.Do(func() { n, _ = ix.Count(background) })
				return n, nil
			}}
		}},
		{"reads beside commits are each of one commit", func() *vectorFault {
			return &vectorFault{put: func(ix store.VectorIndex, recs []store.Record) error {
				return errors.Join(ix.Put(background, recs), ix.Commit(background))
			}}
		}},
		{"a cancelled call answers with the reason", func() *vectorFault {
			return &vectorFault{nearest: func(ix store.VectorIndex, _ context.Context, vec []float32, k int, f store.Filter) ([]store.Hit, error) {
				return ix.Nearest(background, vec, k, f)
			}}
		}},
		{"after Close there is only ErrClosed, which names the index", func() *vectorFault {
			return &vectorFault{close: func() error { return nil }}
		}},
		{"random changes, commits and discards agree with a map", func() *vectorFault {
			var puts atomic.Int64
			return &vectorFault{put: func(ix store.VectorIndex, recs []store.Record) error {
				if puts.Add(1)%7 == 0 && len(recs) > 1 {
					recs = recs[1:]
				}
				return ix.Put(background, recs)
			}}
		}},
		{"vectors of another length are refused", func() *vectorFault {
			return &vectorFault{similarities: func(found map[string]float64, _ error) (map[string]float64, error) { return found, nil }}
		}},
		{"random changes, commits and discards agree with a map", func() *vectorFault {
			return &vectorFault{similarities: func(found map[string]float64, err error) (map[string]float64, error) {
				for id := range found {
					found[id] *= 0.999
				}
				return found, err
			}}
		}},
		{"Nearest agrees with brute force", func() *vectorFault {
			return hits(func(all []store.Hit) []store.Hit { return slices.Delete(all, 0, min(1, len(all))) })
		}},
		{"scores are cosines", func() *vectorFault {
			return &vectorFault{similarities: func(found map[string]float64, err error) (map[string]float64, error) {
				for id, score := range found {
					found[id] = (score + 1) / 2
				}
				return found, err
			}}
		}},
	} {
		t.Run(tt.check, func(t *testing.T) {
			t.Parallel()
			notices(t, tt.check, append(slices.Clone(shared), vectorOnly...), vectorKind(func(dir string, dimension int) store.VectorIndex {
				ix, err := flat.Open(background, dir, dimension)
				require.NoError(t, err)
				t.Cleanup(func() { ix.Close() })
				broken := tt.fault()
				broken.VectorIndex = ix
				return broken
			}))
		})
	}
}

// A wordFault changes a store.KeywordIndex.
type wordFault struct {
	store.KeywordIndex
	query   func(string) string
	matches func(store.Matches) store.Matches
	scores  func(found map[string]store.Score, ids []string)
}

func (x *wordFault) Match(ctx context.Context, query string, k int, f store.Filter) (store.Matches, error) {
	if x.query != nil {
		query = x.query(query)
	}
	matches, err := x.KeywordIndex.Match(ctx, query, k, f)
	if x.matches != nil {
		matches = x.matches(matches)
	}
	return matches, err
}

func (x *wordFault) Scores(ctx context.Context, query string, ids []string) (map[string]store.Score, error) {
	found, err := x.KeywordIndex.Scores(ctx, query, ids)
	if x.scores != nil {
		x.scores(found, ids)
	}
	return found, err
}

func TestTheKitNoticesKeywordFaults(t *testing.T) {
	for _, tt := range []struct {
		check string
		fault wordFault
	}{
		{"Match finds the records that share a term", wordFault{query: func(q string) string { return strings.Fields(q)[0] }}},
		{"more of the query and rarer terms score higher", wordFault{matches: func(m store.Matches) store.Matches {
			slices.Reverse(m.Hits)
			return m
		}}},
		{"a query without a term matches nothing", wordFault{query: func(q string) string {
			if strings.TrimSpace(q) == "" {
				return "text"
			}
			return q
		}}},
		{"Ceiling bounds every score", wordFault{matches: func(m store.Matches) store.Matches { m.Ceiling = min(m.Ceiling, 1); return m }}},
		{"no character is an operator", wordFault{query: func(q string) string {
			before, _, _ := strings.Cut(q, "-")
			return before
		}}},
		{"any text is a query", wordFault{matches: func(m store.Matches) store.Matches {
			if len(m.Hits) > 0 {
				m.Ceiling = m.Hits[0].Score / 2
			}
			return m
		}}},
		{"Scores agree with Match", wordFault{scores: func(found map[string]store.Score, ids []string) {
			for _, id := range ids {
				found[id] = store.Score{Record: found[id].Record, Document: found[id].Document}
			}
		}}},
		{"documents are scored as a whole", wordFault{scores: func(found map[string]store.Score, _ []string) {
			for id, score := range found {
				found[id] = store.Score{Record: score.Record, Document: score.Record}
			}
		}}},
	} {
		t.Run(tt.check, func(t *testing.T) {
			t.Parallel()
			notices(t, tt.check, keywordOnly, keywordKind(func(dir string) store.KeywordIndex {
				ix, err := keyword.Open(background, dir)
				require.NoError(t, err)
				t.Cleanup(func() { ix.Close() })
				broken := tt.fault
				broken.KeywordIndex = ix
				return &broken
			}))
		})
	}
}

// notices requires that the named check fails for the kind.
func notices(t *testing.T, name string, checks []check, k kind) {
	t.Helper()
	i := slices.IndexFunc(checks, func(c check) bool { return c.name == name })
	require.NotEqual(t, -1, i, "check %q", name)
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		newFixture(r, k).run(checks[i])
	}()
	<-done
	if !r.failed.Load() {
		t.Errorf("the check %q passes with an index that breaks it", name)
	}
}

// A recorder is a testing.TB that stores failures.
type recorder struct {
	testing.TB
	failed atomic.Bool
}

func (r *recorder) Errorf(string, ...any) { r.failed.Store(true) }
func (r *recorder) Error(...any)          { r.failed.Store(true) }

func (r *recorder) FailNow() {
	r.failed.Store(true)
	runtime.Goexit()
}

func (r *recorder) Fatalf(string, ...any) { r.FailNow() }
func (r *recorder) Fatal(...any)          { r.FailNow() }
func (r *recorder) Failed() bool          { return r.failed.Load() }

// Names of checks are unique, since failures are looked up by name.
func TestNamesOfChecks(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range slices.Concat(shared, vectorOnly, keywordOnly) {
		if seen[c.name] {
			t.Errorf("two checks are called %q", c.name)
		}
		seen[c.name] = true
	}
}
