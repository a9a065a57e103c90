package service

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A probed node has a database that answers or not.
type probed struct {
	Node
	err error
}

func (p *probed) Ready(context.Context) error { return p.err }

// Probes come each few seconds: the log has when the database went away and came back.
func TestReadyIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	node := &probed{}
	s := New(Options{Tenants: struct{ Tenants }{}, Node: node, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	probe := func() int {
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/ready", nil))
		return answer.Code
	}
	for _, err := range []error{nil, nil, errors.New("gone"), errors.New("gone"), nil, nil} {
		node.err = err
		want := http.StatusOK
		if err != nil {
			want = http.StatusServiceUnavailable
		}
		require.Equal(t, want, probe())
	}
	require.Equal(t, 1, strings.Count(log.String(), "not ready"), log.String())
	require.Equal(t, 1, strings.Count(log.String(), "ready again"), log.String())
}
