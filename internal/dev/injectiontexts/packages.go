package main

import (
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/eval/injection"
)

// packaged reads the attacks of packages that test agents, below a folder: bastioncorpus, which
// also has harmless texts, and spikee.
func packaged(folder string) (all []*injection.Text, err error) {
	if folder == "" {
		return nil, nil
	}
	all, err = bastion(folder)
	if err != nil {
		return nil, err
	}
	attacks, err := spikee(folder)
	return append(all, attacks...), err
}

func bastion(folder string) (all []*injection.Text, err error) {
	type line struct{ Text, Label, Lang string }
	err = eachLine(filepath.Join(folder, "bastioncorpus", "corpus", "injections.jsonl"), func(t line) {
		text := &injection.Text{Text: t.Text, Source: "bastion", Lang: t.Lang, Kind: injection.Attack}
		if t.Label != "malicious" {
			text.Source, text.Kind = "bastion_benign", injection.Hard
		}
		all = append(all, text)
	})
	return all, err
}

// spikee puts instructions into ways to give them.
func spikee(folder string) (all []*injection.Text, err error) {
	for _, set := range []string{"seeds-cybersec-2026-01", "seeds-sysmsg-extraction-2025-04", "seeds-llm-mailbox"} {
		at := filepath.Join(folder, "spikee", "data", "workspace", "datasets", set)
		var instructions []string
		err := eachLine(filepath.Join(at, "instructions.jsonl"), func(t struct{ Instruction string }) {
			instructions = append(instructions, t.Instruction)
		})
		if err != nil {
			return nil, err
		}
		n := 0
		err = eachLine(filepath.Join(at, "jailbreaks.jsonl"), func(t struct{ Text string }) {
			text := strings.ReplaceAll(t.Text, "<INSTRUCTION>", nth(instructions, n))
			all = append(all, &injection.Text{Text: text, Source: "spikee", Lang: "en", Kind: injection.Attack})
			n++
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
