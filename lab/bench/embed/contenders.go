package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/knights-analytics/hugot"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/minilm"
	"github.com/memcore/memcore/embed/ollama"
	"github.com/memcore/memcore/embed/pack"
)

// A contender embeds batches of texts of so many tokens with [CLS] and [SEP].
type contender struct {
	name string
	run  func(ctx context.Context, tokens, batch int, seconds float64) (runs int, took time.Duration, err error)
	// measured contenders allocate in this process.
	measured bool
}

// text returns a text of so many tokens with [CLS] and [SEP].
func text(tokens int) string { return strings.TrimSpace(strings.Repeat("memory ", tokens-2)) }

func texts(tokens, batch int) []string {
	all := make([]string, batch)
	for i := range all {
		all[i] = text(tokens)
	}
	return all
}

// repeat calls do for a time, at least once after an unmeasured call.
func repeat(ctx context.Context, seconds float64, do func() error) (runs int, took time.Duration, err error) {
	if err := do(); err != nil { // warms up
		return 0, 0, err
	}
	started := time.Now()
	for took < time.Duration(seconds*float64(time.Second)) && ctx.Err() == nil {
		if err := do(); err != nil {
			return 0, 0, err
		}
		runs, took = runs+1, time.Since(started)
	}
	return runs, took, ctx.Err()
}

func builtIn(name string, procs int) contender {
	model := minilm.New()
	return contender{name: name, measured: true, run: func(ctx context.Context, tokens, batch int, seconds float64) (int, time.Duration, error) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		return embedding(ctx, model, tokens, batch, seconds)
	}}
}

// fromPack has texts of as many tokens as the others: its prefix is three.
func fromPack(name, path string, procs int) (contender, error) {
	model, err := pack.Open(path)
	return contender{name: name, measured: true, run: func(ctx context.Context, tokens, batch int, seconds float64) (int, time.Duration, error) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		return embedding(ctx, model, tokens-prefixTokens, batch, seconds)
	}}, err
}

// prefixTokens are of "passage: ".
const prefixTokens = 3

func embedding(ctx context.Context, e embed.Embedder, tokens, batch int, seconds float64) (int, time.Duration, error) {
	all := texts(tokens, batch)
	return repeat(ctx, seconds, func() error {
		_, err := e.Embed(ctx, embed.Document, all)
		return err
	})
}

func overHTTP(address string) (contender, error) {
	e, err := ollama.New("all-minilm", ollama.Options{Address: address})
	return contender{name: "ollama", run: func(ctx context.Context, tokens, batch int, seconds float64) (int, time.Duration, error) {
		return embedding(ctx, e, tokens, batch, seconds)
	}}, err
}

func pureGo(dir string) (contender, error) {
	session, err := hugot.NewGoSession()
	if err != nil {
		return contender{}, fmt.Errorf("hugot: %w", err)
	}
	model, err := modelFolder(dir)
	if err != nil {
		return contender{}, err
	}
	pipeline, err := hugot.NewPipeline(session, hugot.FeatureExtractionConfig{ModelPath: model, Name: "minilm", OnnxFilename: "model.onnx"})
	if err != nil {
		return contender{}, fmt.Errorf("hugot: %w", err)
	}
	return contender{name: "hugot", run: func(ctx context.Context, tokens, batch int, seconds float64) (int, time.Duration, error) {
		all := texts(tokens, batch)
		return repeat(ctx, seconds, func() error {
			_, err := pipeline.RunPipeline(all)
			return err
		})
	}}, nil
}

// modelFolder makes a folder with only one model, as hugot needs.
func modelFolder(dir string) (string, error) {
	folder := filepath.Join(dir, "hugot")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	for _, name := range []string{"model.onnx", "tokenizer.json", "config.json"} {
		if err := os.Symlink(filepath.Join(dir, name), filepath.Join(folder, name)); err != nil && !errors.Is(err, os.ErrExist) {
			return "", err
		}
	}
	return folder, nil
}

// A server runs ONNX Runtime in Python.
type server struct {
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

func serve(ctx context.Context, dir string) (*server, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "python", "bin", "python"), *script, "serve", dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &server{in, bufio.NewReaderSize(out, 1<<20), cmd}, cmd.Start()
}

func (s *server) close() error { return errors.Join(s.in.Close(), s.cmd.Wait()) }

// ask sends a request and reads the answer.
func (s *server) ask(request map[string]any, answer any) error {
	line, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("ask ONNX Runtime: %w", err)
	}
	reply, err := s.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("answer of ONNX Runtime: %w", err)
	}
	return json.Unmarshal(reply, answer)
}

// embed uses the published weights in f32.
func (s *server) embed(texts []string) ([][]float32, error) {
	var all [][]float32
	for some := range slices.Chunk(texts, 500) {
		var answer struct{ Vectors [][]float32 }
		if err := s.ask(map[string]any{"do": "embed", "texts": some}, &answer); err != nil {
			return nil, err
		}
		if len(answer.Vectors) != len(some) {
			return nil, fmt.Errorf("ONNX Runtime answers with %d vectors, want %d", len(answer.Vectors), len(some))
		}
		all = append(all, answer.Vectors...)
	}
	return all, nil
}

func (s *server) contender(name, model string, threads int) contender {
	return contender{name: name, run: func(ctx context.Context, tokens, batch int, seconds float64) (int, time.Duration, error) {
		var answer struct {
			Runs    int
			Seconds float64
		}
		err := s.ask(map[string]any{"do": "time", "model": model, "threads": threads, "tokens": tokens, "batch": batch, "seconds": seconds}, &answer)
		return answer.Runs, time.Duration(answer.Seconds * float64(time.Second)), err
	}}
}
