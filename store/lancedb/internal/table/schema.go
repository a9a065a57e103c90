//go:build lancedb

package table

import (
	"fmt"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/memcore/memcore/store"
)

// A Row is a record in the table. Extra has further columns: string or int64.
type Row struct {
	Record   store.Record // Vector is nil if missing or not selected
	Distance float64      // squared Euclidean distance to the query of a vector search
	Extra    map[string]any
}

var (
	text   = arrow.BinaryTypes.String
	number = arrow.PrimitiveTypes.Int64
)

// recordColumn holds records without vectors. Lance reads each column of a hit apart; one takes
// half the time.
const recordColumn = "record"

// columns are for filters and other tools. memcore does not read them.
var columns = []struct {
	arrow.Field
	of func(*store.Record) any
}{
	{field("id", text), func(r *store.Record) any { return r.ID }},
	{field("text", text), func(r *store.Record) any { return r.Text }},
	{field("scope", text), func(r *store.Record) any { return r.Scope }},
	{field("kind", text), func(r *store.Record) any { return r.Kind }},
	{field("path", text), func(r *store.Record) any { return r.Path }},
	{field("start_line", number), func(r *store.Record) any { return int64(r.StartLine) }},
	{field("end_line", number), func(r *store.Record) any { return int64(r.EndLine) }},
	{field("headings", text), func(r *store.Record) any { return strings.Join(r.Headings, " > ") }},
	{field("session", text), func(r *store.Record) any { return r.Session }},
	{field("speaker", text), func(r *store.Record) any { return r.Speaker }},
	{field("time", number), func(r *store.Record) any { return max(r.Time.Unix(), 0) }}, // seconds since 1970, 0 if unknown
	{field("hash", text), func(r *store.Record) any { return r.Hash }},
	{field("tokens", number), func(r *store.Record) any { return int64(r.Tokens) }},
	{field(recordColumn, text), func(r *store.Record) any { return marshal(r) }},
}

func field(name string, kind arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: kind} }

// NumberColumn is an extra column of a table.
func NumberColumn(name string) arrow.Field { return field(name, number) }

// Schema returns a table's schema. dimension is at least 1.
func Schema(dimension int, extra ...arrow.Field) *arrow.Schema {
	var fields []arrow.Field
	for _, c := range columns {
		fields = append(fields, c.Field)
	}
	fields = append(fields, arrow.Field{
		Name: "vector", Nullable: true, Type: arrow.FixedSizeListOf(int32(dimension), arrow.PrimitiveTypes.Float32)})
	return arrow.NewSchema(append(fields, extra...), nil)
}

// RecordColumns are what a record without its vector needs.
func RecordColumns() []string { return []string{recordColumn} }

// encode returns an Arrow record for the caller to release.
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
	if !extra {
		value = valueOf(&row.Record, f.Name)
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
	}
	return nil
}

func valueOf(r *store.Record, name string) any {
	for _, c := range columns {
		if c.Name == name {
			return c.of(r)
		}
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

// decode returns a row from the binding's JSON. Unselected columns stay empty.
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
	case recordColumn:
		return unmarshal(value, &row.Record)
	case "id":
		row.Record.ID, _ = value.(string)
		return nil
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
