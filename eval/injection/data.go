// Package injection fits and measures how well instructions in memory are told from notes: the detector of internal/suspicion.
//
// It reads labelled texts of a folder that is not part of the tree, fits weights to one half of them and says by cross-validation
// what they are worth: how many attacks are caught, how many benign texts raise a false alarm, by source and by language. Its one
// rule: near duplicates are never on both sides of a split.
package injection

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Kinds of texts.
const (
	Attack = "attack" // has to be flagged
	Note   = "note"   // what memory is full of: must not be
	Hard   = "hard"   // benign, but speaks as attacks do: over-defence is reported by itself
	Buried = "buried" // an attack inside a benign document
)

// A Text is a labelled text.
type Text struct {
	Text   string
	Kind   string
	Source string
	Lang   string
	// Held texts are kept back: nothing is fitted to them, nor to what is nearly the same.
	Held bool
	// Spans are where the attacks stand in a Buried text, in bytes.
	Spans [][2]int
	group int // near duplicates share one
}

// bad says of a text that it has to be flagged.
func (t *Text) bad() bool { return t.Kind == Attack || t.Kind == Buried }

// longestNote is about how long a chunk of memory is, in bytes: longer texts are cut into such.
const longestNote = 1000

// Load reads the texts below a folder: injection/{texts,embedded}.jsonl; of memory_md, locomo and longmemeval_s one half to fit
// to and one to measure; and other collections as notes in other languages.
func Load(folder string) ([]*Text, error) {
	repos, err := repositories(filepath.Join(folder, "memory_md", "files"))
	if err != nil {
		return nil, err
	}
	var all []*Text
	if err := eachLine(filepath.Join(folder, "injection", "texts.jsonl"), func(line []byte) error {
		var t struct {
			Text, Source, Lang, Category string
			Label                        *int
		}
		if err := json.Unmarshal(line, &t); err != nil {
			return err
		}
		if t.Label == nil {
			return nil // nobody knows
		}
		text := &Text{Text: t.Text, Source: t.Source, Lang: t.Lang, Kind: Attack}
		switch {
		case *t.Label == 1:
		case strings.HasPrefix(t.Source, "notinject"), strings.HasPrefix(t.Source, "wildguard"):
			// user prompts that sound like attacks
			text.Kind = Hard
		default:
			text.Kind = Note
		}
		if t.Source == "memory_md_section" {
			text.Held = repos[t.Category]
		}
		all = append(all, text)
		return nil
	}); err != nil {
		return nil, err
	}
	if err := eachLine(filepath.Join(folder, "injection", "embedded.jsonl"), func(line []byte) error {
		var t struct {
			Text   string
			Source string   `json:"attack_source"`
			Lang   string   `json:"attack_lang"`
			Host   string   `json:"host"`
			Spans  [][2]int `json:"spans"` // in characters
		}
		if err := json.Unmarshal(line, &t); err != nil {
			return err
		}
		source, _, _ := strings.Cut(t.Source, "/")
		all = append(all, &Text{Text: t.Text, Source: source, Lang: t.Lang, Kind: Buried, Spans: inBytes(t.Text, t.Spans)})
		return nil
	}); err != nil {
		return nil, err
	}
	all = append(all, own()...)
	files, err := instructionFiles(filepath.Join(folder, "memory_md", "files"), repos)
	if err != nil {
		return nil, err
	}
	all = append(all, files...)
	for _, set := range []struct {
		pattern, file, source, lang string
		most                        int // of each half
	}{
		{"locomo/*", "corpus.jsonl", "locomo_turn", "en", 800},
		{"longmemeval_s/*/turns", "corpus.jsonl", "longmemeval_turn", "en", 1200},
		{"xquad/*", "corpus.jsonl", "xquad", "", 350},
		{"xquad/*", "queries.jsonl", "xquad_question", "", 350},
		{"cmrc2018_zh/*", "corpus.jsonl", "cmrc", "zh", 120},
		{"jsquad_ja/*", "corpus.jsonl", "jsquad", "ja", 150},
		{"jsquad_ja/*", "queries.jsonl", "jsquad_question", "ja", 150},
		{"madial/*", "corpus.jsonl", "madial", "", 150},
		{"docs_code/*", "corpus.jsonl", "docs_code", "en", 250},
	} {
		texts, err := collections(folder, set.pattern, set.file, set.source, set.lang, set.most)
		if err != nil {
			return nil, err
		}
		all = append(all, texts...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no labelled texts below %s", folder)
	}
	return all, nil
}

// What labelled sets lack, in the languages that the detector knows, written for it: notes with the words of attacks, and attacks of
// the kinds that make an agent act or be silent.
//
//go:embed own/notes.tsv
var ownNotes string

//go:embed own/attacks.tsv
var ownAttacks string

func own() (all []*Text) {
	for _, list := range []struct{ text, kind, source string }{{ownNotes, Hard, "own_note"}, {ownAttacks, Attack, "own_attack"}} {
		for line := range strings.Lines(list.text) {
			lang, text, _ := strings.Cut(strings.TrimSpace(line), "\t")
			all = append(all, &Text{Text: text, Kind: list.kind, Source: list.source, Lang: lang})
		}
	}
	return all
}

// isHeld says which half something belongs to, by its name.
func isHeld(name string) bool {
	h := fnv.New32a()
	h.Write([]byte(name))
	return (h.Sum32()>>8)%2 == 1
}

func inBytes(text string, spans [][2]int) [][2]int {
	var at []int
	for i := range text {
		at = append(at, i)
	}
	at = append(at, len(text))
	var all [][2]int
	for _, s := range spans {
		all = append(all, [2]int{at[min(max(s[0], 0), len(at)-1)], at[min(max(s[1], 0), len(at)-1)]})
	}
	return all
}

func eachLine(name string, do func([]byte) error) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		if len(strings.TrimSpace(lines.Text())) == 0 {
			continue
		}
		if err := do(lines.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	return lines.Err()
}

// repositories are those whose instruction files there are, and whether they are held: every other one.
func repositories(folder string) (map[string]bool, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	all := map[string]bool{}
	for i, e := range entries {
		all[strings.Replace(e.Name(), "__", "/", 1)] = i%2 == 1
	}
	return all, nil
}

// instructionFiles are files that tell agents what to do, in pieces. Those of a repository are in one half.
func instructionFiles(folder string, repos map[string]bool) (all []*Text, err error) {
	counts := map[string]int{}
	err = filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name == folder {
			return filepath.SkipDir
		}
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		repo, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
		repo = strings.Replace(repo, "__", "/", 1)
		pieces := cut(string(text))
		for i, piece := range pieces {
			if counts[repo] >= 1000 || i >= 20 {
				break // no repository and no file counts more than others
			}
			counts[repo]++
			all = append(all, &Text{Text: piece, Kind: Note, Source: "memory_md_file", Lang: "en", Held: repos[repo]})
		}
		return nil
	})
	return all, err
}

