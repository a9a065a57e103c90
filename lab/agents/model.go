package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// readWord and a path in a prompt make the model read that file.
	readWord = "READ"
	// readResult is the text of the file.
	readResult = "export const crane = 7\n"
	// keepWord makes the model write the overview of its session, as memory tells it to.
	keepWord = "KEEPOVERVIEW"
	// compactWord makes Claude Code compact its history. Codex and Gemini CLI do so because the
	// model reports a long one.
	compactWord = "/compact"
	// overviewText is what it writes.
	overviewText = "STATEMARK: the winch is oiled, next is the rope."
)

// A model answers as the servers of Anthropic, Google and OpenAI do, and records requests.
type model struct {
	address string
	folder  string
	server  *http.Server

	mu       sync.Mutex
	requests []string
}

// serve starts a model that writes each request to a file of a folder.
func serve(folder string) (*model, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{address: "http://" + listener.Addr().String(), folder: folder}
	m.server = &http.Server{Handler: m}
	go func() { _ = m.server.Serve(listener) }()
	return m, nil
}

func (m *model) stop() { _ = m.server.Close() }

// count returns the number of chat requests.
func (m *model) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.requests)
}

// firstWith returns the index of the first request with a text, or -1.
func (m *model) firstWith(text string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	quoted, _ := json.Marshal(strings.TrimSpace(text))
	for i, request := range m.requests {
		if strings.Contains(request, strings.Trim(string(quoted), `"`)) {
			return i
		}
	}
	return -1
}

// has reports whether a request from an index on has a text.
func (m *model) has(text string, from int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.requests[from:], func(request string) bool { return strings.Contains(request, text) })
}

// ServeHTTP implements http.Handler.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	path := r.URL.Path
	answer := map[string]func([]byte) (any, []any){"/v1/messages": anthropic, ":streamGenerateContent": google, ":generateContent": google, "/responses": openAI}
	for suffix, chat := range answer {
		if !strings.HasSuffix(path, suffix) {
			continue
		}
		m.mu.Lock()
		m.requests = append(m.requests, string(body))
		name := fmt.Sprintf("%03d.json", len(m.requests))
		m.mu.Unlock()
		if err := os.WriteFile(filepath.Join(m.folder, name), body, 0o600); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		whole, events := chat(body)
		if strings.HasSuffix(path, ":generateContent") || suffix == "/v1/messages" && !strings.Contains(string(body), `"stream":true`) {
			reply(w, whole)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range events {
			data, _ := json.Marshal(event)
			if named, ok := event.(object); ok && named["type"] != nil {
				fmt.Fprintf(w, "event: %s\n", named["type"])
			}
			fmt.Fprintf(w, "data: %s\n\n", data)
		}
		return
	}
	reply(w, object{"data": []any{}, "models": []any{}, "input_tokens": 10})
}

