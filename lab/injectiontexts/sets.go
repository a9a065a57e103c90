package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/lab/internal/injection"
)

// labelled reads attacks and benign texts. Sections are held if their repository is.
func labelled(name string, held map[string]bool) (all []*injection.Text, err error) {
	type line struct {
		Text, Source, Lang, Category string
		Label                        *int
	}
	err = eachLine(name, func(t line) {
		if t.Label == nil {
			return
		}
		text := &injection.Text{Text: t.Text, Source: t.Source, Lang: t.Lang, Kind: injection.Note}
		switch {
		case *t.Label == 1:
			text.Kind = injection.Attack
		case strings.HasPrefix(t.Source, "notinject"), strings.HasPrefix(t.Source, "wildguard"):
			text.Kind = injection.Hard // prompts that sound like attacks
		}
		text.Held = t.Source == "memory_md_section" && held[t.Category]
		all = append(all, text)
	})
	return all, err
}

// buried reads attacks inside documents.
func buried(name string) (all []*injection.Text, err error) {
	type line struct {
		Text   string
		Source string   `json:"attack_source"`
		Lang   string   `json:"attack_lang"`
		Spans  [][2]int `json:"spans"` // in characters
	}
	err = eachLine(name, func(t line) {
		source, _, _ := strings.Cut(t.Source, "/")
		all = append(all, &injection.Text{Text: t.Text, Source: source, Lang: t.Lang,
			Kind: injection.Buried, Spans: inBytes(t.Text, t.Spans)})
	})
	return all, err
}

// inBytes converts spans in characters.
func inBytes(text string, spans [][2]int) (all [][2]int) {
	var offsets []int
	for i := range text {
		offsets = append(offsets, i)
	}
	offsets = append(offsets, len(text))
	offset := func(n int) int { return offsets[min(max(n, 0), len(offsets)-1)] }
	for _, s := range spans {
		all = append(all, [2]int{offset(s[0]), offset(s[1])})
	}
	return all
}

// Texts that public sets lack, in the detector's languages: notes in the words of attacks, and
// attacks that make an agent act or hide something.
var (
	//go:embed own/notes.tsv
	ownNotes string
	//go:embed own/attacks.tsv
	ownAttacks string
)

func own() (all []*injection.Text, err error) {
	for _, list := range []struct{ text, kind, source string }{
		{ownNotes, injection.Hard, "own_note"}, {ownAttacks, injection.Attack, "own_attack"},
	} {
		for line := range strings.Lines(list.text) {
			lang, text, _ := strings.Cut(strings.TrimSpace(line), "\t")
			all = append(all, &injection.Text{Text: text, Kind: list.kind, Source: list.source, Lang: lang})
		}
	}
	return all, nil
}

// heldRepositories holds back every other repository of a folder.
func heldRepositories(folder string) (map[string]bool, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	held := map[string]bool{}
	for i, e := range entries {
		held[repository(e.Name())] = i%2 == 1
	}
	return held, nil
}

// repository returns the name of a folder's repository.
func repository(folder string) string { return strings.Replace(folder, "__", "/", 1) }

// Limits of pieces of instruction files.
const (
	mostOfRepository = 1000
	mostOfFile       = 20
)

// instructionFiles reads pieces of files that instruct agents.
func instructionFiles(folder string, held map[string]bool) (all []*injection.Text, err error) {
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
		first, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
		repo := repository(first)
		pieces := cut(string(text))
		for _, piece := range firstOf(pieces, min(mostOfFile, mostOfRepository-counts[repo])) {
			counts[repo]++
			all = append(all, &injection.Text{Text: piece, Kind: injection.Note,
				Source: "memory_md_file", Lang: "en", Held: held[repo]})
		}
		return nil
	})
	return all, err
}

// mostOfModule bounds the pieces of a module's Markdown.
const mostOfModule = 30

