package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// newLog returns a logger that writes lines like
// "memcore: embedding stopped: connection refused (chunks 36)".
func newLog(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(&lineHandler{w: w, level: level, mu: &sync.Mutex{}})
}

// noLog is a level above all messages.
const noLog = slog.Level(100)

type lineHandler struct {
	w     io.Writer
	level slog.Level
	attrs []slog.Attr
	mu    *sync.Mutex // of w
}

func (h *lineHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.attrs = append(append([]slog.Attr{}, h.attrs...), attrs...)
	return &with
}

// WithGroup leaves names unchanged.
func (h *lineHandler) WithGroup(string) slog.Handler { return h }

func (h *lineHandler) Handle(_ context.Context, record slog.Record) error {
	line := "memcore: " + record.Message
	var rest []string
	add := func(attr slog.Attr) bool {
		if attr.Key == "error" {
			line += ": " + attr.Value.String()
		} else {
			rest = append(rest, attr.Key+" "+attr.Value.String())
		}
		return true
	}
	for _, attr := range h.attrs {
		add(attr)
	}
	record.Attrs(add)
	if len(rest) > 0 {
		line += " (" + strings.Join(rest, ", ") + ")"
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := fmt.Fprintln(h.w, strings.ReplaceAll(line, "\n", " "))
	return err
}
