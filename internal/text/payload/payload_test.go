package payload_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/text/payload"
)

// random returns n bytes, the same at each call.
func random(n int) []byte {
	source := rand.New(rand.NewPCG(1, 2))
	all := make([]byte, n)
	for i := range all {
		all[i] = byte(source.Uint32())
	}
	return all
}

func base64Of(n int) string { return base64.StdEncoding.EncodeToString(random(n)) }

// wrapped breaks a text into lines of a width.
func wrapped(text string, width int, between string) string {
	var lines []string
	for len(text) > width {
		lines = append(lines, text[:width])
		text = text[width:]
	}
	return strings.Join(append(lines, text), between)
}

func rows(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i*7919%1000, i)
	}
	return b.String()
}

// shape is an element of a drawing, as programs write it.
func shape(i int) string {
	return fmt.Sprintf("  {\n    \"id\": \"s%d\",\n    \"type\": \"rectangle\",\n    \"x\": %d.5,\n    \"y\": %d,\n    \"width\": 120,\n    \"height\": 44,\n    \"seed\": %d,\n    \"angle\": 0,\n    \"link\": null,\n    \"color\": \"#1e1e1e\"\n  },\n", i, i*13, i*7, i*104729)
}

func TestPayloadsGo(t *testing.T) {
	long := base64Of(900)
	script := strings.Repeat(`function a(b,c){var d=b[c];if(!d){return null}for(var e=0;e<d.length;e++){d[e].f(c)}return d}`, 20)
	for _, tt := range []struct{ name, text, want string }{
		{"image", "![logo](data:image/png;base64," + long + ") is blue", "![logo](data:image/png;base64,…) is blue"},
		{"commands of a template", "Note <% tp.file.cursor() %> of <%- await tp.date.now() %>\n\n<%*\nconst a = 1\ntR += a\n%>\nend", "Note … of …\n\n…\nend"},
		{"other code in such marks", "<%= link_to post %> and <% if post %>", "<%= link_to post %> and <% if post %>"},
		{"image by reference", "[image1]: <data:image/png;base64," + long + ">\n", "[image1]: <data:image/png;base64,…>\n"},
		{"drawing in a style", `a{background:url("data:image/svg+xml;utf8,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'><path d='M0 0h8'/></svg>")}`, `a{background:url("data:image/svg+xml;utf8,…")}`},
		{"font", "src: url(data:font/woff2;charset=utf-8;base64," + long + ")", "src: url(data:font/woff2;charset=utf-8;base64,…)"},
		{"run in a sentence", "Das Bild ist " + long + " und blau.", "Das Bild ist … und blau."},
		{"run beside Chinese", "图像：" + long + "。结束", "图像：…。结束"},
		{"run for URLs", base64.RawURLEncoding.EncodeToString(random(300)), "…"},
		{"run with escaped line breaks", `{"cert":"` + wrapped(long, 64, `\n`) + `"}`, `{"cert":"…"}`},
		{"hex", "dump " + hex.EncodeToString(random(100)), "dump …"},
		{"very long part of a URL", "https://draw.example.com/edit#" + base64.RawURLEncoding.EncodeToString(random(1500)), "https://draw.example.com/edit#…"},
		{"MIME", "Attached:\n\n" + wrapped(long, 76, "\n") + "\n\nThat is all.", "Attached:\n\n…\n\nThat is all."},
		{"lines with blank ones between", "```compressed-json\n" + wrapped(long, 256, "\n\n") + "\n```\n", "```compressed-json\n…\n```\n"},
		{"quoted lines", "> " + wrapped(long, 64, "\n> "), "> …"},
		{"certificate", "-----BEGIN CERTIFICATE-----\n" + wrapped(base64Of(90), 64, "\n") + "\n-----END CERTIFICATE-----\n", "-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n"},
		{"message", "-----BEGIN PGP MESSAGE-----\nVersion: 2\n\n" + wrapped(base64Of(200), 64, "\n") + "\n=aB3d\n-----END PGP MESSAGE-----", "-----BEGIN PGP MESSAGE-----\nVersion: 2\n\n…\n-----END PGP MESSAGE-----"},
		{"minified code", "```js\n" + script + "\n```", "```js\n…\n```"},
		{"minified script of a page", "<script>" + script + "</script>\n", "…\n"},
		{"table of numbers", "| load | time |\n|---:|---:|\n" + rows(100, "| %d | %d.5 |"), "| load | time |\n|---:|---:|\n| 0 | 0.5 |\n| 919 | 1.5 |\n| 838 | 2.5 |\n…\n"},
		{"numbers with commas", "x,y\n" + rows(40, "%d,-%d.25e3"), "x,y\n0,-0.25e3\n919,-1.25e3\n838,-2.25e3\n…\n"},
		{"hex dump", rows(40, "%08x: 7f45 4c46 0201 0100 0000 0000 0000 %04x  .ELF............"), "00000000: 7f45 4c46 0201 0100 0000 0000 0000 0000  .ELF............\n00000397: 7f45 4c46 0201 0100 0000 0000 0000 0001  .ELF............\n00000346: 7f45 4c46 0201 0100 0000 0000 0000 0002  .ELF............\n…\n"},
		{"vector", "embedding = [" + strings.ReplaceAll(rows(60, "0.%d, -0.0%d, "), "\n", "") + "1]", "embedding = …]"},
		{"path of a drawing", `<path class="edge" d="M` + strings.ReplaceAll(rows(30, "%d.5,%d.25 L"), "\n", "") + `0,0Z"/>`, `<path class="edge" d="…Z"/>`},
		{"drawing as JSON in a line", strings.Join(strings.Fields("[\n"+strings.TrimRight(strings.Repeat(shape(1)+shape(2)+shape(3), 5), ",\n")+"]"), ""), "…"},
		{"long data in a line", `{"a":"` + strings.Repeat("b;c=d;", 3000) + `"}`, "…"},
		{"drawing as JSON", "```json\n[\n" + shape(1) + shape(2) + shape(3) + shape(4) + shape(5) + shape(6) + "]\n```", "```json\n…\n```"},
		{"Windows line breaks", wrapped(long, 76, "\r\n") + "\r\nEnd", "…\r\nEnd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, payload.Without(tt.text))
		})
	}
}

