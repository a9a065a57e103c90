package chunker

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"strconv"
	"strings"
	"time"
)

// EmbeddingText is the text a chunk's vector is made of, and its Hash: for Markdown the heading path
// and the text, for a turn the day in words, the speaker and the text. What is empty or zero is left
// out. Headings that text itself begins with, as "#" lines, are not said twice. The day is that in
// UTC.
func EmbeddingText(headings []string, speaker string, at time.Time, text string) string {
	var b strings.Builder
	if path := joinPath(withoutRepeated(headings, text)); path != "" {
		b.WriteString(path)
		b.WriteByte('\n')
	}
	if !at.IsZero() {
		b.WriteString(at.UTC().Format("2 January 2006"))
		if speaker != "" {
			b.WriteString(", ")
		}
	}
	b.WriteString(speaker)
	if speaker != "" || !at.IsZero() {
		b.WriteString(": ")
	}
	b.WriteString(text)
	return b.String()
}

// withoutRepeated leaves out the last headings if text begins with them.
func withoutRepeated(headings []string, text string) []string {
	var own []string
	for strings.HasPrefix(text, "#") {
		line, rest, _ := strings.Cut(text, "\n")
		own = append(own, strings.TrimSpace(strings.Trim(line, "# \t")))
		text = strings.TrimLeft(rest, "\n")
	}
	for len(own) > 0 && len(headings) > 0 && own[len(own)-1] == headings[len(headings)-1] {
		own, headings = own[:len(own)-1], headings[:len(headings)-1]
	}
	return headings
}

// identify fills in ID and Hash, of which place is a part.
func (c *Chunk) identify(name, place string, embedded string) {
	sum := sha256.Sum256([]byte(embedded))
	c.Hash = hex.EncodeToString(sum[:])
	h := sha256.New()
	for _, part := range [...]string{name, place, c.Context, c.Text, c.Hash} {
		writePart(h, part)
	}
	c.ID = hex.EncodeToString(h.Sum(nil)[:16])
}

// writePart writes a part so that no two lists of parts are written alike.
func writePart(h hash.Hash, part string) {
	io.WriteString(h, strconv.Itoa(len(part)))
	io.WriteString(h, ":")
	io.WriteString(h, part)
}

// ordinals tell equal things apart by how many there were before.
type ordinals map[[16]byte]int

func (o ordinals) next(parts ...string) int {
	h := sha256.New()
	for _, part := range parts {
		writePart(h, part)
	}
	key := [16]byte(h.Sum(nil))
	o[key]++
	return o[key]
}
