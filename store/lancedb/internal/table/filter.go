package table

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/store"
)

// Text quotes a value for a filter. Only single quotes have a meaning.
func Text(value string) string {
	return "'" + strings.ReplaceAll(characters(value), "'", "''") + "'"
}

// In passes rows whose column has one of the values.
func In(column string, values []string) string {
	if len(values) == 0 {
		return "false"
	}
	quoted := make([]string, len(values))
	for i, value := range values {
		quoted[i] = Text(value)
	}
	return column + " IN (" + strings.Join(quoted, ", ") + ")"
}

// And joins filters that are not empty.
func And(filters ...string) string {
	filters = slices.DeleteFunc(slices.Clone(filters), func(f string) bool { return f == "" })
	if len(filters) < 2 {
		return strings.Join(filters, "")
	}
	return "(" + strings.Join(filters, ") AND (") + ")"
}

// Where returns a search's filter; "" passes all.
func Where(f store.Filter) string {
	var parts []string
	if f.Scope != "" {
		parts = append(parts, "scope = "+Text(f.Scope))
	}
	if f.Kind != "" {
		parts = append(parts, "kind = "+Text(f.Kind))
	}
	if f.NotKind != "" {
		parts = append(parts, "kind <> "+Text(f.NotKind))
	}
	if f.Path != "" {
		// Texts compare by bytes; "0" follows "/". A range needs no escapes.
		folder := strings.TrimSuffix(f.Path, "/")
		parts = append(parts, "path = "+Text(f.Path)+" OR (path >= "+Text(folder+"/")+" AND path < "+Text(folder+"0")+")")
	}
	if len(f.Not) > 0 {
		parts = append(parts, "NOT "+In("path", f.Not))
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && secondsFrom(f.Since) >= secondsFrom(f.Until) {
		return "false" // DataFusion fails on an empty range
	}
	if f.Timed() {
		parts = append(parts, "time > 0") // 0 is unknown
	}
	if !f.Since.IsZero() {
		parts = append(parts, fmt.Sprintf("time >= %d", secondsFrom(f.Since)))
	}
	if !f.Until.IsZero() {
		parts = append(parts, fmt.Sprintf("time < %d", secondsFrom(f.Until)))
	}
	return And(parts...)
}

// secondsFrom returns the first whole second not before t.
func secondsFrom(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}
