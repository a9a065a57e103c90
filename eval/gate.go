package eval

import (
	"fmt"
	"os"
	"strings"
)

// gated are the scores that must not fall.
var gated = []string{"recall@5", "recall@10", "mrr", "ndcg@10"}

// PassGate compares with a report, and returns an error if recall, MRR or nDCG fell significantly
// since.
func (r Report) PassGate(path string) (Comparison, error) {
	baseline, err := readReport(path)
	if err != nil {
		return Comparison{}, fmt.Errorf("gate: %w", err)
	}
	comparison, err := Compare(baseline, r)
	if err != nil {
		return Comparison{}, fmt.Errorf("gate %s: %w", path, err)
	}
	var fallen []string
	for _, c := range comparison.Fallen(gated...) {
		fallen = append(fallen, fmt.Sprintf("%s from %.4f to %.4f (p = %.3f)", c.Score, c.Before, c.After, c.P))
	}
	return comparison, fell(path, fallen)
}

// PassGate returns an error if a figure fell below a TurnsBaseline.
func (r TurnsReport) PassGate(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	baseline, err := parseTurnsBaseline(data)
	if err != nil {
		return fmt.Errorf("gate %s: %w", path, err)
	}
	fallen, err := r.Fallen(baseline)
	if err != nil {
		return fmt.Errorf("gate %s: %w", path, err)
	}
	return fell(path, fallen)
}

func fell(path string, fallen []string) error {
	if len(fallen) == 0 {
		return nil
	}
	return fmt.Errorf("gate %s: fell %s", path, strings.Join(fallen, ", "))
}
