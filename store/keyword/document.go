package keyword

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"
	index "github.com/blevesearch/bleve_index_api"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
)

// The searched fields (see weights). fieldAround is last: how rare a word is does not depend on it.
const (
	fieldText  = iota
	fieldTitle // headings, aliases, and the path of a file
	fieldSpeaker
	fieldDate   // of a turn, in words and numbers
	fieldAround // the turns before and after
	fieldCount
)

var fieldNames = [fieldCount]string{"text", "title", "speaker", "date", "around"}

// lengths are a record's numbers of tokens by field.
type lengths [fieldCount]int64

func (l *lengths) add(other lengths) {
	for i := range l {
		l[i] += other[i]
	}
}

func (l *lengths) subtract(other lengths) {
	for i := range l {
		l[i] -= other[i]
	}
}

const (
	idField     = "_id"    // Bleve's name
	facetField  = "facet"  // exact terms to filter by
	recordField = "record" // the encoded record; stored, not searched
)

// kindConversation is the Kind of turns.
const kindConversation = "conversation"

// An analysed record has the terms of its fields.
type analysed struct {
	terms    [fieldCount]analysis.TokenStream
	size     lengths
	language string // ISO 639-1
}

func analyse(rec *store.Record, analyzer *textAnalyzer) (a analysed) {
	texts := [fieldCount]string{
		fieldText:    rec.Text,
		fieldTitle:   title(rec),
		fieldSpeaker: rec.Speaker,
		fieldDate:    dateWords(rec),
		fieldAround:  rec.Before + "\n" + rec.After,
	}
	for i, text := range texts {
		a.terms[i] = analyzer.Analyze([]byte(text))
		a.size[i] = int64(len(a.terms[i]))
	}
	spoken, name := spokenIn(rec.Text, a.terms[fieldText])
	for _, tokens := range a.terms {
		analyzer.stem(tokens, spoken)
	}
	a.language = name
	return a
}

// newDocument returns rec for Bleve, and the lengths of its fields.
func newDocument(rec *store.Record, analyzer *textAnalyzer) (*document, lengths) {
	a := analyse(rec, analyzer)
	doc := &document{id: rec.ID}
	for i, tokens := range a.terms {
		doc.fields = append(doc.fields, searched(fieldNames[i], tokens))
	}
	doc.fields = append(doc.fields,
		exact(facetField, append(facets(rec), languageFacet(a.language))...),
		&field{name: recordField, options: index.StoreField, value: encodeRecord(rec, a.size)},
		&field{name: idField, options: index.IndexField | index.StoreField, value: []byte(rec.ID),
			length: 1, frequencies: frequencies(rec.ID)},
	)
	return doc, a.size
}

// title joins headings, aliases and path. The path of a log says nothing: its turns share it.
func title(rec *store.Record) string {
	title := strings.Join(slices.Concat(rec.Headings, rec.Aliases), "\n")
	if rec.Kind != kindConversation {
		title += "\n" + rec.Path
	}
	return title
}

// dateWords returns a turn's date in words. The time of a file is left out.
func dateWords(rec *store.Record) string {
	if rec.Kind != kindConversation || rec.Time.IsZero() {
		return ""
	}
	return rec.Time.UTC().Format("2 January 2006 2006-01-02")
}

// Facets begin with their subject: all are in one field.
func scopeFacet(scope string) string   { return "scope " + scope }
func kindFacet(kind string) string     { return "kind " + kind }
func documentFacet(name string) string { return "document " + name }
func folderFacet(folder string) string { return "folder " + folder }
func dayFacet(day disk.Day) string     { return fmt.Sprintf("day %08d", day) }
func languageFacet(name string) string { return "language " + name }

// textFacet is that of all records with a text. It is short, since a search reads all of them.
func textFacet(text string) string {
	return string(binary.BigEndian.AppendUint64([]byte(firstText), textSum(text)))
}

func textSum(text string) uint64 {
	sum := sha256.Sum256([]byte(strings.TrimSpace(text)))
	return binary.BigEndian.Uint64(sum[:])
}

// Facets of texts are between these.
const firstText, afterTexts = "=", ">"

func facets(rec *store.Record) []string {
	all := []string{scopeFacet(rec.Scope), kindFacet(rec.Kind), documentFacet(rec.Path)}
	if rec.Kind != store.KindStatement {
		all = append(all, textFacet(rec.Text))
	}
	for at := strings.LastIndexByte(rec.Path, '/'); at >= 0; at = strings.LastIndexByte(rec.Path[:at], '/') {
		all = append(all, folderFacet(rec.Path[:at]))
	}
	if !rec.Time.IsZero() {
		all = append(all, dayFacet(disk.DayOf(rec.Time)))
	}
	return all
}

// A document is input of Bleve's segment builder, analysed.
type document struct {
	id     string
	fields []*field
}

var _ index.Document = (*document)(nil)

func (d *document) ID() string                                 { return d.id }
func (d *document) Size() int                                  { return 0 }
func (d *document) VisitComposite(index.CompositeFieldVisitor) {}
func (d *document) HasComposite() bool                         { return false }
func (d *document) NumPlainTextBytes() uint64                  { return 0 }
func (d *document) AddIDField()                                {}
func (d *document) StoredFieldsBytes() uint64                  { return 0 }
func (d *document) Indexed() bool                              { return true }

func (d *document) VisitFields(visit index.FieldVisitor) {
	for _, f := range d.fields {
		visit(f)
	}
}

type field struct {
	name        string
	options     index.FieldIndexingOptions
	value       []byte
	length      int
	frequencies index.TokenFrequencies
}

var _ index.Field = (*field)(nil)

func (f *field) Name() string                                     { return f.name }
func (f *field) Value() []byte                                    { return f.value }
func (f *field) ArrayPositions() []uint64                         { return nil }
func (f *field) EncodedFieldType() byte                           { return 't' }
func (f *field) Analyze()                                         {}
func (f *field) Options() index.FieldIndexingOptions              { return f.options }
func (f *field) AnalyzedLength() int                              { return f.length }
func (f *field) AnalyzedTokenFrequencies() index.TokenFrequencies { return f.frequencies }
func (f *field) NumPlainTextBytes() uint64                        { return uint64(len(f.value)) }

func searched(name string, tokens analysis.TokenStream) *field {
	return &field{
		name: name, options: index.IndexField, length: len(tokens),
		frequencies: analysis.TokenFrequency(tokens, nil, index.IndexField),
	}
}

func exact(name string, terms ...string) *field {
	return &field{name: name, options: index.IndexField, length: len(terms), frequencies: frequencies(terms...)}
}

func frequencies(terms ...string) index.TokenFrequencies {
	all := make(index.TokenFrequencies, len(terms))
	for _, term := range terms {
		f := &index.TokenFreq{Term: []byte(term)}
		f.SetFrequency(1)
		all[term] = f
	}
	return all
}
