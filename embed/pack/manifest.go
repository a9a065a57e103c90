package pack

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/model/weights"
)

// A Manifest describes a model.
type Manifest struct {
	Name           string   `json:"name"` // lower-case letters, digits, '-' and '.'
	Licence        string   `json:"licence"`
	Origin         string   `json:"origin"`    // what it was made from
	SHA256         string   `json:"sha256"`    // of all after the manifest, in hexadecimal
	Languages      []string `json:"languages"` // ISO 639-1
	Tokenizer      string   `json:"tokenizer"` // "unigram"
	QueryPrefix    string   `json:"queryPrefix"`
	DocumentPrefix string   `json:"documentPrefix"`
	First          int32    `json:"first"` // token before every text
	Last           int32    `json:"last"`  // token after every text
	Dimension      int      `json:"dimension"`
	Layers         int      `json:"layers"`
	Positions      int      `json:"positions"` // tokens that are read at once, with the first and the last
	Vocabulary     int      `json:"vocabulary"`
	WordBits       int      `json:"wordBits"` // of a number of the word embeddings
}

// magic begins a pack and names the format's version. After it come the length of the manifest in
// four bytes, little-endian, and the manifest as JSON; the length of the tokeniser in eight, and
// the tokeniser (package unigram); the weights (package weights).
const magic = "memcore model 1\n"

// maxManifest bounds what is decoded.
const maxManifest = 1 << 20

// ErrFormat means that a file is no pack that this release can read.
var ErrFormat = errors.New("not a model pack")

// Fingerprint is embed.Embedder's.
func (m Manifest) Fingerprint() string {
	return fmt.Sprintf("pack/%s/%d/mean/%s", m.Name, m.Dimension, m.SHA256[:fingerprintDigits])
}

const fingerprintDigits = 12

func (m Manifest) shape() weights.Shape {
	return weights.Shape{Layers: m.Layers, Positions: m.Positions, Vocabulary: m.Vocabulary, WordBits: m.WordBits}
}

const tokenizer = "unigram"

// isName reports whether text is lower-case letters, digits, '-' and '.', beginning with one of the
// first two.
func isName(text string) bool {
	allowed := func(r rune) bool { return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '.' }
	return text != "" && len(text) <= maxName && text[0] != '-' && text[0] != '.' && !strings.ContainsFunc(text, func(r rune) bool { return !allowed(r) })
}

const maxName = 64

func isSum(text string) bool {
	sum, err := hex.DecodeString(text)
	return err == nil && len(sum) == sha256.Size && strings.ToLower(text) == text
}

// builtIn are names that mean other embedders.
var builtIn = []string{"minilm", "ollama", "openai", "none"}

func (m Manifest) check() error {
	switch {
	case !isName(m.Name) || slices.Contains(builtIn, m.Name):
		return fmt.Errorf("%w: name is %q, want lower-case letters, digits, '-' and '.'", ErrFormat, m.Name)
	case !isSum(m.SHA256):
		return fmt.Errorf("%w: sha256 is %q, want 64 hexadecimal digits", ErrFormat, m.SHA256)
	case m.Tokenizer != tokenizer:
		return fmt.Errorf("%w: tokenizer is %q, want %q: a newer memcore may know it", ErrFormat, m.Tokenizer, tokenizer)
	case m.Dimension != weights.Hidden:
		return fmt.Errorf("%w: dimension is %d, want %d: a newer memcore may know it", ErrFormat, m.Dimension, weights.Hidden)
	case m.First < 0 || m.Last < 0 || int(m.First) >= m.Vocabulary || int(m.Last) >= m.Vocabulary:
		return fmt.Errorf("%w: tokens %d and %d, want less than %d", ErrFormat, m.First, m.Last, m.Vocabulary)
	}
	if err := m.shape().Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return nil
}

// parts refer to a file.
type parts struct {
	manifest  Manifest
	tokenizer []byte
	weights   []byte
}

func parse(data []byte) (parts, error) {
	manifest, rest, err := parseManifest(data)
	if err != nil {
		return parts{}, err
	}
	if len(rest) < 8 || binary.LittleEndian.Uint64(rest) > uint64(len(rest)-8) {
		return parts{}, fmt.Errorf("%w: it ends in its tokeniser", ErrFormat)
	}
	n := binary.LittleEndian.Uint64(rest)
	p := parts{manifest, rest[8 : 8+n], rest[8+n:]}
	if got, want := len(p.weights), manifest.shape().Bytes(); got != want {
		return parts{}, fmt.Errorf("%w: its weights have %d bytes, want %d", ErrFormat, got, want)
	}
	return p, nil
}

func parseManifest(data []byte) (m Manifest, rest []byte, err error) {
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok || len(rest) < 4 {
		return m, nil, fmt.Errorf("%w: it does not start with %q", ErrFormat, magic)
	}
	n := binary.LittleEndian.Uint32(rest)
	if rest = rest[4:]; n > maxManifest || uint64(n) > uint64(len(rest)) {
		return m, nil, fmt.Errorf("%w: a manifest of %d bytes", ErrFormat, n)
	}
	if err := json.Unmarshal(rest[:n], &m); err != nil {
		return m, nil, fmt.Errorf("%w: manifest: %w", ErrFormat, err)
	}
	return m, rest[n:], m.check()
}

// Verify compares a pack's bytes with its manifest, first their number. Errors are ErrFormat.
func Verify(data []byte) (Manifest, error) {
	p, err := parse(data)
	if err != nil {
		return p.manifest, err
	}
	m := p.manifest
	rest := data[len(data)-8-len(p.tokenizer)-len(p.weights):]
	if sum := hex.EncodeToString(sum(rest)); sum != m.SHA256 {
		return m, fmt.Errorf("%w: the SHA-256 of its content is %s, its manifest says %s: it is damaged", ErrFormat, sum, m.SHA256)
	}
	_, err = p.encoder()
	return m, err
}

func sum(data []byte) []byte {
	sum := sha256.Sum256(data)
	return sum[:]
}

// Append appends the bytes of a pack: a tokeniser and weights as their packages below internal
// write them. It sets the manifest's checksum, tokeniser and dimension.
func Append(data []byte, m Manifest, vocabulary, numbers []byte) ([]byte, error) {
	rest := binary.LittleEndian.AppendUint64(nil, uint64(len(vocabulary)))
	rest = append(append(rest, vocabulary...), numbers...)
	m.SHA256, m.Tokenizer, m.Dimension = hex.EncodeToString(sum(rest)), tokenizer, weights.Hidden
	if err := m.check(); err != nil {
		return nil, err
	}
	manifest, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	data = binary.LittleEndian.AppendUint32(append(data, magic...), uint32(len(manifest)))
	return append(append(data, manifest...), rest...), nil
}
