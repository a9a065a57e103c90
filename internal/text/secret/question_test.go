package secret

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What looks like a key is replaced where it is the whole question. Within a sentence, names stay.
func TestRedactQuestion(t *testing.T) {
	const mark = "[redacted: unknown]"
	for word, want := range map[string]struct{ within, alone string }{
		"OAuth2TokenV3Handler":                 {"", mark},
		"README_v1.2.3_Final.md":               {"", mark},
		"internal/app/S3UploaderV2.go":         {"", mark},
		"Test2FAWithV3Tokens":                  {"", mark},
		"parseX509CertV2":                      {"", mark},
		"HTTPServerV2_Config1":                 {"", mark},
		"größeDerListe2Neu3":                   {"", mark},
		"oauth2-proxy":                         {"", ""},
		"kubernetes-1.27.3":                    {"", ""},
		"54aab1c":                              {"", ""},
		"3f2504e0-4f89-11d3-9a0c-0305e82c3301": {"", ""},
		// No name tells a whole hash from a key.
		"a94a8fe5ccb19ba61c4c0873d391e987982fbbd3": {mark, mark},
		"Tr4nsf0rm-Kx82-Gate!":                     {mark, mark},
		"Wq93-hJz7-Lpt2":                           {mark, mark},
		"Zk81LqPw03NvXb57RtMc29HdYf64":             {mark, mark},
		"k3Fq8WmzTaeb1Rv6YhN2cJ9xPd5L":             {mark, mark},
		"rr-key-Zx3Cv7Bn1Ml5Kj9Hg4Fd8Sa2Po6Iu":     {mark, mark},
		"q7xkvmwzp3hjtrbd9":                        {"", mark}, // letters as of words
	} {
		t.Run(word, func(t *testing.T) {
			or := func(want string) string {
				if want == "" {
					return word
				}
				return want
			}
			require.Equal(t, "where is "+or(want.within)+" defined", RedactQuestion("where is "+word+" defined", ""))
			require.Equal(t, "where is `"+or(want.within)+"`", RedactQuestion("where is `"+word+"`", ""))
			for _, around := range []string{"", " ", "\"", "'", "`", "\n"} {
				require.Equal(t, around+or(want.alone)+around, RedactQuestion(around+word+around, ""))
			}
			require.Equal(t, word, RedactQuestion(word, "the text has "+word), "the server is told it anyway")
		})
	}
}
