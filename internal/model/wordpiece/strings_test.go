package wordpiece

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Ten thousand strings in many scripts give the tokens of the reference tokeniser.
// internal/reference/make_strings.py makes the file.
func TestStrings(t *testing.T) {
	tok := open(t)
	f, err := os.Open("../../../embed/minilm/testdata/strings.txt.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	lines := bufio.NewScanner(z)
	n, wrong := 0, 0
	for ; lines.Scan(); n++ {
		var count int
		var hash, text string
		_, err := fmt.Sscanf(lines.Text(), "%d %s", &count, &hash)
		require.NoError(t, err)
		head := fmt.Sprintf("%d %s ", count, hash)
		require.NoError(t, json.Unmarshal(lines.Bytes()[len(head):], &text))
		ids := tok.Append(nil, text, 1<<30)
		if len(ids) != count || hashOf(ids) != hash {
			if wrong++; wrong <= 20 {
				t.Errorf("string %d, %q: %d tokens %d, want %d others", n, text, len(ids), ids, count)
			}
		}
		if got := tok.Count(text); got != count {
			t.Errorf("Count of string %d, %q = %d, want %d", n, text, got, count)
		}
	}
	require.NoError(t, lines.Err())
	if n != 10000 || wrong > 0 {
		t.Errorf("%d of %d strings differ from the reference, want 0 of 10000", wrong, n)
	}
}

// hashOf is the file's hash of a string's tokens.
func hashOf(ids []int32) string {
	digest := sha256.New()
	for _, id := range ids {
		digest.Write(binary.LittleEndian.AppendUint16(nil, uint16(id)))
	}
	return fmt.Sprintf("%x", digest.Sum(nil))[:8]
}
