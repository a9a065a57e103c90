package forgotten

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
	"slices"
	"strings"

	"github.com/memcore/memcore/chunker"
)

// A Set answers what is forgotten. It does not change, and is safe for concurrent use. The zero Set
// hides nothing.
type Set struct {
	// Changed and Added are when the list changed last, and when it last grew: what was read of a
	// document before Added may tell what is forgotten now. They rise with each change.
	Changed, Added int64

	lists  []salted
	whole  map[place]bool
	places map[place][]salted // what was forgotten of each document
	here   []salted           // of the document that For names
}

// salted are the hashes of one salt.
type salted struct {
	salt   []byte
	hashes map[uint64]bool
}

// A place is a document of a workspace.
type place struct{ in, path string }

// hash is the part of SHA-256 that the list keeps.
func (n name) hash(salt []byte) uint64 {
	h := sha256.New()
	h.Write(salt)
	io.WriteString(h, n.how+"\x00")
	io.WriteString(h, n.key)
	return binary.BigEndian.Uint64(h.Sum(nil))
}

func (s *Set) has(n name) bool {
	lists := s.lists
	if n.how == here {
		lists = s.here
	}
	return slices.ContainsFunc(lists, func(l salted) bool { return l.hashes[n.hash(l.salt)] })
}

// For returns the list to ask about a document, where also a short text stays hidden at its place,
// whatever is added beside it.
func (s *Set) For(in, path string) *Set {
	own := *s
	own.here = s.places[placeOf(in, path)]
	return &own
}

// Hides reports whether a passage is forgotten.
func (s *Set) Hides(all Passages, i int) bool { return slices.ContainsFunc(all.names(i), s.has) }

// Whole reports whether a document is forgotten by its name: then also what it says later.
func (s *Set) Whole(in, path string) bool { return s.whole[placeOf(in, path)] }

// Turns empties what is forgotten of a conversation and returns how many parts those were.
func (s *Set) Turns(turns []chunker.Turn, redact func(string) string) (hidden int) {
	if len(s.lists) == 0 {
		return 0
	}
	all := OfTurns(turns, redact)
	for i := range turns {
		t := &turns[i]
		if t.Asked != "" && s.Hides(Passages{{key: normal(redact(t.Asked))}}, 0) {
			t.Asked = ""
			hidden++
		}
		if s.Hides(all, i) {
			t.Text, t.Asked, t.Tools = "", "", nil
			hidden++
			continue
		}
		var gone []span
		if parts := all[i].parts; len(parts) > 1 {
			gone = slices.DeleteFunc(parts, func(p span) bool { return !isTelling(p.key) || !s.has(name{itself, p.key}) })
		}
		if len(gone) > 0 {
			t.Text = withoutLines(all[i].Text, gone)
			hidden += len(gone)
		}
	}
	return hidden
}

// Markdown returns a text with blank lines for what is forgotten of it, and how many parts those
// were.
func (s *Set) Markdown(text []byte) (left []byte, hidden int) {
	if len(s.lists) == 0 || len(text) == 0 {
		return text, 0
	}
	var gone []span
	all := OfMarkdown(string(text))
	for i, p := range all {
		if s.Hides(all, i) {
			gone = append(gone, span{p.First - 1, p.Last - 1, p.key})
		}
	}
	if len(gone) == 0 {
		return text, 0
	}
	return []byte(withoutLines(string(text), gone)), len(gone)
}

// withoutLines blanks lines, so that the others keep their numbers.
func withoutLines(text string, gone []span) string {
	lines := strings.Split(text, "\n")
	for _, g := range gone {
		for i := g.first; i <= g.last; i++ {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}
