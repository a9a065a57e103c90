package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/memcore/memcore/embed/minilm"
)

// countTokens compares the built-in token counts of Markdown files, and a quarter of the
// characters, with the tokenisers of large models.
func countTokens(ctx context.Context) error {
	var texts []string
	err := filepath.WalkDir(*textsDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains([]string{".md", ".mdc"}, strings.ToLower(filepath.Ext(path))) {
			return errors.Join(err, ctx.Err())
		}
		text, err := os.ReadFile(path)
		if len(text) > 0 {
			texts = append(texts, string(text))
		}
		return err
	})
	if err != nil || len(texts) == 0 {
		return errors.Join(err, fmt.Errorf("%d Markdown files in %s", len(texts), *textsDir))
	}
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	own := minilm.New()
	fmt.Printf("%d files\n\n| tokeniser | tokens | memcore counts | of files, 5 %% to 95 %% | characters / 4 | of files |\n|---|--:|--:|--:|--:|--:|\n", len(texts))
	for _, name := range []string{"cl100k_base", "o200k_base"} {
		other, err := tiktoken.GetEncoding(name)
		if err != nil {
			return err
		}
		total, ownTotal, estimateTotal := 0, 0, 0
		var ratios, estimates []float64
		for _, text := range texts {
			n, o, e := len(other.EncodeOrdinary(text)), own.CountTokens(text), (len(text)+3)/4
			total, ownTotal, estimateTotal = total+n, ownTotal+o, estimateTotal+e
			ratios, estimates = append(ratios, float64(o)/float64(n)), append(estimates, float64(e)/float64(n))
		}
		fmt.Printf("| %s | %d | %.2f× | %s | %.2f× | %s |\n", name, total, float64(ownTotal)/float64(total), middle(ratios), float64(estimateTotal)/float64(total), middle(estimates))
	}
	return nil
}

// middle returns the range of the middle 90 %.
func middle(ratios []float64) string {
	slices.Sort(ratios)
	at := func(share float64) float64 { return ratios[int(share*float64(len(ratios)-1))] }
	return fmt.Sprintf("%.2f to %.2f", at(0.05), at(0.95))
}
