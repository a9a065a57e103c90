package core

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/store"
)

// A noteLink is what a note calls another one: a person's own name for it, which that note may not
// have.
type noteLink struct {
	To   string `json:"to"` // as the note has it
	Text string `json:"text"`
}

// Bounds of what links say.
const (
	maxLinks      = 64 // of a note
	maxAliases    = 5  // of a note
	maxAlias      = 60 // characters
	maxAliasWords = 8
)

// linksOf returns the links of a note whose texts say something.
func linksOf(doc source.Document, text []byte) (links []noteLink) {
	if doc.Kind != source.KindMarkdown {
		return nil
	}
	for _, l := range chunker.Links(text) {
		if to, err := url.PathUnescape(l.Target); err == nil {
			l.Target = to
		}
		link := noteLink{To: l.Target, Text: l.Text}
		if saysMore(link.Text, withoutExtension(link.To)) && !slices.Contains(links, link) {
			links = append(links, link)
		}
		if len(links) == maxLinks {
			break
		}
	}
	return links
}

// withoutExtension keeps other dots of a name.
func withoutExtension(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".mdx", ".mdc":
		return strings.TrimSuffix(name, path.Ext(name))
	}
	return name
}

// saysMore reports whether the text of a link names its target by other words than its path.
func saysMore(text, target string) bool {
	said := bare(withoutExtension(text))
	if n := len([]rune(said)); n < 2 || n > maxAlias || strings.Count(said, " ") >= maxAliasWords {
		return false
	}
	if strings.Contains(text, "://") || strings.HasPrefix(said, "www ") || !strings.ContainsFunc(said, unicode.IsLetter) {
		return false
	}
	if name := bare(target); name == said || strings.HasSuffix(name, " "+said) {
		return false
	}
	for word := range strings.FieldsSeq(said) {
		if !pointing()[word] {
			return true
		}
	}
	return false
}

// bare returns the words of a text in lower case, without marks.
func bare(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}), " ")
}

// pointing are words of links that say where to go, not to what.
var pointing = lazy.Set(`a all also an and at back below above by click detail details doc docs document documentation entry example
	examples file first for from full guide here home in index info information it its last link links list main
	md more my next note notes of on one open our overview page part post prev previous read readme ref
	reference section see source start that the their there these this to top up url view we you your
	hier mehr siehe weiter zurück dort seite datei diese dieser dieses ici lien voir suite aquí enlace ver más qui
	link leggi aqui mais 这里 此处 这儿 链接 详情 更多 こちら ここ 詳細 링크 여기 здесь тут ссылка подробнее`)

// A noteNames finds the notes that links name.
type noteNames struct {
	documents map[string]entry
	paths     map[noteName]string // by the whole path
	endings   map[noteName]string // by each end of the path, from a slash on, in lower case
}

// A noteName is a path or its end, with or without the extension. What two notes have is of "".
type noteName struct{ source, name string }

func (m *manifest) noteNames() noteNames {
	n := noteNames{m.Documents, map[noteName]string{}, map[noteName]string{}}
	add := func(names map[noteName]string, name noteName, document string) {
		if _, taken := names[name]; taken {
			document = ""
		}
		names[name] = document
	}
	for document, e := range m.Documents {
		if e.Kind != source.KindMarkdown {
			continue
		}
		for _, name := range written(paths.Unspell(document)) {
			add(n.paths, noteName{e.Source, name}, document)
			name = strings.ToLower("/" + name)
			for i := range len(name) {
				if name[i] == '/' {
					add(n.endings, noteName{e.Source, name[i:]}, document)
				}
			}
		}
	}
	return n
}

// written returns the ways to write the name of a note, the exact one first.
func written(name string) []string {
	if without := withoutExtension(name); without != name {
		return []string{name, without}
	}
	return []string{name}
}

// target returns the note of the same source that a link in a note names, or "": by its path from
// the folder of the note, as in Markdown, else by the end of its path if only one has that, as in
// Obsidian. Notes that differ in the extension are told apart only by a link that has it.
func (n noteNames) target(from, to string) string {
	if path.Join("/", to) == "/" {
		return ""
	}
	in := n.documents[from].Source
	for _, name := range written(to) {
		if document, ok := n.paths[noteName{in, path.Join(path.Dir(paths.Unspell(from)), name)}]; ok {
			return document
		}
	}
	if strings.HasPrefix(to, "../") {
		return ""
	}
	for _, name := range written(to) {
		if document, ok := n.endings[noteName{in, strings.ToLower(path.Join("/", name))}]; ok {
			return document
		}
	}
	return ""
}