// moduleMarkdown reads pieces of the Markdown in a Go module cache: manuals, rules, runbooks. It
// holds half of the modules.
func moduleMarkdown(folder string) (all []*injection.Text, err error) {
	if folder == "" {
		return nil, nil
	}
	pieces := map[string][]*injection.Text{} // by module
	err = filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if rel == "cache" {
			return filepath.SkipDir // holds archives
		}
		if entry.IsDir() || filepath.Ext(rel) != ".md" || !manual(rel) {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		module, _, _ := strings.Cut(rel, "@")
		module = strings.Join(firstOf(strings.Split(module, "/"), 3), "/") // not its versions and parts
		for _, piece := range firstOf(cut(string(text)), mostOfFile) {
			pieces[module] = append(pieces[module], &injection.Text{Text: piece, Kind: injection.Note,
				Source: "module_markdown", Lang: "en", Held: isHeld(module)})
		}
		return nil
	})
	for _, module := range slices.Sorted(maps.Keys(pieces)) {
		all = append(all, spread(pieces[module], mostOfModule)...)
	}
	return all, err
}

// manual reports whether a file may instruct a reader.
func manual(name string) bool {
	name = strings.ToLower(name)
	return !slices.ContainsFunc([]string{"changelog", "changes", "license", "history", "release"},
		func(part string) bool { return strings.Contains(name, part) })
}

// firstOf returns the first n of a list, or all.
func firstOf[T any](list []T, n int) []T { return list[:min(len(list), n)] }

// A collection is documents with questions.
type collection struct {
	pattern      string // of folders
	questions    bool   // read the questions, not the documents
	source, lang string // "" takes the language from the folder's name
	most         int    // texts to fit to, and as many held ones
	hard         bool
}

// read returns texts of a collection. It holds half of the folders, or of the texts if folders are
// few.
func (c collection) read(data string) (all []*injection.Text, err error) {
	file, kind := "corpus.jsonl", injection.Note
	if c.questions {
		file = "queries.jsonl"
	}
	if c.hard {
		kind = injection.Hard
	}
	names, err := filepath.Glob(filepath.Join(data, filepath.FromSlash(c.pattern), file))
	if err != nil {
		return nil, err
	}
	for k, name := range names {
		lang := c.lang
		if lang == "" {
			lang, _, _ = strings.Cut(filepath.Base(filepath.Dir(name)), "-")
		}
		var texts []*injection.Text
		err := eachLine(name, func(t map[string]any) {
			id, _ := t["id"].(string)
			text, _ := t["text"].(string)
			held := k%2 == 1
			if len(names) <= 5 {
				held = isHeld(id)
			}
			for _, piece := range cut(text) {
				texts = append(texts, &injection.Text{Text: piece, Kind: kind, Source: c.source, Lang: lang, Held: held})
			}
		})
		if err != nil {
			return nil, err
		}
		all = append(all, spread(texts, 2*c.most/len(names))...)
	}
	return all, nil
}

// isHeld holds half of all names.
func isHeld(name string) bool {
	h := fnv.New32a()
	h.Write([]byte(name))
	return (h.Sum32()>>8)%2 == 1
}

// spread returns n texts at equal distances.
func spread(texts []*injection.Text, n int) (some []*injection.Text) {
	if len(texts) <= n {
		return texts
	}
	for i := range n {
		some = append(some, texts[i*len(texts)/n])
	}
	return some
}

// longestPiece is about a chunk of memory, in bytes.
const longestPiece = 1000

// cut cuts a text at blank lines, line breaks or blanks.
func cut(text string) (pieces []string) {
	for text = strings.TrimSpace(text); len(text) > longestPiece; text = strings.TrimSpace(text) {
		at := -1
		for _, border := range []string{"\n\n", "\n", " "} {
			if at < longestPiece/3 {
				at = strings.LastIndex(text[:longestPiece], border)
			}
		}
		if at < longestPiece/3 {
			at = longestPiece
		}
		pieces = append(pieces, strings.ToValidUTF8(text[:at], ""))
		text = text[at:]
	}
	if text = strings.ToValidUTF8(text, ""); text != "" {
		pieces = append(pieces, text)
	}
	return pieces
}

// eachLine calls do for each line of JSON. A missing file has none.
func eachLine[T any](name string, do func(T)) error {
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
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var line T
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		do(line)
	}
	return lines.Err()
}
