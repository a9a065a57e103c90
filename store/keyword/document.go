package keyword

import (
	"fmt"
	"strings"
	"time"

	"github.com/blevesearch/bleve/v2/analysis"
	index "github.com/blevesearch/bleve_index_api"

	"github.com/memcore/memcore/store"
)

// The fields that are searched. A record's terms count by the field they stand in (see Weights).
// The neighbours come last: they help to find a turn but say nothing about how rare a word is.
const (
	fieldText    = iota
	fieldTitle   // headings, and the path of a file
	fieldSpeaker // who said it
	fieldDate    // when it was said, in words and numbers
	fieldAround  // the turns before and after
	fieldCount
)

var fieldNames = [fieldCount]string{"text", "title", "speaker", "date", "around"}

// lengths counts a record's tokens by field.
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
	idField     = "_id"    // what Bleve's segments call it
	facetField  = "facet"  // exact terms to filter by
	recordField = "record" // the encoded record; stored, not searched
)

// kindConversation is the Kind of records whose Time is when they were said.
const kindConversation = "conversation"

// newDocument is rec as Bleve's segments take it, and how long its fields are.
func newDocument(rec store.Record, analyzer *textAnalyzer) (*document, lengths) {
	texts := [fieldCount]string{
		fieldText:    rec.Text,
		fieldTitle:   title(rec),
		fieldSpeaker: rec.Speaker,
		fieldDate:    dateWords(rec),
		fieldAround:  rec.Before + "\n" + rec.After,
	}
	var words [fieldCount]analysis.TokenStream
	for i, text := range texts {
		words[i] = analyzer.Analyze([]byte(text))
	}
	spoken := spokenIn(words[fieldText])
	doc := &document{id: rec.ID}
	var size lengths
	for i := range words {
		f := analysed(fieldNames[i], analyzer.stem(words[i], spoken))
		size[i] = int64(f.length)
		doc.fields = append(doc.fields, f)
	}
	doc.fields = append(doc.fields,
		exact(facetField, append(facets(rec), languageFacet(spoken.name))...),
		&field{name: recordField, options: index.StoreField, value: encodeRecord(rec, size)},
		&field{name: idField, options: index.IndexField | index.StoreField, value: []byte(rec.ID),
			length: 1, frequencies: frequencies(rec.ID)},
	)
	return doc, size
}

// title is what stands over a record. The path of a log is left out: it is made of numbers and the
// same for a thousand turns.
func title(rec store.Record) string {
	title := strings.Join(rec.Headings, "\n")
	if rec.Kind != kindConversation {
		title += "\n" + rec.Path
	}
	return title
}

// dateWords is the date of a turn as people ask for it. The time of a file is not told: it is when
// somebody last touched it.
func dateWords(rec store.Record) string {
	if rec.Kind != kindConversation || rec.Time.IsZero() {
		return ""
	}
	return rec.Time.UTC().Format("2 January 2006 2006-01-02")
}

// Facets begin with what they are about, so that one field holds them all.
func scopeFacet(scope string) string   { return "scope " + scope }
func kindFacet(kind string) string     { return "kind " + kind }
func documentFacet(name string) string { return "document " + name }
func folderFacet(folder string) string { return "folder " + folder }
func dayFacet(day int64) string        { return fmt.Sprintf("day %08d", day) }
func languageFacet(name string) string { return "language " + name }

func facets(rec store.Record) []string {
	all := []string{scopeFacet(rec.Scope), kindFacet(rec.Kind), documentFacet(rec.Path)}
	for at := strings.LastIndexByte(rec.Path, '/'); at >= 0; at = strings.LastIndexByte(rec.Path[:at], '/') {
		all = append(all, folderFacet(rec.Path[:at]))
	}
	if !rec.Time.IsZero() {
		all = append(all, dayFacet(dayOf(rec.Time)))
	}
	return all
}

// lastDay is the largest that dayFacet keeps in order.
const lastDay = 99_999_999

// dayOf numbers the days of UTC from 1 in 1970. All before are of the first day, those far ahead of the last.
func dayOf(t time.Time) int64 { return max(1, min(t.Unix()/(24*60*60)+1, lastDay)) }

// A document is what Bleve's segments are built from. All its fields are analysed beforehand.
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

func analysed(name string, tokens analysis.TokenStream) *field {
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
