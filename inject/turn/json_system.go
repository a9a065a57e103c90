package turn

import (
	"strings"

	"github.com/tidwall/gjson"
)

// systemMessage extends the last leading system message, since many models take only one, or adds
// one.
func systemMessage(p parsed, text string) (edit, bool) {
	if n := leading(p.messages, rawRole); n > 0 {
		if e, ok := extended(p.messages[n-1].content(), text, ""); ok {
			return e, true
		}
	}
	if len(p.messages) == 0 { // such as a request to load a model, which would become a question
		return edit{}, false
	}
	return insertion(p.list.Index+1, `{"role":"system","content":`+quoted(text)+`},`), true
}

// systemInstructions is for the Responses API.
func systemInstructions(p parsed, text string) (edit, bool) {
	return systemMember(p, "instructions", text)
}

// systemBlock is for Anthropic's API. If the client marks for the cache only the last block, the
// new one gets the mark, too.
func systemBlock(p parsed, text string) (edit, bool) {
	const opening = `{"type":"text","text":`
	at := p.fields["system"]
	switch {
	case at.Str != "": // the API refuses "" as a block
		return edit{at.Index, endOf(at), "[" + opening + at.Raw + "}," + opening + quoted(text) + "}]"}, true
	case at.IsArray():
		return extended(at, text, cacheMark(p))
	}
	return systemMember(p, "system", text)
}

// maxCacheMarks is how many cache_control a request may have.
const maxCacheMarks = 4

// cacheMark returns `,"cache_control":…` for another block, or "".
func cacheMark(p parsed) string {
	const key = `"cache_control"`
	blocks := objectsOf(p.fields["system"])
	if len(blocks) == 0 || strings.Contains(p.list.Raw, key) || strings.Count(p.whole.Raw, key) >= maxCacheMarks {
		return ""
	}
	mark := blocks[len(blocks)-1].Get("cache_control")
	if mark.Type == gjson.Null {
		return ""
	}
	return "," + key + ":" + mark.Raw
}

// systemMember extends or adds a member.
func systemMember(p parsed, key, text string) (edit, bool) {
	at, there := p.fields[key]
	switch {
	case !there:
		return insertion(p.whole.Index+1, `"`+key+`":`+quoted(text)+","), true
	case at.Type == gjson.Null:
		return edit{at.Index, endOf(at), quoted(text)}, true
	case at.Type == gjson.String:
		return extended(at, text, "")
	}
	return edit{}, false
}

// extended adds text to a string, or to an array as a block with the members more; false for other
// values.
func extended(at gjson.Result, text, more string) (edit, bool) {
	end := endOf(at) - 1
	switch {
	case at.Type == gjson.String:
		if at.Str != "" {
			text = "\n\n" + text
		}
		added := quoted(text)
		return insertion(end, added[1:len(added)-1]), true
	case at.IsArray():
		block := `{"type":"text","text":` + quoted(text) + more + `}`
		if at.Get("0").Exists() {
			block = "," + block
		}
		return insertion(end, block), true
	}
	return edit{}, false
}