// collections are texts of labelled collections, each folder in one half if there are some, else each text.
func collections(folder, pattern, file, source, lang string, most int) (all []*Text, err error) {
	names, err := filepath.Glob(filepath.Join(folder, filepath.FromSlash(pattern), file))
	if err != nil {
		return nil, err
	}
	kind := Note
	if source == "docs_code" {
		kind = Hard // it is about prompts, and has many
	}
	byFolder := len(names) > 5
	for k, name := range names {
		where := lang
		if where == "" {
			where, _, _ = strings.Cut(filepath.Base(filepath.Dir(name)), "-")
		}
		var some []*Text
		if err := eachLine(name, func(line []byte) error {
			var t struct{ ID, Text, Session string }
			var loose map[string]any
			if err := json.Unmarshal(line, &loose); err != nil {
				return err
			}
			t.ID, _ = loose["id"].(string)
			t.Text, _ = loose["text"].(string)
			held := isHeld(t.ID)
			if byFolder {
				held = k%2 == 1
			}
			for _, piece := range cut(t.Text) {
				some = append(some, &Text{Text: piece, Kind: kind, Source: source, Lang: where, Held: held})
			}
			return nil
		}); err != nil {
			return nil, err
		}
		all = append(all, spread(some, 2*most/len(names))...)
	}
	return all, nil
}

// spread are n texts at equal distances.
func spread(texts []*Text, n int) []*Text {
	if len(texts) <= n {
		return texts
	}
	var some []*Text
	for i := range n {
		some = append(some, texts[i*len(texts)/n])
	}
	return some
}

// cut makes pieces of a chunk's length, at blank lines, or lines, or wherever.
func cut(text string) (pieces []string) {
	for text = strings.TrimSpace(text); len(text) > longestNote; text = strings.TrimSpace(text) {
		head := text[:longestNote]
		at := strings.LastIndex(head, "\n\n")
		if at < longestNote/3 {
			at = strings.LastIndexByte(head, '\n')
		}
		if at < longestNote/3 {
			at = strings.LastIndexByte(head, ' ')
		}
		if at < longestNote/3 {
			at = longestNote
		}
		pieces = append(pieces, strings.ToValidUTF8(text[:at], ""))
		text = text[at:]
	}
	if text = strings.ToValidUTF8(text, ""); len(text) > 0 {
		pieces = append(pieces, text)
	}
	return pieces
}