func reply(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

type object = map[string]any

var wanted = regexp.MustCompile(readWord + ` ([^\s"\\]+)`)

// toRead returns the file that the agent must still read, or "".
func toRead(body []byte, tool string) string {
	text := string(body)
	found := wanted.FindStringSubmatch(text)
	if found == nil || !strings.Contains(text, `"`+tool+`"`) || strings.Contains(text, "crane = 7") {
		return ""
	}
	return found[1]
}

const done = "Done."

var (
	overviewPath = regexp.MustCompile(`session/[\w-]+/overview\.md`)
	saveTool     = regexp.MustCompile(`"(mcp_[a-z_]*save_memory|save_memory)"`)
)

// toSave returns the tool that the agent must still call, and its arguments, or "".
func toSave(body []byte) (tool string, arguments object) {
	text := string(body)
	path, name := overviewPath.FindString(text), saveTool.FindStringSubmatch(text)
	if !strings.Contains(text, keepWord) || path == "" || name == nil || strings.Contains(text, overviewText) {
		return "", nil
	}
	return name[1], object{"path": path, "content": "## Current Task\n" + overviewText}
}

func anthropic(body []byte) (any, []any) {
	block, delta, reason := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": done}, "end_turn"
	if file := toRead(body, "Read"); file != "" {
		input, _ := json.Marshal(object{"file_path": file})
		block, delta, reason = object{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": object{}}, object{"type": "input_json_delta", "partial_json": string(input)}, "tool_use"
	}
	if tool, arguments := toSave(body); tool != "" {
		input, _ := json.Marshal(arguments)
		block, delta, reason = object{"type": "tool_use", "id": "toolu_2", "name": tool, "input": object{}}, object{"type": "input_json_delta", "partial_json": string(input)}, "tool_use"
	}
	usage := object{"input_tokens": 10, "output_tokens": 5}
	id := fmt.Sprint("msg_", time.Now().UnixNano()) // Claude Code compacts by messages
	message := func(content []any, reason any) object {
		return object{"id": id, "type": "message", "role": "assistant", "model": "fake", "content": content, "stop_reason": reason, "stop_sequence": nil, "usage": usage}
	}
	return message([]any{object{"type": "text", "text": done}}, "end_turn"), []any{
		object{"type": "message_start", "message": message([]any{}, nil)},
		object{"type": "content_block_start", "index": 0, "content_block": block},
		object{"type": "content_block_delta", "index": 0, "delta": delta},
		object{"type": "content_block_stop", "index": 0},
		object{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": usage},
		object{"type": "message_stop"},
	}
}

func google(body []byte) (any, []any) {
	part, tokens := object{"text": done}, 10
	if strings.Contains(string(body), "<state_snapshot>") && strings.Contains(string(body), "scratchpad") { // it asks for a summary
		part = object{"text": "<state_snapshot>" + done + "</state_snapshot>"}
	} else if found := wanted.FindAllStringSubmatch(string(body), -1); found != nil && strings.Contains(string(body), compactWord) && !reportedToGemini.Swap(true) {
		part, tokens = object{"functionCall": object{"name": "read_file", "args": object{"file_path": found[len(found)-1][1]}}}, 900_000
	}
	if file := toRead(body, "read_file"); file != "" {
		part = object{"functionCall": object{"name": "read_file", "args": object{"file_path": file}}}
	}
	if tool, arguments := toSave(body); tool != "" {
		part = object{"functionCall": object{"name": tool, "args": arguments}}
	}
	answer := object{"candidates": []any{object{"content": object{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": object{"promptTokenCount": tokens, "candidatesTokenCount": 5, "totalTokenCount": tokens + 5}, "modelVersion": "fake"}
	return answer, []any{answer}
}

// These are true once the model has told the agent of a long history: each time it is told so, it
// compacts. Gemini CLI does so before it sends a tool's result.
var reported, reportedToGemini atomic.Bool

func openAI(body []byte) (any, []any) {
	item := object{"type": "message", "id": "m_1", "role": "assistant", "content": []any{object{"type": "output_text", "text": done}}}
	for tool, argument := range map[string]string{"exec_command": "cmd", "shell_command": "command"} {
		if file := toRead(body, tool); file != "" {
			arguments, _ := json.Marshal(object{argument: "cat " + file})
			item = object{"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": tool, "arguments": string(arguments)}
		}
	}
	if tool, input := toSave(body); tool != "" {
		arguments, _ := json.Marshal(input)
		item = object{"type": "function_call", "id": "fc_2", "call_id": "call_2", "namespace": "mcp__memcore", "name": tool, "arguments": string(arguments)}
	}
	tokens := 10
	if strings.Contains(string(body), compactWord) && !reported.Swap(true) {
		tokens = 200_000
	}
	usage := object{"input_tokens": tokens, "input_tokens_details": nil, "output_tokens": 5, "output_tokens_details": nil, "total_tokens": tokens + 5}
	return object{}, []any{
		object{"type": "response.created", "response": object{"id": "r_1"}},
		object{"type": "response.output_item.done", "output_index": 0, "item": item},
		object{"type": "response.completed", "response": object{"id": "r_1", "usage": usage}},
	}
}
