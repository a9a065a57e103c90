package keyword

import "math"

// Constants of BM25 (Robertson and Zaragoza 2009).
const (
	k1            = 1.2  // saturation: how soon more occurrences stop counting
	lengthPenalty = 0.75 // b: how much long texts lose, from 0 to 1
)

// maxBM25 bounds bm25 for a term in holders of all texts. 0 counts as 1.
func maxBM25(holders, all int) float64 { return idf(holders, max(all, holders)) * (k1 + 1) }

func idf(holders, all int) float64 {
	n, of := float64(max(holders, 1)), float64(max(all, 1))
	return math.Log(1 + (of-n+0.5)/(n+0.5))
}

// bm25 scores occurrences of a term, each divided by its text's lengthNorm.
func bm25(most, occurrences float64) float64 { return most * occurrences / (k1 + occurrences) }

// lengthNorm penalises a text of length times the average.
func lengthNorm(penalty, length float64) float64 { return 1 - penalty + penalty*length }
