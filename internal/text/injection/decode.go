package injection

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

const (
	minCode    = 24      // bytes of base64
	maxDecoded = 1 << 14 // bytes of one text
)

// encodedWindows returns the windows of text that is encoded as base64. Start and End are those of
// the code.
func encodedWindows(text string) []Window {
	var found []Window
	left := maxDecoded
	start := -1
	for i := 0; i <= len(text) && left > 0; i++ {
		if i < len(text) && isBase64(text[i]) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 && i-start >= minCode {
			decoded := decodeBase64(text[start:min(i, start+left*4/3)])
			left -= len(decoded)
			for _, w := range windows(decoded) {
				found = append(found, Window{start, i, w.Text})
			}
		}
		start = -1
	}
	return found
}

func isBase64(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || strings.IndexByte("+/-_=", c) >= 0
}

var standardBase64 = strings.NewReplacer("-", "+", "_", "/")

// decodeBase64 returns the text in a run of base64, or "".
func decodeBase64(run string) string {
	run = standardBase64.Replace(strings.TrimRight(run, "="))
	if len(run)%4 == 1 {
		run = run[:len(run)-1]
	}
	raw, err := base64.RawStdEncoding.DecodeString(run)
	if err != nil {
		return ""
	}
	text := string(raw)
	for len(text) > 0 && !utf8.ValidString(text) {
		if len(raw)-len(text) > 3 {
			return ""
		}
		text = text[:len(text)-1] // the run may end within a character
	}
	if strings.Count(text, " ") < 2 || strings.ContainsFunc(text, isControl) {
		return ""
	}
	return text
}

func isControl(r rune) bool { return (r < ' ' && r != '\n' && r != '\t' && r != '\r') || r == 0x7F }
