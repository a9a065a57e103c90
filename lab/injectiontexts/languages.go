package main

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/memcore/memcore/lab/internal/injection"
)

// otherLanguages are the languages of notes below PACKAGES, by the names that Django and the
// declaration have for them.
var otherLanguages = map[string]string{"ar": "ar", "bn": "bn", "cs": "cs", "de": "de", "el": "el", "es": "es", "fa": "fa", "fr": "fr",
	"hi": "hi", "id": "id", "it": "it", "ja": "ja", "ko": "ko", "nl": "nl", "pl": "pl", "pt": "pt", "ro": "ro", "ru": "ru", "sv": "sv",
	"ta": "ta", "th": "th", "tr": "tr", "uk": "uk", "vi": "vi", "zh_Hans": "zh",
	"arb": "ar", "ben": "bn", "ces": "cs", "deu_1996": "de", "ell_monotonic": "el", "spa": "es", "pes_1": "fa", "fra": "fr",
	"hin": "hi", "ind": "id", "ita": "it", "jpn": "ja", "kor": "ko", "nld": "nl", "pol": "pl", "por_BR": "pt", "ron_2006": "ro",
	"rus": "ru", "swe": "sv", "tam": "ta", "tgl": "tl", "tha": "th", "tur": "tr", "ukr": "uk", "vie": "vi", "cmn_hans": "zh"}

const (
	shortestMessage = 30  // bytes
	mostOfLanguage  = 150 // of a source
)

// manyLanguages reads texts in many languages below a folder: gettext catalogues, which speak of
// users and passwords, and the declaration of human rights. Without harmless text in a language,
// the language itself would look like an attack.
func manyLanguages(folder string) (all []*injection.Text, err error) {
	if folder == "" {
		return nil, nil
	}
	type key struct{ source, lang string }
	found := map[key][]*injection.Text{}
	seen := map[string]bool{}
	err = fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		source, code, read := kindOf(name)
		lang := otherLanguages[code]
		if read == nil || lang == "" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		for _, piece := range read(string(text)) {
			if len(piece) < shortestMessage || seen[piece] {
				continue
			}
			seen[piece] = true
			k := key{source, lang}
			found[k] = append(found[k], &injection.Text{Text: firstOf(cut(piece), 1)[0], Kind: injection.Note, Source: source, Lang: lang})
		}
		return nil
	})
	for _, k := range slices.SortedFunc(maps.Keys(found), func(a, b key) int { return strings.Compare(a.source+a.lang, b.source+b.lang) }) {
		all = append(all, spread(found[k], mostOfLanguage)...)
	}
	return all, err
}

// kindOf returns what to read a file with, nil for others, and the name of its language.
func kindOf(name string) (source, lang string, read func(string) []string) {
	dir := path.Dir(name)
	switch {
	case path.Ext(name) == ".po":
		return "messages", path.Base(path.Dir(dir)), translations
	case path.Base(dir) == "declaration":
		return "declaration", strings.TrimSuffix(path.Base(name), ".html"), paragraphs
	}
	return "", "", nil
}

// paragraphs returns the paragraphs of a page.
func paragraphs(page string) (all []string) {
	var paragraph strings.Builder
	inside := false
	for tokens := html.NewTokenizer(strings.NewReader(page)); ; {
		switch tokens.Next() {
		case html.ErrorToken:
			return all
		case html.StartTagToken:
			tag, _ := tokens.TagName()
			inside = inside || string(tag) == "p"
		case html.TextToken:
			if inside {
				paragraph.Write(tokens.Text())
			}
		case html.EndTagToken:
			if tag, _ := tokens.TagName(); string(tag) == "p" {
				all = append(all, strings.Join(strings.Fields(html.UnescapeString(paragraph.String())), " "))
				paragraph.Reset()
				inside = false
			}
		}
	}
}

// translations returns the translated messages of a catalogue, without its head.
func translations(catalogue string) (all []string) {
	var message strings.Builder
	inside := false
	end := func() {
		if text := message.String(); inside && text != "" && !strings.Contains(text, "Content-Type:") {
			all = append(all, text)
		}
		message.Reset()
		inside = false
	}
	for line := range strings.Lines(catalogue) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "msgstr") {
			end()
			inside = true
			_, line, _ = strings.Cut(line, " ")
		}
		text, err := strconv.Unquote(line)
		if err != nil {
			end()
			continue
		}
		if inside {
			message.WriteString(text)
		}
	}
	end()
	return all
}
