package core

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/digest"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/internal/text/charset"
	"github.com/memcore/memcore/internal/text/secret"
	"github.com/memcore/memcore/store"
)

// CutterOptions decide what becomes of a document. The zero value works.
type CutterOptions struct {
	// Chunking is the size of chunks. NewCutter sets Count, and lowers a Max above the model's
	// input.
	Chunking chunker.Options
	// Embedder counts tokens and bounds chunks; it embeds nothing here. Nil means an estimate.
	Embedder embed.Embedder
	// KeepSecrets keeps keys, tokens and passwords in indexed text.
	KeepSecrets bool
	// Logger gets warnings; nil means slog.Default().
	Logger *slog.Logger
}

// A Cutter makes of a document what an index keeps of it. It does no I/O, and is safe for
// concurrent use.
type Cutter struct {
	chunking    chunker.Options
	keepSecrets bool
	fingerprint string
}

// NewCutter fails if the embedder reads too little of a text.
func NewCutter(o CutterOptions) (*Cutter, error) {
	if err := fitChunks(&o); err != nil {
		return nil, err
	}
	c := &Cutter{chunking: o.Chunking, keepSecrets: o.KeepSecrets}
	counter := "estimate"
	if o.Embedder != nil {
		counter = o.Embedder.Fingerprint()
	}
	c.fingerprint = fmt.Sprintf("v11/%d/%d/%d/%s%s/digest%d", o.Chunking.Target, o.Chunking.Max, o.Chunking.Overlap, counter, c.redaction(), digest.Version)
	return c, nil
}

const (
	// defaultMaxTokens is the default for the largest chunk. Vectors of longer texts are too vague.
	defaultMaxTokens = 240
	// minMaxTokens is the smallest Max that package chunker accepts.
	minMaxTokens = 32
)

// fitChunks lowers a chunk size that exceeds the model's input and logs it.
func fitChunks(o *CutterOptions) error {
	if o.Embedder == nil {
		return nil
	}
	chunking, limit := &o.Chunking, o.Embedder.MaxTokens()
	chunking.Count = o.Embedder.CountTokens
	if limit < minMaxTokens {
		return fmt.Errorf("embedder %s reads %d tokens of a text, want at least %d: use another model, or shorter prefixes if it has some",
			o.Embedder.Fingerprint(), limit, minMaxTokens)
	}
	if chunking.Max <= 0 {
		chunking.Max = max(min(limit, defaultMaxTokens), chunking.Target)
	}
	if chunking.Max > limit {
		cmp.Or(o.Logger, slog.Default()).Warn("chunks are smaller than asked for: the embedding model reads no more",
			"asked", chunking.Max, "tokens", limit, "embedder", o.Embedder.Fingerprint())
		chunking.Max = limit
	}
	return nil
}

// Fingerprint names all that decides about chunks and digests. What was cut with another one has to
// be cut again.
func (c *Cutter) Fingerprint() string { return c.fingerprint }

// redactQuietly takes secrets out of a text without a word about them: the log's chunks count them.
func (c *Cutter) redactQuietly(text string) string {
	if c.keepSecrets {
		return text
	}
	clean, _ := secret.Redact(text)
	return clean
}

// A Cut is what an index keeps of a document.
type Cut struct {
	// Records have no vectors yet. Those of statements (KindStatement) are at the end.
	Records []store.Record
	// Document goes into a Layer.
	Document Indexed
	// Digest is that of an agent's log, as JSON; nil for other documents. Contents.Digests gives it
	// back.
	Digest []byte
	// Redacted cites the lines of removed secrets by kind, as in IndexReport.
	Redacted map[string][]string
	Warnings []string
}

// Cut cuts a whole document, such as one of source.Parse, and takes its content.
func (c *Cutter) Cut(doc source.Document, content source.Content) (Cut, error) {
	if content.More || content.From > 1 {
		return Cut{}, fmt.Errorf("cut %s: it is not whole", doc.Path)
	}
	one := c.start(doc, map[string][]string{})
	one.describe(content)
	one.redactContent(&content)
	warnings, err := one.add(content, digest.Digest{}, entry{})
	if err != nil {
		return Cut{}, err
	}
	records := one.all()
	one.entry.Chunks = len(records)
	cut := Cut{Records: records, Document: Indexed{entry: one.entry}.WithPending(len(records)), Digest: one.digestText, Redacted: one.redacted, Warnings: warnings}
	if one.digest != nil {
		cut.Document.said = saidOf(*one.digest)
	}
	return cut, nil
}

