package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/minilm"
	"github.com/memcore/memcore/embed/pack"
	"github.com/memcore/memcore/lab/internal/figures"
)

// perFile is about the tokens of a generated file.
const perFile = 500

// indexing measures the program on generated Markdown, in an empty home.
func indexing(ctx context.Context) error {
	home, err := os.MkdirTemp("", "embedbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	folder := filepath.Join(home, "notes")
	written, size, err := writeNotes(folder, *tokens)
	if err != nil {
		return err
	}
	fmt.Printf("%d files, %.1f MB, %d tokens\n", written, float64(size)/1e6, *tokens)
	model := embed.Embedder(minilm.New())
	if *e5Pack != "" {
		if _, _, _, err := memcore(ctx, home, folder, "model", "add", *e5Pack, "--json"); err != nil {
			return err
		}
		if model, err = pack.Open(*e5Pack); err != nil {
			return err
		}
	}
	took, usage, report, err := memcore(ctx, home, folder, "index", ".", "--json")
	if err != nil {
		return err
	}
	fmt.Printf("index: %v, %.0f tokens/s, %d chunks, %.0f MB at most\n", took.Round(time.Millisecond),
		float64(*tokens)/took.Seconds(), report.Chunks, peak(usage))
	took, usage, _, err = memcore(ctx, home, folder, "index", ".", "--json")
	if err != nil {
		return err
	}
	fmt.Printf("again, nothing changed: %v, %.0f MB at most\n", took.Round(time.Millisecond), peak(usage))
	if err := embeddingAlone(ctx, model, folder); err != nil {
		return err
	}
	return oneShot(ctx, home)
}

// aloneTokens is how many tokens to embed alone for the rate.
const aloneTokens = 200_000

// embeddingAlone measures the model in this process on sections of the notes. The difference to
// indexing is reading, chunking, keywords and writing.
func embeddingAlone(ctx context.Context, model embed.Embedder, folder string) error {
	texts, tokens, err := sections(model, folder, aloneTokens)
	if err != nil {
		return err
	}
	if _, err := model.Embed(ctx, embed.Document, texts[:min(256, len(texts))]); err != nil {
		return err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	started := time.Now()
	if _, err := model.Embed(ctx, embed.Document, texts); err != nil {
		return err
	}
	took := time.Since(started)
	runtime.ReadMemStats(&after)
	n := uint64(len(texts))
	fmt.Printf("embedding alone: %d sections of %d tokens on average, %.0f tokens/s, %d bytes and %.1f allocations a text\n", n, tokens/len(texts),
		float64(tokens)/took.Seconds(), (after.TotalAlloc-before.TotalAlloc)/n, float64(after.Mallocs-before.Mallocs)/float64(n))
	return nil
}

// sections returns sections of notes, up to a number of tokens.
func sections(model embed.Embedder, folder string, limit int) (texts []string, tokens int, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		markdown, err := os.ReadFile(name)
		if err != nil {
			return nil, 0, err
		}
		for section := range strings.SplitSeq(string(markdown), "\n## ") {
			texts = append(texts, section)
			tokens += min(model.CountTokens(section)+2, model.MaxTokens()+2)
		}
		if tokens >= limit {
			break
		}
	}
	if len(texts) == 0 {
		err = fmt.Errorf("no notes in %s", folder)
	}
	return texts, tokens, err
}

// oneShot measures a process that embeds one question.
func oneShot(ctx context.Context, home string) error {
	folder := filepath.Join(home, "one")
	if _, _, err := writeNotes(folder, 100); err != nil {
		return err
	}
	if _, _, _, err := memcore(ctx, home, folder, "index", ".", "--json"); err != nil {
		return err
	}
	var bare, whole []time.Duration
	for range 31 {
		took, _, _, err := memcore(ctx, home, folder, "version", "--json")
		if err != nil {
			return err
		}
		bare = append(bare, took)
		if took, _, _, err = memcore(ctx, home, folder, "retrieve", "which server was restored on monday", "--json"); err != nil {
			return err
		}
		whole = append(whole, took)
	}
	fmt.Printf("one question as a process: median %v; a process that only tells its version: %v\n",
		figures.Quantile(whole, .5).Round(100*time.Microsecond), figures.Quantile(bare, .5).Round(100*time.Microsecond))
	return nil
}

// peak returns the peak memory of a process in MB. macOS counts bytes, others kilobytes.
func peak(usage *syscall.Rusage) float64 {
	if runtime.GOOS == "darwin" {
		return float64(usage.Maxrss) / (1 << 20)
	}
	return float64(usage.Maxrss) / (1 << 10)
}

type report struct{ Chunks int }

func memcore(ctx context.Context, home, folder string, args ...string) (time.Duration, *syscall.Rusage, report, error) {
	name, err := filepath.Abs(*program)
	if err != nil {
		return 0, nil, report{}, err
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+home+"/cache", "XDG_CONFIG_HOME="+home+"/config", "XDG_DATA_HOME="+home+"/data")
	if *e5Pack != "" {
		cmd.Env = append(cmd.Env, "MEMCORE_EMBEDDER=multilingual-e5-small")
	}
	started := time.Now()
	printed, err := cmd.Output()
	took := time.Since(started)
	if err != nil {
		return 0, nil, report{}, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	var r report
	if len(printed) > 0 {
		err = json.Unmarshal(printed, &r)
	}
	return took, cmd.ProcessState.SysUsage().(*syscall.Rusage), r, err
}

// writeNotes writes Markdown of so many tokens.
func writeNotes(folder string, tokens int) (files, size int, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return 0, 0, err
	}
	model, r := minilm.New(), rand.New(rand.NewPCG(5, 6))
	for tokens > 0 {
		var b strings.Builder
		fmt.Fprintf(&b, "# %s\n", prose(r, 4))
		for n := 0; n < min(perFile, tokens); n = model.CountTokens(b.String()) {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", prose(r, 3), prose(r, 20+r.IntN(80)))
		}
		tokens -= model.CountTokens(b.String())
		size += b.Len()
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("note-%05d.md", files)), []byte(b.String()), 0o644); err != nil {
			return files, size, err
		}
		files++
	}
	return files, size, nil
}

// Words of generated prose; rare ones have numbers.
var common = strings.Fields(`the a this that we they our your staging server database migration release branch test
	deploy backup restore query index cache token chunk vector memory note meeting decision owner review error timeout
	retry queue worker schedule monday friday january customer invoice account password policy team project plan budget
	is was will must should can has had does fails works runs starts stops waits moves changes breaks needs uses keeps
	on in at of for with without after before because when where while until slowly quickly again never always twice`)

// prose returns sentences of so many words.
func prose(r *rand.Rand, words int) string {
	var b strings.Builder
	for i := range words {
		word := common[int(float64(len(common))*r.Float64()*r.Float64())]
		if r.IntN(25) == 0 {
			word = fmt.Sprintf("%s-%d", word, r.IntN(1000))
		}
		if i == 0 {
			word = strings.ToUpper(word[:1]) + word[1:]
		} else {
			b.WriteByte(' ')
		}
		b.WriteString(word)
		if i < words-1 && r.IntN(12) == 0 {
			b.WriteByte('.')
		}
	}
	return b.String()
}
