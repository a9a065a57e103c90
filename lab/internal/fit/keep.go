package fit

import (
	"compress/gzip"
	"encoding/gob"
	"fmt"
	"os"
)

// kept is a Sample as a file has it: questions share most texts.
type kept struct {
	Questions []Question
	Texts     []string
	Places    []int // in Texts, of each candidate's text and of the one before it
}

// Keep writes a sample to a file, from which Kept reads it: a fit that changes only weights need
// not index again.
func (s Sample) Keep(path string) (err error) {
	k := kept{}
	places := map[string]int{}
	place := func(text string) int {
		at, ok := places[text]
		if !ok {
			at = len(k.Texts)
			places[text], k.Texts = at, append(k.Texts, text)
		}
		return at
	}
	for _, q := range s.Questions {
		candidates := q.Candidates
		q.Candidates = nil
		for _, c := range candidates {
			k.Places = append(k.Places, place(c.Text), place(c.Before))
			c.Text, c.Before = "", ""
			q.Candidates = append(q.Candidates, c)
		}
		k.Questions = append(k.Questions, q)
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("keep the sample: %w", err)
	}
	w, _ := gzip.NewWriterLevel(f, gzip.BestSpeed)
	for _, step := range []func() error{func() error { return gob.NewEncoder(w).Encode(k) }, w.Close, f.Close} {
		if err := step(); err != nil {
			return fmt.Errorf("keep the sample: %w", err)
		}
	}
	return nil
}

// Kept reads what Keep has written.
func Kept(path string) (Sample, error) {
	f, err := os.Open(path)
	if err != nil {
		return Sample{}, fmt.Errorf("read a kept sample: %w", err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		return Sample{}, fmt.Errorf("read a kept sample: %w", err)
	}
	var k kept
	if err := gob.NewDecoder(r).Decode(&k); err != nil {
		return Sample{}, fmt.Errorf("read a kept sample: %w", err)
	}
	at := 0
	for _, q := range k.Questions {
		for i := range q.Candidates {
			q.Candidates[i].Text, q.Candidates[i].Before = k.Texts[k.Places[at]], k.Texts[k.Places[at+1]]
			at += 2
		}
	}
	return Sample{k.Questions}, nil
}
