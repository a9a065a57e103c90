//go:build lancedb

package table

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/memcore/memcore/store"
)

// A Row is a record in the table. Extra holds the columns a Schema was given beyond those of a
// record, by name: values are string, int64 or bool.
type Row struct {
	Record   store.Record // Vector is nil if the row has none, or it was not asked for
	Distance float64      // squared Euclidean distance to the query of a vector search
	Extra    map[string]any
}

// A column of the schema, and how it gets into and out of a record.
type column struct {
	arrow.Field
	get func(*store.Record) any
	set func(*store.Record, any)
}

var (
	text   = arrow.BinaryTypes.String
	number = arrow.PrimitiveTypes.Int64
)

// columns are all but the vector.
var columns = []column{
	{field("id", text), func(r *store.Record) any { return r.ID }, func(r *store.Record, v any) { r.ID = v.(string) }},
	{field("scope", text), func(r *store.Record) any { return r.Scope }, func(r *store.Record, v any) { r.Scope = v.(string) }},
	{field("kind", text), func(r *store.Record) any { return r.Kind }, func(r *store.Record, v any) { r.Kind = v.(string) }},
	{field("path", text), func(r *store.Record) any { return r.Path }, func(r *store.Record, v any) { r.Path = v.(string) }},
	{field("start_line", number), func(r *store.Record) any { return int64(r.StartLine) }, func(r *store.Record, v any) { r.StartLine = int(v.(int64)) }},
	{field("end_line", number), func(r *store.Record) any { return int64(r.EndLine) }, func(r *store.Record, v any) { r.EndLine = int(v.(int64)) }},
	{field("headings", text), func(r *store.Record) any { return joinHeadings(r.Headings) }, func(r *store.Record, v any) { r.Headings = splitHeadings(v.(string)) }},
	{field("session", text), func(r *store.Record) any { return r.Session }, func(r *store.Record, v any) { r.Session = v.(string) }},
	{field("speaker", text), func(r *store.Record) any { return r.Speaker }, func(r *store.Record, v any) { r.Speaker = v.(string) }},
	{field("time", number), func(r *store.Record) any { return seconds(r.Time) }, func(r *store.Record, v any) { r.Time = fromSeconds(v.(int64)) }},
	{field("text", text), func(r *store.Record) any { return r.Text }, func(r *store.Record, v any) { r.Text = v.(string) }},
	{field("before", text), func(r *store.Record) any { return r.Before }, func(r *store.Record, v any) { r.Before = v.(string) }},
	{field("after", text), func(r *store.Record) any { return r.After }, func(r *store.Record, v any) { r.After = v.(string) }},
	{field("hash", text), func(r *store.Record) any { return r.Hash }, func(r *store.Record, v any) { r.Hash = v.(string) }},
	{field("tokens", number), func(r *store.Record) any { return int64(r.Tokens) }, func(r *store.Record, v any) { r.Tokens = int(v.(int64)) }},
}

func field(name string, kind arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: kind} }

var columnNamed = func() map[string]column {
	named := map[string]column{}
	for _, c := range columns {
		named[c.Name] = c
	}
	return named
}()

// Extra columns a table may have.
func TextColumn(name string) arrow.Field   { return field(name, text) }
func NumberColumn(name string) arrow.Field { return field(name, number) }
func BoolColumn(name string) arrow.Field   { return field(name, arrow.FixedWidthTypes.Boolean) }

// Schema is that of a table of records with vectors of the given dimension, at least 1, and of extra
// columns.
func Schema(dimension int, extra ...arrow.Field) *arrow.Schema {
	var fields []arrow.Field
	for _, c := range columns {
		fields = append(fields, c.Field)
	}
	fields = append(fields, arrow.Field{
		Name: "vector", Nullable: true, Type: arrow.FixedSizeListOf(int32(dimension), arrow.PrimitiveTypes.Float32)})
	return arrow.NewSchema(append(fields, extra...), nil)
}

// RecordColumns are the names of all columns of a record but the vector.
func RecordColumns() []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// AllColumns are the names of all columns of a schema.
func AllColumns(schema *arrow.Schema) []string {
	var names []string
	for _, f := range schema.Fields() {
		names = append(names, f.Name)
	}
	return names
}

// encode makes one Arrow record of rows; the caller releases it.
func encode(schema *arrow.Schema, rows []Row) (arrow.Record, error) {
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer builder.Release()
	for i, f := range schema.Fields() {
		for j := range rows {
			if err := appendValue(builder.Field(i), f, &rows[j]); err != nil {
				return nil, fmt.Errorf("record %s, column %s: %w", rows[j].Record.ID, f.Name, err)
			}
		}
	}
	return builder.NewRecord(), nil
}