func TestTextStays(t *testing.T) {
	id := base64.RawURLEncoding.EncodeToString(random(33))
	for name, text := range map[string]string{
		"hashes of commits":          rows(40, "%040x") + "e83c5163316f89bfbde7d9ab23ca2e25604af290\n",
		"checksums":                  "sha512-" + base64Of(64) + "\n" + hex.EncodeToString(random(64)) + "  memcore.tar.gz\n",
		"checksums by line":          strings.Repeat(base64Of(32)+"\n", 30),
		"identifiers by line":        strings.Repeat(id+"\n", 30),
		"signed URL":                 "https://files.example.com/reports/2026/September.pdf?X-Signature=" + hex.EncodeToString(random(64)) + "&X-Token=" + base64.RawURLEncoding.EncodeToString(random(500)),
		"long identifier":            strings.Repeat("TransactionAwarePersistenceManagerFactoryProxyBean", 6) + " " + strings.Repeat("com_example_internal_customer_", 9),
		"long path":                  "/srv/" + strings.Repeat("App2/Sources/ViewController3/", 20),
		"header of many columns":     strings.Repeat("customer_id,first_name,last_name,street,", 60),
		"Thai without spaces":        strings.Repeat("การประชุมครั้งต่อไปจะจัดขึ้นในวันจันทร์หน้า", 60),
		"Chinese":                    strings.Repeat("连接池已经用完了因为每个工作进程都保持着自己的连接", 90),
		"Japanese":                   strings.Repeat("会議は来週の月曜日に行われます。", 90),
		"Korean":                     strings.Repeat("회의는 다음 주 월요일에 열립니다. ", 90),
		"a long German word":         strings.Repeat("Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft", 20),
		"a long line of Finnish":     strings.Repeat("Epäjärjestelmällistyttämättömyydellänsäkäänköhän hän ei yllättänyt. ", 30),
		"code":                       strings.Repeat("func (m *Manager) Read(ctx context.Context, name string) (Passage, error) {\n\treturn m.read(ctx, name)\n}\n", 30),
		"JSON of settings in a line": `{"server":{"port":8443,"tls":{"cert":"/etc/x.pem"}},"limits":{"` + strings.Join(strings.Fields(rows(60, "connections-%d\":%d,\"")), "") + `last":true}}`,
		"JSON of records in a line":  "[" + strings.Repeat(`{"name":"DB_HOST","value":"db.example.com"},`, 40) + `{"name":"DB_PORT","value":"5432"}]`,
		"JSON of a setting":          `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"memcore hook"}]}]}}`,
		"JSON of switches":           "```json\n{\n" + strings.Repeat("  \"darkMode\": true,\n  \"betaSearch\": false,\n", 40) + "}\n```",
		"JSON of records":            "```json\n[\n" + strings.Repeat("  {\n    \"id\": 7,\n    \"name\": \"Ann Lee\",\n    \"city\": \"Oslo\",\n    \"role\": \"nurse\"\n  },\n", 20) + "]\n```",
		"a page in one line":         "<table>" + strings.Repeat(`<tr class="odd"><td style="width:50%">Quartalsbericht</td><td>liegt-vor</td></tr>`, 30) + "</table>",
		"row of badges":              strings.Repeat("[![build](https://ci.example.com/badge.svg)](https://ci.example.com/main) ", 40),
		"small table of numbers":     "| year | sold |\n|---|---|\n" + rows(18, "| %d | %d |"),
		"table with names":           rows(60, "| region %d | %d |"),
		"times of a timetable":       rows(18, "%02d:30 %02d:45 17:15"),
		"example of a key":           "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg…\n...\n-----END PRIVATE KEY-----",
		"rules of dashes":            strings.Repeat(strings.Repeat("-", 80)+"\n", 5),
		"short data URI":             "data:text/plain,hello and data:image/gif;base64,R0lGODlhAQABAAAAACw=",
		"talk of data URIs":          "A data URI begins with `data:image/png;base64,` and then comes the image. " + strings.Repeat("It is long. ", 20),
		"text in a data URI":         "data:text/html,<p>" + strings.Repeat("words of a page, ", 20),
		"one word":                   strings.Repeat("x", 5000),
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, text, payload.Without(text))
		})
	}
}

func FuzzFind(f *testing.F) {
	f.Add("a\n-----BEGIN X-----\nQUJD\n-----END X-----\n" + base64Of(200) + "\n| 1 | 2 |\n")
	f.Add("```json\n" + shape(1) + "```\ndata:image/png;base64," + base64Of(99))
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		for _, s := range payload.Find(text) {
			if s.Start < at || s.End <= s.Start || s.End > len(text) {
				t.Fatalf("%+v of %d bytes, after %d", s, len(text), at)
			}
			if first, last := text[s.Start], text[s.End-1]; first == '\n' || last == '\n' {
				t.Errorf("%+v begins or ends at a line break", s)
			}
			at = s.End + 1
		}
	})
}
