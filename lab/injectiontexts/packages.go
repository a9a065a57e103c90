package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/lab/internal/injection"
)

// packaged reads packages below a folder: the attacks of bastioncorpus, which also has harmless
// texts, and of spikee, which test agents; and what packages of skills tell an agent to do.
func packaged(folder string) (all []*injection.Text, err error) {
	if folder == "" {
		return nil, nil
	}
	all, err = bastion(folder)
	if err != nil {
		return nil, err
	}
	attacks, err := spikee(folder)
	if err != nil {
		return nil, err
	}
	notes, err := skills(filepath.Join(folder, "skills"))
	return append(append(all, attacks...), notes...), err
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

// Limits of pieces of skills.
const (
	mostOfSkill  = 12
	mostOfSkills = 700 // of a package
)

// skills reads pieces of Markdown that instructs agents: roles, workflows and commands. A folder
// has a package in each of its folders, none if it is missing.
func skills(folder string) (all []*injection.Text, err error) {
	packages, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		return nil, err
	}
	for _, dir := range packages {
		var pieces []*injection.Text
		err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || path.Ext(name) != ".md" || !manual(name) {
				return err
			}
			text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
			if err != nil {
				return err
			}
			for _, piece := range firstOf(cut(string(text)), mostOfSkill) {
				pieces = append(pieces, &injection.Text{Text: piece, Kind: injection.Note, Source: "skills", Lang: "en"})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		all = append(all, spread(pieces, mostOfSkills)...)
	}
	return all, nil
}