func appendValue(to array.Builder, f arrow.Field, row *Row) error {
	if f.Name == "vector" {
		return appendVector(to.(*array.FixedSizeListBuilder), f.Type.(*arrow.FixedSizeListType).Len(), row.Record.Vector)
	}
	value, extra := row.Extra[f.Name]
	if c, ok := columnNamed[f.Name]; ok && !extra {
		value = c.get(&row.Record)
	}
	switch to := to.(type) {
	case *array.StringBuilder:
		s, ok := value.(string)
		if !ok {
			return fmt.Errorf("value is %v, want text", value)
		}
		to.Append(characters(s))
	case *array.Int64Builder:
		n, ok := value.(int64)
		if !ok {
			return fmt.Errorf("value is %v, want a number", value)
		}
		to.Append(n)
	case *array.BooleanBuilder:
		b, ok := value.(bool)
		if !ok {
			return fmt.Errorf("value is %v, want true or false", value)
		}
		to.Append(b)
	}
	return nil
}

func appendVector(to *array.FixedSizeListBuilder, dimension int32, vector []float32) error {
	if vector == nil {
		to.AppendNull()
		return nil
	}
	if len(vector) != int(dimension) {
		return fmt.Errorf("%w: %d numbers, want %d", store.ErrDimension, len(vector), dimension)
	}
	to.Append(true)
	to.ValueBuilder().(*array.Float32Builder).AppendValues(vector, nil)
	return nil
}

// decode makes a row of what the binding has read from JSON. Columns that were not asked for stay
// empty.
func decode(schema *arrow.Schema, values map[string]any) (Row, error) {
	row := Row{}
	for name, value := range values {
		if err := decodeValue(schema, &row, name, value); err != nil {
			return Row{}, fmt.Errorf("column %s: %w", name, err)
		}
	}
	return row, nil
}

func decodeValue(schema *arrow.Schema, row *Row, name string, value any) error {
	switch name {
	case "vector":
		return decodeVector(row, value)
	case "_distance":
		distance, ok := value.(float64)
		if !ok {
			return fmt.Errorf("value is %v, want a number", value)
		}
		row.Distance = distance
		return nil
	}
	fields, ok := schema.FieldsByName(name)
	if !ok {
		return nil // of a newer release
	}
	typed, err := typedValue(fields[0].Type, value)
	if err != nil {
		return err
	}
	if c, ok := columnNamed[name]; ok {
		c.set(&row.Record, typed)
		return nil
	}
	if row.Extra == nil {
		row.Extra = map[string]any{}
	}
	row.Extra[name] = typed
	return nil
}

func typedValue(kind arrow.DataType, value any) (any, error) {
	switch v := value.(type) {
	case string:
		if kind.ID() == arrow.STRING {
			return bytesOf(v), nil
		}
	case float64:
		if kind.ID() == arrow.INT64 && v == float64(int64(v)) {
			return int64(v), nil
		}
	case bool:
		if kind.ID() == arrow.BOOL {
			return v, nil
		}
	}
	return nil, fmt.Errorf("value is %v, want %v", value, kind)
}

func decodeVector(row *Row, value any) error {
	if value == nil {
		return nil
	}
	numbers, ok := value.([]any)
	if !ok {
		return fmt.Errorf("value is %T, want a list", value)
	}
	row.Record.Vector = make([]float32, len(numbers))
	for i, number := range numbers {
		x, ok := number.(float64)
		if !ok {
			return fmt.Errorf("number %d is %v", i, number)
		}
		row.Record.Vector[i] = float32(x)
	}
	return nil
}

// joinHeadings keeps headings as JSON: any text can be part of one.
func joinHeadings(headings []string) string {
	if len(headings) == 0 {
		return ""
	}
	kept := make([]string, len(headings))
	for i, heading := range headings {
		kept[i] = characters(heading)
	}
	data, _ := json.Marshal(kept) // texts always can be
	return string(data)
}

func splitHeadings(joined string) (headings []string) {
	if joined == "" {
		return nil
	}
	_ = json.Unmarshal([]byte(joined), &headings) // what is not JSON is no headings
	for i := range headings {
		headings[i] = bytesOf(headings[i])
	}
	return headings
}

// noTime is the time of records that have none: far outside of what a file or a turn has.
const noTime = -1 << 52

func seconds(t time.Time) int64 {
	if t.IsZero() {
		return noTime
	}
	return t.Unix()
}

func fromSeconds(n int64) time.Time {
	if n == noTime {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}
