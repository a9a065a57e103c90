package baseurl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/web/baseurl"
)

func TestParse(t *testing.T) {
	for _, text := range []string{"https://api.openai.com/v1", "http://127.0.0.1:11434", "http://[::1]:8080/v1/", "https://user:hunter2@host/v1"} {
		base, err := baseurl.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, text, base.String())
	}
	for _, tt := range []struct{ text, want string }{
		{"", "is not of the form"},
		{"host/v1", "is not of the form"},
		{"host:8080", "is not of the form"},
		{"ftp://host/hunter2", "is not of the form"},
		{"https:///v1", "is not of the form"},
		{"https://:443/v1", "is not of the form"},
		{"https://user:hunter2@ho st", "is not of the form"},
		{"https://host/v1?key=hunter2", `has a "?" or "#"`},
		{"https://host/v1?", `has a "?" or "#"`},
		{"https://host/v1#hunter2", `has a "?" or "#"`},
	} {
		_, err := baseurl.Parse(tt.text)
		require.ErrorContains(t, err, tt.want, tt.text)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
