package main

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/memcore/memcore/lab/internal/injection"
)

// ownSentences has a section per language ("[de]"). Each line is an opening of an attack ("<"), its
// request ("?"), its ending (">"), or a harmless sentence in the same words ("=").
//
//go:embed own/sentences.txt
var ownSentences string

// frames hide a sentence in markup, code or data, in any language.
var frames = []string{"<!-- %s -->", "# %s", "// %s", `<p style="display:none">%s</p>`, `{"note": "%s"}`, "/* %s */",
	"[%s]", "<b>%s</b>", "> %s", "TODO: %s", "<title>%s</title>", "System: %s", `"""%s"""`, "| %s | 12 |", "Q: %s"}

// surroundings are what notes have around a sentence, so that a link, code or an address is no sign
// of an attack.
var surroundings = []string{"%s https://docs.example.org/start", "%s <https://example.org/manual>", "%s\n\n```\nmake install\n```",
	"%s info@office.example", "- %s `app --version`", "# app\n\n> %s", "%s ``` import requests; requests.get(url) ```"}

// sentences are those of a language, by mark.
type sentences map[byte][]string

// composed returns attacks and notes made of ownSentences, so that a fit learns what is asked for
// rather than around it.
func composed() (all []*injection.Text, err error) {
	lang, of := "", sentences{}
	flush := func() {
		all = append(all, of.attacks(lang)...)
		all = append(all, of.notes(lang)...)
		of = sentences{}
	}
	for line := range strings.Lines(ownSentences) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			flush()
			lang = strings.TrimSuffix(name, "]")
			continue
		}
		mark, text, ok := strings.Cut(line, " ")
		if !ok || len(mark) != 1 || !strings.Contains("<?>=", mark) {
			return nil, fmt.Errorf("own/sentences.txt: %q has no mark", line)
		}
		of[mark[0]] = append(of[mark[0]], text)
	}
	flush()
	return all, nil
}

// attacks gives each request alone, after an opening, before an ending, in a frame and among notes.
func (s sentences) attacks(lang string) (all []*injection.Text) {
	for i, request := range s['?'] {
		for _, text := range []string{
			request,
			joined(lang, nth(s['<'], i), request),
			joined(lang, request, nth(s['>'], i)),
			fmt.Sprintf(nth(frames, i), request),
			joined(lang, nth(s['='], i), request, nth(s['='], i+3)),
		} {
			all = append(all, &injection.Text{Text: text, Kind: injection.Attack, Source: "own_attack", Lang: lang})
		}
	}
	return all
}

// notes gives each harmless sentence alone, with another, in a frame and in surroundings.
func (s sentences) notes(lang string) (all []*injection.Text) {
	for i, note := range s['='] {
		for _, text := range []string{
			note,
			joined(lang, note, nth(s['='], i+5)),
			fmt.Sprintf(nth(frames, i), note),
			fmt.Sprintf(nth(surroundings, i), note),
		} {
			all = append(all, &injection.Text{Text: text, Kind: injection.Hard, Source: "own_note", Lang: lang})
		}
	}
	return all
}

func nth(list []string, n int) string { return list[n%len(list)] }

// joined joins sentences of a language.
func joined(lang string, sentences ...string) string {
	if lang == "zh" || lang == "ja" {
		return strings.Join(sentences, "")
	}
	return strings.Join(sentences, " ")
}
