package charset_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"

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
		{"UTF-8 with NUL bytes", "a port\x00 of\x00\x00 the ferry", "a port\x00 of\x00\x00 the ferry", ""},
		{"Latin-1", "Gr\xf6\xdfe h\xe4ngt\r\nab", "Größe hängt\r\nab", charset.Windows1252},
		{"Windows-1252", "\x93caf\xe9\x94 \x80 5", "“café” € 5", charset.Windows1252},
		{"a byte that Windows-1252 lacks", "caf\xe9 \x81 na\xefve d\xe9j\xe0", "café \ufffd naïve déjà", charset.Windows1252},
		{"signs of Windows-1252", "5\xa0\xb0C \x96 \xbfqu\xe9? col\xb7lecci\xf3, \xabl'\xe9t\xe9\xbb 3\xbd", "5\u00a0°C – ¿qué? col·lecció, «l'été» 3½", charset.Windows1252},
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

// What is no Windows-1252 is not read as that.
func TestDecodeUnknown(t *testing.T) {
	for _, tt := range []struct {
		name string
		of   encoding.Encoding
		text string
		want string
	}{
		{"Windows-1251", charmap.Windows1251, "Порт сервера 7443, перезапуск.", "\ufffd \ufffd 7443, \ufffd."},
		{"KOI8-R", charmap.KOI8R, "Сервер в подвале", ""},
		{"Windows-1250", charmap.Windows1250, "Wyłącz drukarkę przed północą, żeby błąd zniknął", ""},
		{"Windows-1253", charmap.Windows1253, "Ο διακομιστής είναι στο υπόγειο", ""},
		{"Windows-1256", charmap.Windows1256, "الخادم يعمل كل يوم", ""},
		{"Windows-874", charmap.Windows874, "เซิร์ฟเวอร์", ""},
		{"Shift JIS", japanese.ShiftJIS, "本番サーバーのポートは8443です。毎週金曜日に再起動します。", ""},
		{"EUC-JP", japanese.EUCJP, "毎週金曜日に再起動します。", ""},
		{"GB 18030", simplifiedchinese.GB18030, "生产服务器的端口是9443，每周五重新启动。", ""},
		{"Big5", traditionalchinese.Big5, "伺服器的連接埠是6443，每週五重新啟動。", ""},
		{"EUC-KR", korean.EUCKR, "운영 서버의 포트는 5443입니다.", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text, err := tt.of.NewEncoder().String(tt.text)
			require.NoError(t, err)
			got, encoding := charset.Decode([]byte("# x\n\n" + text))
			assert.Equal(t, charset.Unknown, encoding)
			if tt.want != "" {
				assert.Equal(t, "# x\n\n"+tt.want, string(got))
			}
		})
	}
}

// UTF-16 without a mark is known in any script, and also if it is cut in a character; text in UTF-8
// with NUL bytes, and binary files, are not.
func TestUTF16WithoutMark(t *testing.T) {
	for name, text := range map[string]string{
		"English":   "# Ferry\n\nThe ferry leaves at nine.\n",
		"German":    "Größe der Fähre: 40 m\r\n",
		"Russian":   "# Паром\n\nПаром уходит в девять часов.\n",
		"Greek":     "Το πλοίο φεύγει στις εννέα.",
		"Hebrew":    "המעבורת יוצאת בתשע.\n",
		"Arabic":    "تغادر العبارة في التاسعة.\n",
		"Hindi":     "नौका नौ बजे निकलती है।\nऔर दस बजे लौटती है।",
		"Thai":      "เรือข้ามฟากออกเวลา เก้าโมง\n",
		"Japanese":  "# フェリー\n\nフェリーは九時に出発します。\n",
		"Chinese":   "# 渡轮\n\n渡轮每天早上九点出发，晚上六点回来。\n",
		"Korean":    "# 페리\n\n페리는 매일 아침 아홉 시에 출발합니다.\n",
		"an emoji":  "The ferry 🚢 is late.\n",
		"a table":   "| a | b |\n|---|---|\n| 1 | 2 |\n",
		"two words": "渡轮 ferry: 每天早上九点出发 (9 o'clock), 晚上六点回来 🚢.\n",
	} {
		for order, e := range map[string]encoding.Encoding{
			"little": unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "big": unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
		} {
			t.Run(name+", "+order+" end first", func(t *testing.T) {
				wide, err := e.NewEncoder().String(text)
				require.NoError(t, err)
				got, encoding := charset.Decode([]byte(wide))
				assert.Equal(t, charset.UTF16, encoding)
				assert.Equal(t, text, string(got))
				got, encoding = charset.Decode([]byte(wide[:len(wide)-1]))
				assert.Equal(t, charset.UTF16, encoding)
				assert.True(t, strings.HasPrefix(string(got), text[:len(text)*2/3]))
			})
		}
		for at := range text {
			spoilt := text[:at] + strings.Repeat("\x00", 1+at%7) + text[at:]
			assert.False(t, charset.IsUTF16([]byte(spoilt)), "%q", spoilt)
		}
	}
}

func TestCutNULs(t *testing.T) {
	for _, tt := range []struct {
		name, text, want string
		line             int
	}{
		{"none", "a\n", "a\n", 0},
		{"at the end", "a\nb\x00\x00", "a\nb", 2},
		{"at the beginning", "\x00\x00a", "a", 1},
		{"in a line", "the port\x00\x00the door", "the port […] the door", 1},
		{"for lines", "a\n\x00\x00\nb", "a\n\nb", 2},
		{"several blocks", "the port\x00\x00is closed\n\x00and\x00\r\nso is the door", "the port […] is closed\nand\r\nso is the door", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, line, err := charset.CutNULs([]byte(tt.text))
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got))
			assert.Equal(t, tt.line, line)
		})
	}
	for name, text := range map[string]string{
		"nothing else":       strings.Repeat("\x00", 64) + "\n",
		"all over":           "a\x00b\x00c\x00d",
		"control characters": "the port\x00\x01\x02\x03\x04",
		"an image":           "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde",
	} {
		decoded, _ := charset.Decode([]byte(text))
		_, _, err := charset.CutNULs(decoded)
		require.ErrorIs(t, err, charset.ErrBinary, name)
	}
}
