// Package excerpt cuts long texts.
package excerpt

import "strings"

// Of returns a text, or about its first most bytes and "…" if it is longer. A character that the
// cut would split is left out.
func Of(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
