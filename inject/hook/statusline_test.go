package hook

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseStatus(t *testing.T) {
	for _, tt := range []struct {
		name, sent string
		want       Status
	}{
		{"a session", `{"session_id":"s","transcript_path":"/t","cwd":"/p","workspace":{"current_dir":"/p/sub","project_dir":"/p"},"model":{"id":"m"},
			"context_window":{"total_input_tokens":90000,"total_output_tokens":4000,"context_window_size":200000,"current_usage":{"input_tokens":500,"output_tokens":1000,"cache_creation_input_tokens":2000,"cache_read_input_tokens":5000}}}`,
			Status{"s", "/p/sub", 8500}},
		{"before the first answer", `{"session_id":"s","cwd":"/p","context_window":{"total_input_tokens":15,"total_output_tokens":5,"current_usage":null}}`, Status{"s", "/p", 20}},
		{"an older release", `{"session_id":"s","cwd":"/p"}`, Status{"s", "/p", 0}},
		{"nonsense", `{"context_window":{"total_input_tokens":-1e300}}`, Status{}},
	} {
		got, err := ParseStatus([]byte(tt.sent))
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.want, got, tt.name)
	}
	_, err := ParseStatus([]byte("not JSON"))
	require.ErrorIs(t, err, ErrEvent)
}

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte(`{"context_window":{"current_usage":{"input_tokens":1e308,"output_tokens":1e308}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := ParseStatus(data); err == nil && s.Tokens < 0 {
			t.Errorf("%d tokens", s.Tokens)
		}
	})
}