// Replace compares a cut with the records that an index has of the document, and returns what to
// put and what to delete. Passages of a file that have not changed since keep the time of their
// first save, also in c.Records. A record of the same Hash as before has the same vector.
func (c *Cut) Replace(old []store.Record) (put []store.Record, gone []string) {
	keepTimes(old, c.Records, c.Document.entry.lastChange())
	return difference(old, c.Records)
}

// A cutting is a document that a Cutter cuts. A long log comes in pieces.
type cutting struct {
	*Cutter
	doc   source.Document
	entry entry
	// records and statements are those from line begin on.
	records, statements []store.Record
	begin               int
	// digest is of an agent's log, digestText as it is stored.
	digest     *digest.Digest
	digestText []byte
	// forgotten means that the whole document is.
	forgotten bool
	redacted  map[string][]string // as in IndexReport
}

// start adds places of secrets to redacted.
func (c *Cutter) start(doc source.Document, redacted map[string][]string) cutting {
	if !c.keepSecrets {
		doc.Branch = redactedBranch(doc.Branch)
	}
	return cutting{Cutter: c, doc: doc, redacted: redacted, entry: entry{File: doc.File, Session: doc.Session, Branch: doc.Branch,
		Kind: doc.Kind, Scope: doc.Scope, Size: doc.Size, ModTime: doc.ModTime, Changed: doc.Changed}}
}

// describe notes what the content of a document, as its source has it, says of it.
func (c *cutting) describe(content source.Content) {
	c.entry.Resume, c.entry.Unknown = content.Resume, unknownRecords(c.doc, content)
	if c.doc.Kind == source.KindConversation {
		return
	}
	sum := sha256.Sum256(content.Markdown)
	c.entry.Hash = hex.EncodeToString(sum[:])
	meta, _, _, _ := chunker.SplitFrontmatter(content.Markdown)
	c.entry.Globs, c.entry.Said = globsOf(c.doc, meta), saidDate(c.doc, meta)
}

// add makes the records of content without secrets. earlier is the digest of what precedes it,
// before the entry of that.
func (c *cutting) add(content source.Content, earlier digest.Digest, before entry) (warnings []string, err error) {
	c.entry.Links = linksOf(c.doc, content.Markdown)
	request := ""
	if content.From > 1 {
		request = before.Request
	}
	records, leftOut, warnings := c.recordsOf(content, request)
	c.entry.countTurns(content, leftOut, before)
	c.entry.Request = requestBefore(c.entry.Resume, content, request)
	switch content.Encoding {
	case "":
	case charset.Unknown:
		warnings = append(warnings, fmt.Sprintf("%s: it is not UTF-8, and its encoding is not known, so that only its ASCII was read: save it as UTF-8", c.doc.Path))
	default:
		warnings = append(warnings, fmt.Sprintf("%s: read as %s, since it is not UTF-8", c.doc.Path, content.Encoding))
	}
	if c.begin == 0 || content.From == 1 {
		c.begin, c.records = content.From, records
	} else {
		at := slices.IndexFunc(c.records, func(record store.Record) bool { return record.StartLine >= content.From })
		if at < 0 {
			at = len(c.records)
		}
		keepBefore(c.records[at:], records)
		c.records = append(c.records[:at], records...)
	}
	c.statements, err = c.digested(content, earlier)
	return warnings, err
}

// recordsOf redacts records; otherwise see the function recordsOf.
func (c *cutting) recordsOf(content source.Content, request string) (records []store.Record, leftOut, warnings []string) {
	chunking := c.chunking
	chunking.Redact = c.redact
	records, leftOut, warnings = recordsOf(c.doc, content, request, c.entry.Said, chunking)
	if !content.Agent || content.Noted { // else Session has done it
		c.redactRecords(records)
	}
	return records, leftOut, warnings
}

// all returns the records and statements of a document.
func (c *cutting) all() []store.Record { return append(c.records, c.statements...) }

// keepBefore fills in Before if that turn is not read.
func keepBefore(old, now []store.Record) {
	known := make(map[string]string, len(old))
	for _, r := range old {
		known[r.ID] = r.Before
	}
	for i, r := range now {
		if r.Before == "" {
			now[i].Before = known[r.ID]
		}
	}
}

// requestBefore returns the title of the last request before place, where reading continues, else
// earlier, the one before the content.
func requestBefore(place source.Position, content source.Content, earlier string) string {
	if !content.Agent || place.Offset == 0 {
		return ""
	}
	turns := content.Turns
	for len(turns) > 0 && turns[len(turns)-1].Line > place.Line {
		turns = turns[:len(turns)-1]
	}
	return chunker.Request(turns, earlier)
}
