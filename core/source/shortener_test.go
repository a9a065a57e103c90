package source

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shortened adds a line in pieces of n bytes.
func shortened(line string, n int) *shortener {
	s := &shortener{}
	for len(line) > 0 {
		n := min(n, len(line))
		s.add([]byte(line[:n]))
		line = line[n:]
	}
	return s
}

// Long strings lose their middle between two characters; the line stays JSON, and the rest of it
// as it was.
func TestShortener(t *testing.T) {
	big := maxString + 1
	for _, tt := range []struct {
		name, text string
		lost       bool
	}{
		{"short", "the door sticks", false},
		{"data", strings.Repeat("iVBORw0KGgo", big), false},
		{"text", strings.Repeat("The door sticks. ", big), true},
		{"wide characters", strings.Repeat("ドアが引っかかる ", big/8), true},
		{"quotes and lines", strings.Repeat("say \"door\"\\\n\t", big), true},
		{"control characters", strings.Repeat("\x01\x02 ", big/3), true},
		{"little more than fits", strings.Repeat("x", big), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			line, err := json.Marshal([]any{"before", tt.text, map[string]any{"key": "after", "n": 7}})
			require.NoError(t, err)
			for _, n := range []int{1 << 12, 1<<18 - 1, 1 << 30} {
				s := shortened(string(line), n)
				require.Equal(t, []bool{tt.lost, false}, []bool{s.lost, s.full})
				require.Less(t, len(s.text), 2*maxString)
				var got []any
				require.NoError(t, json.Unmarshal(s.text, &got), "%.80s", s.text)
				require.Equal(t, []any{"before", map[string]any{"key": "after", "n": 7.}}, []any{got[0], got[2]})
				begin, end, cut := strings.Cut(got[1].(string), "\n[…]\n")
				require.Equal(t, len(line) > maxString, cut)
				require.True(t, strings.HasPrefix(tt.text, begin) && strings.HasSuffix(tt.text, end))
				require.NotContains(t, begin+end, "\ufffd")
			}
		})
	}
	endless := &shortener{}
	for range 100 {
		endless.add(bytes.Repeat([]byte(`"x",`), 1<<16))
	}
	require.True(t, endless.full)
	require.Less(t, len(endless.text), maxLogLine+4*maxString)
}

func FuzzShortener(f *testing.F) {
	f.Add(`{"a":"b\"c`, "d\\", uint16(3))
	f.Add(`{"a":"`, `\ud83d\ude00`, uint16(1))
	f.Fuzz(func(t *testing.T, head, part string, pieces uint16) {
		line := head + strings.Repeat(part, 3*maxString/max(1, len(part))) + `"}`
		s := shortened(line, max(1, int(pieces)<<4))
		if len(s.text) > maxLogLine+4*maxString {
			t.Errorf("%d bytes", len(s.text))
		}
		if json.Valid([]byte(line)) && !json.Valid(s.text) {
			t.Errorf("no longer JSON: %.200s", s.text)
		}
	})
}
