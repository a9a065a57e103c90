package core_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

// rerankerFunc is a core.Reranker.
type rerankerFunc func(ctx context.Context, query string, texts []string) ([]float64, error)

func (f rerankerFunc) Rerank(ctx context.Context, query string, texts []string) ([]float64, error) {
	return f(ctx, query, texts)
}

func TestReranker(t *testing.T) {
	prefer := func(word string) rerankerFunc {
		return func(_ context.Context, query string, texts []string) ([]float64, error) {
			scores := make([]float64, len(texts))
			for i, text := range texts {
				scores[i] = 0.01
				if strings.Contains(text, word) {
					scores[i] = 0.99
				}
			}
			return scores, nil
		}
	}
	for _, tt := range []struct {
		name     string
		reranker core.Reranker
		first    string
		degraded string
	}{
		{"none", nil, "in the cellar", ""},
		{"another opinion", prefer("three"), "three", ""},
		{"late", rerankerFunc(func(ctx context.Context, _ string, _ []string) ([]float64, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}), "in the cellar", "not reranked: took longer than 50ms"},
		{"deaf", rerankerFunc(func(ctx context.Context, _ string, texts []string) ([]float64, error) {
			time.Sleep(200 * time.Millisecond)
			return make([]float64, len(texts)), nil
		}), "in the cellar", "not reranked: took longer than 50ms"},
		{"broken", rerankerFunc(func(context.Context, string, []string) ([]float64, error) { return nil, errors.New("boom") }), "in the cellar", "not reranked: boom"},
		{"short", rerankerFunc(func(context.Context, string, []string) ([]float64, error) { return []float64{1}, nil }), "in the cellar", "not reranked: 1 scores for 7 texts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMemory(t)
			m.write("one.md", "the boiler boiler is in the cellar, boiler, cellar\n")
			m.write("two.md", "two: the boiler is old\n")
			m.write("three.md", "three: a boiler\n")
			m.options.Reranker, m.options.RerankBudget = tt.reranker, time.Minute
			if strings.Contains(tt.degraded, "took longer") {
				m.options.RerankBudget = 50 * time.Millisecond
			}
			manager := m.open()
			_, err := manager.Index(t.Context(), core.IndexOptions{})
			require.NoError(t, err)
			result, err := manager.Search(t.Context(), "boiler cellar", core.SearchOptions{Explain: true, Path: ""})
			require.NoError(t, err)
			require.NotEmpty(t, result.Hits)
			require.Contains(t, result.Hits[0].Text, tt.first)
			require.Equal(t, tt.degraded, strings.Join(result.Degraded, "; "))
			for i, hit := range result.Hits {
				require.Equal(t, tt.degraded == "" && tt.reranker != nil, hit.Explain.Reranked != nil)
				if i > 0 && hit.Score > result.Hits[i-1].Score {
					t.Errorf("hit %d scores %v, the one before %v", i, hit.Score, result.Hits[i-1].Score)
				}
			}
		})
	}
}

// A turn that is cancelled while reranking soon returns an error.
func TestRerankerIsCancelled(t *testing.T) {
	m := newMemory(t)
	m.write("one.md", "the boiler is in the cellar\n")
	ctx, cancel := context.WithCancel(t.Context())
	m.options.RerankBudget = time.Hour
	m.options.Reranker = rerankerFunc(func(ctx context.Context, _ string, _ []string) ([]float64, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	manager := m.open()
	_, err := manager.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)
	result, err := manager.RetrieveRelevant(ctx, "where is the boiler", core.RetrieveOptions{})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, result.Hits)
}

// A key that somebody pastes as the question does not reach the reranker.
func TestNoSecretOfAQuestionIsSent(t *testing.T) {
	m := newMemory(t)
	m.write("one.md", "the pelican server is in the cellar, and its release is build-7Fq29xKd81\n")
	var sent []string
	m.options.RerankBudget = time.Minute
	m.options.Reranker = rerankerFunc(func(_ context.Context, query string, texts []string) ([]float64, error) {
		sent = append(sent, query)
		return make([]float64, len(texts)), nil
	})
	manager := m.open()
	_, err := manager.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)
	for _, key := range []string{"Tr4nsf0rm-Kx82-Gate!", "Wq93-hJz7-Lpt2", "Zk81LqPw03NvXb57RtMc29HdYf64", "ghp_x7Kq2Zp9Lm4Vt8Nb1Rc6Yw3Jd5Hf0Gs2AeQu"} {
		for _, question := range []string{key, "does the pelican server take " + key + "?", "is it '" + key + "'"} {
			sent = nil
			_, err := manager.Search(t.Context(), question, core.SearchOptions{MinSimilarity: -1})
			require.NoError(t, err)
			require.NotEmpty(t, sent, question)
			for _, text := range sent {
				require.NotContains(t, text, key[:len(key)-1], question)
				require.Contains(t, text, "[redacted: ", question)
			}
		}
	}
	for _, question := range []string{"is build-7Fq29xKd81 in the cellar", "where is kubernetes-1.27.3 of 2026-11-27T10:00 in oauth2-proxy?"} {
		sent = nil
		_, err := manager.Search(t.Context(), question, core.SearchOptions{MinSimilarity: -1})
		require.NoError(t, err)
		require.Equal(t, []string{question}, sent, "names stay, and what the texts hold, which are sent, too")
	}
}
