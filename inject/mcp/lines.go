package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// lines stand between a client on a pair of streams and the SDK, which ends a session at the first line that is not JSON-RPC, and answers nothing any more once its
// input has ended. A bad line is answered here, and the end waits for the answers to what was asked.
type lines struct {
	in *bufio.Reader

	rest []byte // of a line that the SDK has not taken yet

	mu      sync.Mutex
	out     io.Writer
	pending map[string]bool // IDs of requests without an answer
	settled chan struct{}   // gets something when one is answered
}

const (
	// longestLine is the largest message that is read, in bytes.
	longestLine = 16 << 20
	// lastAnswers is how long answers are waited for when the input has ended.
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

// next reads a line; of one that is too long nothing.
func (l *lines) next() (line []byte, err error) {
	for {
		part, err := l.in.ReadSlice('\n')
		if len(line)+len(part) <= longestLine {
			line = append(line, part...)
		} else {
			line = append(line[:0], '!') // no message
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// take passes a message on, or answers what is none.
func (l *lines) take(line []byte) {
	var message struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
	}
	err := json.Unmarshal(line, &message)
	batch := err != nil && json.Valid(line) // an older version of the protocol has them
	if err != nil && !batch {
		l.say(-32700, "this is no JSON")
		return
	}
	if !batch && message.JSONRPC != "2.0" {
		l.say(-32600, "this is no message of JSON-RPC 2.0")
		return
	}
	if id := string(message.ID); id != "" && id != "null" && message.Method != "" {
		l.mu.Lock()
		l.pending[id] = true
		l.mu.Unlock()
	}
	l.rest = append(bytes.TrimRight(line, "\r\n"), '\n')
}

func (l *lines) say(code int, text string) {
	data, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": text}}) // strings and numbers always encode
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.out.Write(append(data, '\n'))
}

// Write passes on what the SDK says, a message at a time, and notes what is answered.
func (l *lines) Write(p []byte) (int, error) {
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	answered := json.Unmarshal(p, &message) == nil && message.Method == "" && len(message.ID) > 0
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.out.Write(p)
	if answered {
		delete(l.pending, string(message.ID))
		select {
		case l.settled <- struct{}{}:
		default:
		}
	}
	return n, err
}

// wait waits until all requests are answered, but not for ever.
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
