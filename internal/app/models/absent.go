package models

import (
	"context"
	"fmt"

	"github.com/memcore/memcore/embed"
)

// An Absent model is configured, but not installed or not readable: keywords answer alone.
type Absent struct {
	Name string
	Err  error // why
}

// Embed returns embed.ErrUnavailable.
func (a Absent) Embed(_ context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	return nil, fmt.Errorf("%w: %w", embed.ErrUnavailable, a.Missing())
}

// Missing says how to get it.
func (a Absent) Missing() error {
	return fmt.Errorf("%w: run 'memcore model add %s', or choose another memory.embedder", a.Err, a.Name)
}

// Dimension is unknown.
func (a Absent) Dimension() int { return 0 }

// Fingerprint is no model's.
func (a Absent) Fingerprint() string { return "absent/" + a.Name }

// MaxTokens is about that of models of the family.
func (a Absent) MaxTokens() int { return 500 }

// CountTokens estimates.
func (a Absent) CountTokens(text string) int { return (len(text) + 2) / 3 }
