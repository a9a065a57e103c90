package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/internal/text/plain"
)

// A terminal has the streams and output flags of a command.
type terminal struct {
	stdin                io.Reader
	stdout, stderr       *screen
	json, verbose, quiet bool
}

func (t *terminal) printText(text string) error {
	if t.json {
		return t.printJSON(map[string]string{"text": text})
	}
	if text != "" {
		text += "\n"
	}
	return t.print(text)
}

func isTerminal(w io.Writer) bool {
	f := fileOf(w)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// fileOf returns the file behind a writer or a screen, or nil.
func fileOf(w io.Writer) *os.File {
	if s, ok := w.(*screen); ok {
		w = s.raw
	}
	f, _ := w.(*os.File)
	return f
}

// explainRejected limits the rejected candidates that are shown.
const explainRejected = 10

func cosineText(e *core.Explanation) string {
	if e.Cosine == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *e.Cosine)
}

// noteResult reports how far an answer can be trusted.
func (t *terminal) noteResult(result core.Result) {
	switch result.State {
	case core.StateMissing:
		t.note("nothing is indexed here yet; run 'memcore index'")
	case core.StateBuilding:
		t.note("the index is not complete yet; run 'memcore index' to finish it")
	}
	for _, why := range result.Degraded {
		t.note("degraded: %s", why)
	}
	for _, hit := range result.Hits {
		if formatter.IsFlagged(hit) {
			t.note("suspicious: %s: %s", hit.Source, signsOf(hit))
		}
	}
	for _, hit := range result.Withheld {
		t.note("withheld as suspicious: %s: %s", hit.Source, signsOf(hit))
	}
	if result.Stale != nil {
		t.note("stale: %s changed on disk and not in this answer: %s", plain.Count(result.Stale.Files, "file"), result.Stale.Reason)
	}
}

// note prints a message on standard error. It may quote foreign names.
func (t *terminal) note(format string, args ...any) {
	if !t.quiet {
		fmt.Fprintf(t.stderr, "memcore: %s\n", plain.OneLine(fmt.Sprintf(format, args...)))
	}
}

func (t *terminal) printJSON(v any) error {
	encoder := json.NewEncoder(t.stdout.json())
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// printRequest prints a request to a model, which is JSON.
func (t *terminal) printRequest(request string) error {
	_, err := io.WriteString(t.stdout.json(), strings.TrimRight(request, "\n")+"\n")
	return err
}

// printLine prints a line, whose arguments may be foreign names.
func (t *terminal) printLine(format string, args ...any) error {
	return t.print(plain.Line(format, args...) + "\n")
}

func (t *terminal) print(text string) error {
	_, err := io.WriteString(t.stdout, text)
	return err
}