// aliases returns what the links of all notes call each note, what most of them say first.
func (m *manifest) aliases() map[string][]string {
	type alias struct {
		text  string
		notes int
	}
	said := map[string]map[string]alias{} // by target and bare text
	names := noteNames{}
	for from, e := range m.Documents {
		if len(e.Links) == 0 {
			continue
		}
		if names.paths == nil {
			names = m.noteNames()
		}
		seen := map[[2]string]bool{}
		for _, l := range e.Links {
			to, text := names.target(from, l.To), bare(l.Text)
			if to == "" || to == from || seen[[2]string{to, text}] {
				continue
			}
			seen[[2]string{to, text}] = true
			if said[to] == nil {
				said[to] = map[string]alias{}
			}
			a, ok := said[to][text]
			if !ok || l.Text < a.text {
				a.text = l.Text // whichever note is asked first
			}
			a.notes++
			said[to][text] = a
		}
	}
	all := make(map[string][]string, len(said))
	for to, texts := range said {
		sorted := slices.SortedFunc(maps.Values(texts), func(a, b alias) int {
			return cmp.Or(b.notes-a.notes, cmp.Compare(a.text, b.text))
		})
		for _, a := range sorted[:min(len(sorted), maxAliases)] {
			all[to] = append(all[to], a.text)
		}
	}
	return all
}

// setAliases gives the first record of a note its aliases, without those that are its headings.
func setAliases(records []store.Record, aliases []string) {
	if len(records) == 0 {
		return
	}
	first := 0
	for i, r := range records {
		records[i].Aliases = nil
		if cmp.Or(r.StartLine-records[first].StartLine, cmp.Compare(r.ID, records[first].ID)) < 0 {
			first = i
		}
	}
	r := &records[first]
	for _, alias := range aliases {
		if !slices.ContainsFunc(r.Headings, func(heading string) bool { return bare(heading) == bare(alias) }) {
			r.Aliases = append(r.Aliases, alias)
		}
	}
}

// noteLinks marks the manifest if what links name may differ with the new entry of a document, or
// without it if that is empty. The mark is saved before or with the change, for a crash.
func (w *writer) noteLinks(document string, now entry) {
	old := w.manifest.Documents[document]
	was, is := old.Kind == source.KindMarkdown, now.Kind == source.KindMarkdown
	if was != is || is && (old.Source != now.Source || !slices.Equal(old.Links, now.Links)) {
		w.manifest.LinksChanged = true
	}
}

// aliasesPerCommit is in notes.
const aliasesPerCommit = 256

// updateAliases corrects the records of notes of which links say something else than before, until
// the deadline, if any; the next run goes on. No note is read again: the manifest has all links,
// and the index the records.
func (w *writer) updateAliases(ctx context.Context, deadline time.Time) error {
	late := func() bool { return !deadline.IsZero() && time.Now().After(deadline) }
	if !w.manifest.LinksChanged || late() {
		return nil
	}
	now := w.manifest.aliases()
	var changed []string
	for document, e := range w.manifest.Documents {
		if !slices.Equal(e.Aliases, now[document]) {
			changed = append(changed, document)
		}
	}
	for documents := range slices.Chunk(changed, aliasesPerCommit) {
		if late() {
			return nil
		}
		if err := w.putAliases(ctx, documents, now); err != nil {
			return err
		}
	}
	w.manifest.LinksChanged = false
	return w.manifest.save(w.folder)
}

func (w *writer) putAliases(ctx context.Context, documents []string, aliases map[string][]string) error {
	wasUnsure := map[string]bool{}
	for _, document := range documents {
		e := w.manifest.Documents[document]
		wasUnsure[document] = e.Unsure
		e.Unsure, e.Aliases = true, aliases[document]
		w.manifest.Documents[document] = e
	}
	if err := w.manifest.save(w.folder); err != nil {
		return err
	}
	for _, document := range documents {
		records, err := w.keywords.Document(ctx, document)
		if err != nil {
			return w.discard(err)
		}
		aliased := slices.Clone(records)
		setAliases(aliased, aliases[document])
		put, _ := difference(records, aliased)
		if err := w.keywords.Put(ctx, put); err != nil {
			return w.discard(err)
		}
	}
	if err := w.keywords.Commit(ctx); err != nil {
		return w.discard(err)
	}
	for document, unsure := range wasUnsure {
		e := w.manifest.Documents[document]
		e.Unsure = unsure
		w.manifest.Documents[document] = e
	}
	return w.manifest.save(w.folder)
}
