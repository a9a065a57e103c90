package app

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/internal/workspace"
	"github.com/memcore/memcore/store"
)

// PastSessions counts the conversations that agents keep of a workspace.
type PastSessions struct {
	Sessions int   `json:"sessions"`
	Bytes    int64 `json:"bytes"`
	// Chunks and Took estimate, by a sample, what indexing them makes and takes; 0 if another
	// machine embeds.
	Chunks int           `json:"chunks"`
	Took   time.Duration `json:"took"`
}

const (
	// sampleLogs and sampleTime limit reading, sampleChunks embedding.
	sampleLogs   = 8
	sampleTime   = 500 * time.Millisecond
	sampleChunks = 16
)

// PastSessions measures a sample of the logs that agents keep of the workspace.
func (x Index) PastSessions(ctx context.Context, registered workspace.Sources) (PastSessions, error) {
	type log struct {
		source.Document
		from source.Source
	}
	var logs []log
	var all PastSessions
	for _, from := range x.Logs(registered) {
		listing, err := from.List(ctx)
		if err != nil {
			continue // indexing reports it
		}
		for _, d := range listing.Documents {
			if d.Kind == source.KindConversation {
				logs = append(logs, log{d, from})
				all.Sessions++
				all.Bytes += d.Size
			}
		}
	}
	if len(logs) == 0 || ctx.Err() != nil || x.w.Settings.EmbedsElsewhere() {
		return all, ctx.Err()
	}
	// In equal steps of size, so that long logs count, too.
	slices.SortFunc(logs, func(a, b log) int { return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.Path, b.Path)) })
	began, step := time.Now(), max(len(logs)/sampleLogs, 1)
	var bytes int64
	var texts []string
	for i := len(logs) / 2 % step; i < len(logs) && time.Since(began) < sampleTime; i += step {
		content, err := logs[i].from.Read(ctx, logs[i].Document, source.Position{})
		if err != nil {
			continue
		}
		bytes += logs[i].Size
		texts = append(texts, embeddedTexts(logs[i].Path, content)...)
	}
	if bytes == 0 {
		return all, ctx.Err()
	}
	share := float64(all.Bytes) / float64(bytes)
	reading := time.Duration(float64(time.Since(began)) * share)
	all.Chunks = int(float64(len(texts)) * share)
	each, err := x.embeddingTime(ctx, texts)
	all.Took = max(reading+each*time.Duration(all.Chunks), time.Millisecond)
	return all, err
}

// embeddedTexts are what indexing would embed of a log.
func embeddedTexts(name string, content source.Content) (texts []string) {
	var chunks []chunker.Chunk
	if content.Agent {
		chunks, _ = chunker.Session(name, content.Turns, "", chunker.Options{})
	} else {
		chunks = chunker.Conversation(name, content.Turns, chunker.Options{})
	}
	for _, c := range chunks {
		texts = append(texts, core.EmbeddingText(store.Record{Kind: source.KindConversation, Headings: c.Headings, Speaker: c.Speaker, Text: c.Text}))
	}
	return texts
}

// embeddingTime measures what embedding a text takes. It stores nothing.
func (x Index) embeddingTime(ctx context.Context, texts []string) (time.Duration, error) {
	model, err := x.Model()
	if model == nil || err != nil || len(texts) == 0 {
		return 0, err
	}
	if step := len(texts) / sampleChunks; step > 1 {
		var some []string
		for i := 0; i < len(texts); i += step {
			some = append(some, texts[i])
		}
		texts = some
	}
	if _, err := model.Embed(ctx, embed.Document, texts[:1]); err != nil { // loads the model
		return 0, err
	}
	began := time.Now()
	_, err = model.Embed(ctx, embed.Document, texts)
	return time.Since(began) / time.Duration(len(texts)), err
}
