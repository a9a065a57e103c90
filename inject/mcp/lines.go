package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// lines is between a client's streams and the SDK, which would end the session at a bad line, and
// answer nothing after the input. So lines answers bad lines, and ends the input after the last
// answer.
type lines struct {
	in *bufio.Reader

	rest []byte // of a line that the SDK has not taken yet

	mu      sync.Mutex
	out     io.Writer
	pending map[string]bool // IDs of requests without an answer
	settled chan struct{}   // gets something when one is answered
}

const (
	// maxLine bounds a message, in bytes.
	maxLine = 16 << 20
	// lastAnswers bounds how long that takes.
	lastAnswers = 5 * time.Second
)

func newLines(in io.Reader, out io.Writer) *lines {
	return &lines{in: bufio.NewReaderSize(in, 64<<10), out: out, pending: map[string]bool{}, settled: make(chan struct{}, 1)}
}

// Read gives the SDK whole messages only.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.next()
		if len(bytes.TrimSpace(line)) > 0 {
			l.take(line)
		}
		if err != nil && len(l.rest) == 0 {
			l.wait()
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// next reads a line; a longer one than allowed becomes invalid JSON.
func (l *lines) next() (line []byte, err error) {
	for {
		part, err := l.in.ReadSlice('\n')
		if len(line)+len(part) <= maxLine {
			line = append(line, part...)
		} else {
			line = append(line[:0], '!') // no message
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// take passes a message on, or answers a bad one. A batch is one: only version 2025-03-26 of the
// protocol had them.
func (l *lines) take(line []byte) {
	if !json.Valid(line) {
		l.say(-32700, "this is not JSON")
		return
	}
	message, err := jsonrpc.DecodeMessage(line) // as the SDK will
	if err != nil {
		l.say(-32600, "this is not one message of JSON-RPC 2.0")
		return
	}
	if request, ok := message.(*jsonrpc.Request); ok && request.ID.IsValid() {
		l.mu.Lock()
		l.pending[keyOf(request.ID)] = true
		l.mu.Unlock()
	}
	l.rest = append(bytes.TrimRight(line, "\r\n"), '\n')
}

// keyOf keeps "1" and 1 apart.
func keyOf(id jsonrpc.ID) string { return fmt.Sprintf("%#v", id.Raw()) }

func (l *lines) say(code int, text string) {
	data, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": text}}) // strings and numbers always encode
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.out.Write(append(data, '\n'))
}

// Write passes a message on, and notes what it answers.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.out.Write(p)
	message, failed := jsonrpc.DecodeMessage(p)
	if answer, ok := message.(*jsonrpc.Response); failed == nil && ok {
		delete(l.pending, keyOf(answer.ID))
		select {
		case l.settled <- struct{}{}:
		default:
		}
	}
	return n, err
}

// wait waits for all answers, at most lastAnswers.
func (l *lines) wait() {
	limit := time.NewTimer(lastAnswers)
	defer limit.Stop()
	for {
		l.mu.Lock()
		left := len(l.pending)
		l.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-l.settled:
		case <-limit.C:
			return
		}
	}
}
