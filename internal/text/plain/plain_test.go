package plain

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShownAddress(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:11434":       "http://127.0.0.1:11434",
		"http://ada:p@ss@host:1/v1":    "http://host:1/v1",
		"ada:pass@host":                "host",
		"s3://bucket/team":             "s3://bucket/team",
		"https://ada:pass@[::1/broken": "https://[::1/broken",
	} {
		require.Equal(t, want, Address(address))
	}
}

func TestLine(t *testing.T) {
	require.Equal(t, `trusted: /home/a\ntrusted: /home/b, 3 of x\ty: no\nway`,
		Line("trusted: %s, %d of %s: %v", "/home/a\ntrusted: /home/b", 3, "x\ty", errors.New("no\u2028way")))
}

func TestMember(t *testing.T) {
	for want, teams := range map[string][]string{"ann": nil, "ann (@ops)": {"ops"}, "ann (@ops, @web)": {"ops", "web"}} {
		if got := Member("ann", teams); got != want {
			t.Errorf("Member(ann, %q) = %q, want %q", teams, got, want)
		}
	}
}
