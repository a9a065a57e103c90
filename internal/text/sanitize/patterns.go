package sanitize

import (
	"strings"

	"github.com/memcore/memcore/internal/text/lazy"
)

// Patterns match folded text (see fold), those named native the text itself, in scripts that
// folding drops.

type tokenPattern struct {
	kind, about string
	expression  func() *lazy.Expression
}

// tokenPatterns match control tokens of chat templates, in any case and with blanks, as models read
// them. Each begins with a key of escapes.
var tokenPatterns = []tokenPattern{
	{"tag", "tag of the memory block", lazy.Regexp(`<[\s/\\]*memory`)},
	// ChatML, Llama 3 and 4, Phi, Harmony, Command R, Granite, Kimi: <|im_start|>; DeepSeek,
	// Hunyuan: other bars; Gemma 4: one bar; EXAONE: [|system|].
	{"chat-token", "token between bars", lazy.Regexp(`<\s*/?\s*\|[^>\s|]+|<\s*\|\s*[a-z][\w ]{0,40}\|\s*>|<\s*/?[\w":.\-]{1,40}\|\s*>|\[\s*\|[^\[\]\s|]{1,40}\|\s*\]`)},
	// Llama 2, Mistral, GLM, InternLM, PanGu.
	{"chat-token", "[INST] or its kin", lazy.Regexp(
		`\[\s*/?\s*(?:inst|available_tools|tool_calls|tool_results?|tool_content|system_prompt|model_settings|call_id|think|[gs]mask|unused_?(?:token_)?\d+)\s*\]`)},
	{"chat-token", "<<SYS>>", lazy.Regexp(`<<\s*/?\s*sys\s*>>`)},
	{"chat-token", "<s>", lazy.Regexp(`<\s*/?\s*s\s*>`)},
	// MiniMax.
	{"chat-token", "]~b] or its kin", lazy.Regexp(`\]~!?b[\[\]]|\[e~\[`)},
	// Gemma, Command R, GLM, Baichuan, Nemotron, Seed, MiniCPM, Ling; XML of tools and roles.
	{"chat-token", "tag of a chat template", lazy.Regexp(
		`<\s*/?\s*(?:(?:start|end)_of_turn|(?:beginning|end)_of_sentence|_(?:system|user|bot|assistant|start|end)|sep|(?:start|end)_function_(?:call|response|declaration)|toolcall|available_tools|bos|eos|(?:bos|eos|eop)_token|sop|eop|eo[ahst]|unused\d+|(?:reserved|extra_id|special)_\d+|` +
			`function_calls?|function_results?|function|tool_calls?|tool_response|tool_result|tools?|invoke|parameter|arg_(?:key|value)|` +
			`role|system[_-](?:reminder|prompt)|system|user_(?:query|instructions)|environment_context|command-(?:name|message|args)|functions|assistant|user|human|ai|instructions?|thinking|think)\b|<\s*/?\s*(?:antml|seed|minimax):`)},
	{"chat-token", "tag with a role", lazy.Regexp(`<\s*[\w:\-]{1,30}\s[^>]{0,80}\brole\s*=\s*["']?(?:system|developer|assistant|user|human|tool|model)\b`)},
	// The pair alone, also within a string: what is around has any length.
	{"chat-token", "message in JSON", lazy.Regexp(`["']\s*role\s*\\*["']\s*:\s*\\*["']\s*(?:system|developer|assistant|user|human|tool|function|model)\s*\\*["']`)},
}

// nativeTokens are MiniCPM's, also with marks and joiners.
var nativeTokens = lazy.Regexp(`<[\s\p{M}\x{200c}\x{200d}]*(?:用[\p{M}\x{200c}\x{200d}]*户|助[\p{M}\x{200c}\x{200d}]*手)[\s\p{M}\x{200c}\x{200d}]*>`)

// swallowing matches what begins markup whose text goes on until its end, across tags. One group
// says which.
var swallowing = lazy.Regexp(`<\s*(!\s*--|!\s*\[\s*cdata\s*\[|\?|(?:script|style|textarea|iframe|xmp|noscript|noembed|noframes|plaintext)\b)`)

// endOf returns what ends markup that begins with a match of swallowing. A strict reader accepts
// nothing else.
func endOf(begin string) string {
	switch begin[0] {
	case '!':
		if strings.HasSuffix(begin, "-") {
			return "-->"
		}
		return "]]>"
	case '?':
		return "?>"
	}
	return "</" + begin + ">"
}

// citation begins a source on memcore's own lines.
var citation = lazy.Regexp(`\bsources?\s*:`)

// roleNames open messages in transcripts.
const roleNames = `system(?: (?:prompt|message|note|instructions?))?|developer|assistant|user|human|tool(?:[ _](?:call|result|response|output)s?)?|` +
	`function(?:[ _](?:call|result|output)s?)?|ai|model|gpt|bot|instruct|gpt4 correct (?:user|assistant)`

// rolePrefix matches a role name, its group, that opens a line.
var rolePrefix = lazy.Regexp(`^[\s>#*_\-\[(]*(` + roleNames + `)[\s*_\])]*:` +
	`|^[\s>#*_\-]*\[\s*(` + roleNames + `)\s*\](?:[^(:\w]|$)` +
	// Alpaca
	`|^[\s>]*#{2,6}\s*(instructions?|responses?|input)\s*:\s*$`)

// roleNative is rolePrefix for Yandex, PanGu and other models.
var roleNative = lazy.Regexp(`(?i)^[\s>#*_\-\[(]*(система|пользователь|ассистент|系统|系統|用户|用戶|助手|工具|方法|システム|ユーザー|アシスタント|시스템|사용자|어시스턴트)[\s*_\])]*[:：]`)

// roleWithin matches a role in capitals, as Vicuna has, but not USER:GROUP.
var roleWithin = lazy.Regexp(`\b(?:(ASSISTANT)(\s?:)|(USER|SYSTEM|HUMAN)(\s?:(?:\s|$)))`)

// ownHeading matches memcore's own frames.
var ownHeading = lazy.Regexp(`^[\s>]*(?:#{1,6}\s*)?(?:relevant memory \(reference only\)|memory index and overview \(reference only\)|memory core\s*:|user instructions\s*$)`)
