//go:build linux && (amd64 || arm64)

package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/lab/internal/intercept"
)

// A Daemon is one whose writing calls are decided.
type Daemon struct {
	Process *intercept.Process
	Ended   chan struct{}
	Log     bytes.Buffer
	client  *http.Client
}

// StartDaemon starts a daemon. decide is as for Under.
func (m *Machine) StartDaemon(t testing.TB, decide func(n int, c intercept.Call) intercept.Action) *Daemon {
	t.Helper()
	d := &Daemon{Ended: make(chan struct{})}
	cmd := m.Command(context.Background(), Writer{Args: []string{"serve"}})
	// The daemon refuses settings that would apply to all workspaces.
	cmd.Env = slices.DeleteFunc(cmd.Env, func(variable string) bool {
		return strings.HasPrefix(variable, "MEMCORE_") && !strings.HasPrefix(variable, "MEMCORE_DAEMON_")
	})
	cmd.Stderr = &d.Log
	n := 0
	var err error
	d.Process, err = intercept.Start(cmd, intercept.Writes, func(c intercept.Call) intercept.Action {
		if !strings.HasPrefix(c.Path, m.Root+"/") {
			return intercept.Action{}
		}
		n++
		return decide(n, c)
	})
	require.NoError(t, err)
	go func() {
		defer close(d.Ended)
		d.Process.Wait()
	}()
	socket := filepath.Join(m.Index, "run", "memcore.sock")
	d.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	return d
}

// Ready waits until the daemon answers. It returns false if the daemon ended.
func (d *Daemon) Ready() bool {
	for {
		if status, _, err := d.Ask("GET", "/v1/health", nil); err == nil && status == http.StatusOK {
			return true
		}
		select {
		case <-d.Ended:
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Ask sends a request with a JSON body.
func (d *Daemon) Ask(method, path string, body any) (status int, answer string, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return 0, "", err
	}
	request, err := http.NewRequest(method, "http://memcore"+path, bytes.NewReader(data))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := d.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}
