package reply

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestError(t *testing.T) {
	const key = "pa ss/word+of=the server"
	require.NoError(t, New(nil, key))
	cause := errors.New("refused")
	for name, said := range map[string]string{
		"plain":  key,
		"query":  url.QueryEscape(key),
		"path":   url.PathEscape(key),
		"base64": base64.StdEncoding.EncodeToString([]byte(key)),
		"url64":  base64.RawURLEncoding.EncodeToString([]byte(key)),
		"other":  "ghp_" + strings.Repeat("aB3dE6gH9j", 4)[:36],
		"escape": "\x1b]0;title\x07",
	} {
		t.Run(name, func(t *testing.T) {
			err := New(fmt.Errorf("%w: I do not\nknow %s", cause, said), key)
			require.ErrorIs(t, err, cause)
			require.Contains(t, err.Error(), "refused: I do not know")
			require.NotContains(t, err.Error(), said)
			require.NotContains(t, fmt.Sprintf("%v %s %q", err, err, err), said)
		})
	}
	for name, hidden := range map[string]string{
		"control": "\x7f", "zero width": "\u200b", "tag": "\U000E0041", "escape sequence": "\x1b[1m",
	} {
		for _, said := range []string{key, url.QueryEscape(key), base64.StdEncoding.EncodeToString([]byte(key))} {
			shown := New(errors.New("I do not know "+said[:9]+hidden+said[9:]), key).Error()
			require.Equal(t, "I do not know [key]", strings.TrimRight(shown, "="), name)
		}
	}
	require.Equal(t, "I do not know [key]", New(errors.New("I do not know "+strings.ReplaceAll(key, " ", "\r\n")), key).Error())
	require.Equal(t, "not [key] nor [key]", New(errors.New("not open-rye-0123-tail nor open-rye-0123"), "open-rye-0123", "open-rye-0123-tail").Error())
	lines := "{\n  \"client\": \"planted-4711\",\n  \"id\": 7\n}"
	require.Equal(t, "bad [key]", New(errors.New("bad "+strings.Join(strings.Fields(lines), " ")), lines).Error())
	require.NotContains(t, New(errors.New("bad \"client\": \"planted-4711\","), lines).Error(), "planted")
	token := "ghp_" + strings.Repeat("aB3dE6gH9j", 4)[:36]
	require.Equal(t, "no [redacted: github-pat]", New(errors.New("no "+token[:20]+"\x00"+token[20:]), key).Error())
	require.Less(t, len(New(errors.New(strings.Repeat("x", 9999)), "").Error()), 600)

	for at := range 2 * len(key) { // wherever a long text is cut
		shown := New(errors.New("I do not know "+strings.Repeat("\u200b", read/3-at)+key+strings.Repeat("x", read)), key).Error()
		require.NotContains(t, shown, key[:3], at)
	}
}
