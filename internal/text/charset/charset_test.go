package charset_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memcore/memcore/internal/text/charset"
)

func TestDecode(t *testing.T) {
	for _, tt := range []struct{ name, text, want, encoding string }{
		{"empty", "", "", ""},
		{"ASCII", "a\nb", "a\nb", ""},
		{"UTF-8", "Größe 尺寸", "Größe 尺寸", ""},
		{"UTF-8 with its mark", "\xef\xbb\xbfGröße", "Größe", ""},
		{"UTF-16, little end first", "\xff\xfeG\x00r\x00\xf6\x00\n\x00:\xd8(\xdd", "Grö\n\U0001e928", charset.UTF16},
		{"UTF-16, big end first", "\xfe\xff\x00G\x00r\x00\xf6\x5c\x3a", "Grö\u5c3a", charset.UTF16},
		{"UTF-16 with half a character", "\xff\xfea\x00b", "a\ufffd", charset.UTF16},
		{"Latin-1", "Gr\xf6\xdfe h\xe4ngt\r\nab", "Größe hängt\r\nab", charset.Windows1252},
		{"Windows-1252", "\x93caf\xe9\x94 \x80 5", "“café” € 5", charset.Windows1252},
		{"a byte that Windows-1252 lacks", "caf\xe9 \x81", "café \ufffd", charset.Windows1252},
		{"one wrong byte in UTF-8", "Größe h\xe4ngt über", "Größe h\xe4ngt über", ""},
		{"cut in a character", "Größe\xc3", "Größe\xc3", ""},
		{"UTF-8 in Latin-1", "h\xe4ngt h\xe4ufig \xfcber \xc3\xb6", "hängt häufig über Ã¶", charset.Windows1252},
		{"Chinese, cut twice", "\xb8" + strings.Repeat("漢字", 3) + "\xe6", "\xb8" + strings.Repeat("漢字", 3) + "\xe6", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, encoding := charset.Decode([]byte(tt.text))
			assert.Equal(t, tt.want, string(got))
			assert.Equal(t, tt.encoding, encoding)
		})
	}
}
