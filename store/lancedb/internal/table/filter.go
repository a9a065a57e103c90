package table

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/store"
)

// Text quotes a value for a filter: in single quotes, each of which inside is doubled; nothing else
// has a meaning there.
func Text(value string) string {
	return "'" + strings.ReplaceAll(characters(value), "'", "''") + "'"
}

// In is the filter that a column has one of the values; it passes no row if there are none.
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

// And joins filters; empty ones are left out.
func And(filters ...string) string {
	filters = slices.DeleteFunc(slices.Clone(filters), func(f string) bool { return f == "" })
	if len(filters) < 2 {
		return strings.Join(filters, "")
	}
	return "(" + strings.Join(filters, ") AND (") + ")"
}

// Where is the filter of a search; "" if every row passes.
func Where(f store.Filter) string {
	var parts []string
	if f.Scope != "" {
		parts = append(parts, "scope = "+Text(f.Scope))
	}
	if f.Kind != "" {
		parts = append(parts, "kind = "+Text(f.Kind))
	}
	if f.Path != "" {
		// Texts are compared by their bytes, and after "/" comes "0": no pattern, so no character of
		// a path that would have to be escaped.
		folder := strings.TrimSuffix(f.Path, "/")
		parts = append(parts, "path = "+Text(f.Path)+" OR (path >= "+Text(folder+"/")+" AND path < "+Text(folder+"0")+")")
	}
	if len(f.Not) > 0 {
		parts = append(parts, "NOT "+In("path", f.Not))
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && secondsFrom(f.Since) >= secondsFrom(f.Until) {
		return "false" // DataFusion fails on a range that is empty
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

// secondsFrom is the first whole second that is not before t.
func secondsFrom(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}
