package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// JSON is Messages for a request of OpenAI's Chat Completions API: an object with "messages", or
// the array. The rest stays byte for byte. An error means that it is no chat request.
func JSON(ctx context.Context, r Retriever, request []byte, options Options) ([]byte, Report, error) {
	return injectJSON(ctx, r, request, chatAPI, options)
}

// An api says how to read requests.
type api struct {
	key  string // of the messages
	bare bool   // an array of messages is a request, too
	// kept reports whether the server keeps the conversation, if not nil.
	kept func(fields members) bool
	read func(list gjson.Result) ([]rawMessage, error)
	// text returns what the user says in a message.
	text func(m rawMessage) string
	// held reports whether a message has memory, if not nil.
	held func(m rawMessage) bool
	// place puts block, JSON, before the user's text.
	place func(m rawMessage, block string) edit

	// system adds to the system message; false without a place.
	system func(p parsed, text string) (edit, bool)
	// systemField is the system's member, if it is no message.
	systemField string
}

// A parsed is a request as its parts.
type parsed struct {
	whole    gjson.Result
	fields   members // nil if the request is an array of messages
	list     gjson.Result
	kept     bool // the server keeps the conversation
	messages []rawMessage
}

// A rawMessage is an item of a request.
type rawMessage struct {
	whole   gjson.Result
	role    string   // "user" only for what a person says
	calls   []string // IDs of tool calls
	answers []string // IDs of the calls that it has results of
}

// content is decoded on demand: a long history would be slow.
func (m rawMessage) content() gjson.Result {
	if m.whole.Type == gjson.String {
		return m.whole
	}
	return m.whole.Get("content")
}

// members: of equal keys, the last counts; within messages, the first.
type members map[string]gjson.Result

func membersOf(request gjson.Result) members {
	all := members{}
	request.ForEach(func(key, value gjson.Result) bool {
		all[key.Str] = value
		return true
	})
	return all
}

// isNull reports whether a member is missing or null.
func (m members) isNull(key string) bool { return m[key].Type == gjson.Null }

// objectsOf returns the objects in an array, or nothing.
func objectsOf(value gjson.Result) (all []gjson.Result) {
	if value.IsArray() {
		value.ForEach(func(_, element gjson.Result) bool {
			if element.IsObject() {
				all = append(all, element)
			}
			return true
		})
	}
	return all
}

// endOf returns the position behind a value.
func endOf(value gjson.Result) int { return value.Index + len(value.Raw) }

// An edit replaces request[start:end] by text.
type edit struct {
	start, end int
	text       string
}

func insertion(at int, text string) edit { return edit{at, at, text} }

// apply makes edits, whose parts do not overlap.
func apply(request []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return request
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var parts [][]byte
	done := 0
	for _, e := range edits {
		parts = append(parts, request[done:e.start], []byte(e.text))
		done = e.end
	}
	return slices.Concat(append(parts, request[done:])...)
}

// injectJSON returns request itself if there is no memory. Constant text goes to the system
// message: prompt caches hold up to the first change.
func injectJSON(ctx context.Context, r Retriever, request []byte, is api, options Options) ([]byte, Report, error) {
	p, err := parse(request, is)
	if err != nil {
		return request, Report{}, err
	}
	ctx, stop := options.within(ctx)
	defer stop()
	var edits []edit
	texts := openingTexts(p.messages, rawRole, func(m rawMessage) string { return contentText(m.content()) })
	if is.systemField != "" {
		texts = append(texts, contentText(p.fields[is.systemField]))
	}
	added := 0
	text, within := system(ctx, options, texts)
	if text != "" {
		if e, ok := is.system(p, text); ok {
			edits, added = append(edits, e), utf8.RuneCountInString(text)
		} else {
			within = options
		}
	}
	options = within
	report := Report{Reason: ReasonKept}
	if options.Open == "" {
		options.Open = openBy(p.fields["tools"])
	}
	if !p.kept {
		var last int
		var block string
		last, block, report = choose(ctx, r, p.messages, Shape[rawMessage]{
			Role:    rawRole,
			Text:    is.text,
			Calls:   func(m rawMessage) []string { return m.calls },
			Answers: func(m rawMessage) []string { return m.answers },
			held:    is.held,
		}, options)
		if block != "" {
			edits = append(edits, is.place(p.messages[last], quoted(block)))
		}
	}
	report.System = added
	return apply(request, edits), report, nil
}

func rawRole(m rawMessage) string { return m.role }

// parse leaves out messages that the server keeps.
func parse(request []byte, is api) (p parsed, err error) {
	if !json.Valid(request) {
		var anything any
		return p, fmt.Errorf("chat request is not JSON: %w", json.Unmarshal(request, &anything))
	}
	p.whole = gjson.ParseBytes(request)
	switch {
	case p.whole.IsArray() && is.bare:
		p.list = p.whole
	case !p.whole.IsObject() && is.bare:
		return p, fmt.Errorf("chat request is neither an object with %q nor an array of messages", is.key)
	case !p.whole.IsObject():
		return p, fmt.Errorf("chat request is no object with %q", is.key)
	default:
		var ok bool
		p.fields = membersOf(p.whole)
		if p.list, ok = p.fields[is.key]; !ok {
			return p, fmt.Errorf("chat request has no %q", is.key)
		}
		p.kept = is.kept != nil && is.kept(p.fields)
	}
	if !p.kept {
		p.messages, err = is.read(p.list)
	}
	return p, err
}

// readEach reads the messages of an array of objects.
func readEach(list gjson.Result, read func(m *rawMessage)) (messages []rawMessage, err error) {
	if !list.IsArray() {
		return nil, errors.New("chat request: messages are no array")
	}
	list.ForEach(func(_, element gjson.Result) bool {
		if !element.IsObject() {
			err = fmt.Errorf("chat request: message %d is no object", len(messages)+1)
			return false
		}
		m := rawMessage{whole: element, role: element.Get("role").Str}
		read(&m)
		messages = append(messages, m)
		return true
	})
	return messages, err
}

// chatMessage begins a user message whose content follows.
const chatMessage = `{"role":"user","content":`

var chatAPI = api{
	key:    "messages",
	bare:   true,
	read:   readChat,
	text:   func(m rawMessage) string { return contentText(m.content()) },
	place:  placeMessage,
	system: systemMessage,
}

func placeMessage(m rawMessage, block string) edit {
	return insertion(m.whole.Index, chatMessage+block+"},")
}

func readChat(list gjson.Result) ([]rawMessage, error) {
	return readEach(list, func(m *rawMessage) {
		for _, call := range objectsOf(m.whole.Get("tool_calls")) {
			m.calls = append(m.calls, call.Get("id").Str)
		}
		if call := m.whole.Get("function_call"); call.IsObject() {
			m.calls = append(m.calls, functionID(call.Get("name").Str))
		}
		switch m.role {
		case "tool":
			m.answers = []string{m.whole.Get("tool_call_id").Str}
		case "function":
			m.answers = []string{functionID(m.whole.Get("name").Str)}
		}
	})
}

// contentText takes a string or an array of parts.
func contentText(content gjson.Result) string {
	if !content.IsArray() {
		return content.Str
	}
	var all []string
	for _, part := range objectsOf(content) {
		if text := part.Get("text").Str; text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}

// quoted returns a text as JSON.
func quoted(text string) string {
	encoded, _ := json.Marshal(text) // strings always encode
	return string(encoded)
}
