package harness

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A Server runs until the test ends.
type Server struct {
	Address string // host:port, as printed
	PID     int

	mu  sync.Mutex
	log bytes.Buffer
}

// Serve starts a server that prints http://ADDRESS. An interrupt after the test must end it with
// exit code 0, without panic.
func (h *Home) Serve(t testing.TB, args ...string) *Server {
	t.Helper()
	command := h.Command(context.Background(), args...)
	reader, writer := io.Pipe()
	command.Stdout, command.Stderr = writer, writer
	require.NoError(t, command.Start())
	s := &Server{PID: command.Process.Pid}
	said := make(chan string, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewReader(reader)
		for {
			line, err := lines.ReadString('\n')
			s.mu.Lock()
			s.log.WriteString(line)
			s.mu.Unlock()
			if _, address, ok := strings.Cut(line, "http://"); ok {
				address, _, _ = strings.Cut(address, "/")
				address, _, _ = strings.Cut(strings.TrimSpace(address), ",")
				select {
				case said <- address:
				default:
				}
			}
			if err != nil {
				return
			}
		}
	}()
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("memcore %q ended with %v:\n%s", args, err, s.Log())
			}
		case <-time.After(2 * time.Minute):
			t.Errorf("memcore %q does not end:\n%s", args, s.Log())
			_ = command.Process.Kill()
			<-ended
		}
		writer.Close()
		<-read
		if log := s.Log(); strings.Contains(log, "panic") || strings.Contains(log, "goroutine ") {
			t.Errorf("memcore %q panicked:\n%s", args, log)
		}
	})
	select {
	case s.Address = <-said:
	case <-time.After(2 * time.Minute):
		t.Fatalf("memcore %q does not say where it listens:\n%s", args, s.Log())
	}
	return s
}

// Log returns the output so far.
func (s *Server) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}
