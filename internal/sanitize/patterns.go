package sanitize

import (
	"regexp"
	"sync"
)

// Patterns are matched on folded text (see fold): ASCII, look-alikes replaced, lower case.

type tokenPattern struct {
	kind, about string
	expression  func() *regexp.Regexp
}

// compiled compiles an expression when it is first asked for: every process of memcore that starts would pay for it otherwise, a hook
// at each turn too, and most of them need none.
func compiled(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// tokenPatterns begin with a character of escapes, which is what gets escaped. They cover the control tokens of the chat templates
// that formatter's tests render (see its templates_test.go), in any case and with blanks in them: a tokenizer is exact, a reader is not.
var tokenPatterns = []tokenPattern{
	{"tag", "tag of the memory block", compiled(`<[\s/\\]*memory`)},
	// ChatML, Llama 3 and 4, Phi, Harmony, Command R, Granite, Kimi: <|im_start|>; DeepSeek, Hunyuan: the same with other bars; Gemma 4
	// also with the bar on one side only; EXAONE: [|system|].
	{"chat-token", "token between bars", compiled(`<\s*/?\s*\|[^>\s|]+|<\s*\|\s*[a-z][\w ]{0,40}\|\s*>|<\s*/?[\w":.\-]{1,40}\|\s*>|\[\s*\|[^\[\]\s|]{1,40}\|\s*\]`)},
	// Llama 2, Mistral, GLM, InternLM, PanGu.
	{"chat-token", "[INST] or its kin", compiled(
		`\[\s*/?\s*(?:inst|available_tools|tool_calls|tool_results?|tool_content|system_prompt|model_settings|call_id|think|[gs]mask|unused_?(?:token_)?\d+)\s*\]`)},
	{"chat-token", "<<SYS>>", compiled(`<<\s*/?\s*sys\s*>>`)},
	{"chat-token", "<s>", compiled(`<\s*/?\s*s\s*>`)},
	// MiniMax.
	{"chat-token", "]~b] or its kin", compiled(`\]~!?b[\[\]]|\[e~\[`)},
	// Gemma, Command R, GLM, Baichuan, Nemotron, Seed, MiniCPM, Ling; and the XML by which tools are called or roles are told.
	{"chat-token", "tag of a chat template", compiled(
		`<\s*/?\s*(?:(?:start|end)_of_turn|(?:beginning|end)_of_sentence|_(?:system|user|bot|assistant|start|end)|sep|(?:start|end)_function_(?:call|response|declaration)|toolcall|available_tools|bos|eos|(?:bos|eos|eop)_token|sop|eop|eo[ahst]|unused\d+|(?:reserved|extra_id|special)_\d+|` +
			`function_calls?|function_results?|function|tool_calls?|tool_response|tool_result|tools?|invoke|parameter|arg_(?:key|value)|` +
			`role|system[_-](?:reminder|prompt)|system|user_(?:query|instructions)|environment_context|command-(?:name|message|args)|functions|assistant|user|human|ai|instructions?|thinking|think)\b|<\s*/?\s*(?:antml|seed|minimax):`)},
	{"chat-token", "tag with a role", compiled(`<\s*[\w:\-]{1,30}\s[^>]{0,80}\brole\s*=\s*["']?(?:system|developer|assistant|user|human|tool|model)\b`)},
	{"chat-token", "message in JSON", compiled(`\{(?:[^}]{0,300}[\s,])?["']role["']\s*:\s*["'](?:system|developer|assistant|user|tool|function|model)["']`)},
}

// nativeTokens are matched on the text as it is, since folding does not keep their script: MiniCPM. Marks, and the joiners behind them,
// are allowed between.
var nativeTokens = compiled(`<[\s\p{M}\x{200c}\x{200d}]*(?:用[\p{M}\x{200c}\x{200d}]*户|助[\p{M}\x{200c}\x{200d}]*手)[\s\p{M}\x{200c}\x{200d}]*>`)

// roleNames are those that open a message in a transcript.
const roleNames = `system(?: (?:prompt|message|note|instructions?))?|developer|assistant|user|human|tool(?:[ _](?:call|result|response|output)s?)?|` +
	`function(?:[ _](?:call|result|output)s?)?|ai|model|gpt|bot|instruct|gpt4 correct (?:user|assistant)`

// rolePrefix is a role name that opens a line as a message in a transcript would, or stands in brackets there; one of the groups is the name.
var rolePrefix = compiled(`^[\s>#*_\-\[(]*(` + roleNames + `)[\s*_\])]*:` +
	`|^[\s>#*_\-]*\[\s*(` + roleNames + `)\s*\](?:[^(:\w]|$)` +
	// Alpaca
	`|^[\s>]*#{2,6}\s*(instructions?|responses?|input)\s*:\s*$`)

// roleNative is the same in scripts that folding does not keep: Yandex, PanGu.
var roleNative = compiled(`(?i)^[\s>#*_\-\[(]*(система|пользователь|ассистент|系统|系統|用户|用戶|助手|工具|方法|システム|ユーザー|アシスタント|시스템|사용자|어시스턴트)[\s*_\])]*[:：]`)

// roleWithin is a role in capitals in the middle of a line: Vicuna's messages follow each other without a line break. Not so
// USER:GROUP of a command.
var roleWithin = compiled(`\b(?:(ASSISTANT)(\s?:)|(USER|SYSTEM|HUMAN)(\s?:(?:\s|$)))`)

// ownHeading is a heading of the frames that memcore puts memory into.
var ownHeading = compiled(`^[\s>]*(?:#{1,6}\s*)?(?:relevant memory \(reference only\)|memory core: project context|user instructions\s*$)`)

// orders open a line in the imperative, or give the reader a new part to play.
var orders = compiled(`^[\s>#*_\-\d.)]*(?:you must\b|you are now\b|from now on,? you\b|act as (?:a|an|if)\b|pretend (?:to be|you are)\b|respond only\b|(?:new|updated|important) (?:system )?instructions?\b\s*:|do not (?:tell|inform|mention|reveal)\b|never (?:tell|inform|reveal|mention)\b)`)

// openingLength is how far from its start, in characters, a line must come to the point to be nothing
// but an order to drop instructions; further on it is somebody's account of one.
const openingLength = 30

// override is the order to drop earlier instructions, in folded text.
var override = compiled(`\b(?:ignore|disregard|forget|override|bypass|discard)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|preceding|foregoing|all|any|system|your|these|those)\b[^.\n]{0,30}\b(?:instruction|prompt|rule|direction|directive|guideline|command|programming)s?\b` +
	`|\bignoriere?\b[^.\n]{0,40}\b(?:anweisung|instruktion|regel|vorgabe)` +
	`|\bvergiss\b[^.\n]{0,40}\b(?:anweisung|instruktion|regel|vorgabe)` +
	`|\b(?:ignore[rz]?|oublie[rz]?)\b[^.\n]{0,40}\b(?:instructions|consignes|regles)\b` +
	`|\b(?:ignora|olvida|ignore)\b[^.\n]{0,40}\b(?:instrucciones|reglas|instrucoes|istruzioni)\b`)

// overrideNative is the same in scripts that folding does not keep.
var overrideNative = compiled(`(?:忽略|无视|無視|忘记|忘記)[^。\n]{0,16}(?:指令|指示|说明|說明|提示|规则|規則)` +
	`|(?i)(?:игнорируй|игнорируйте|забудь|забудьте)[^.\n]{0,40}(?:инструкц|указани|правил)` +
	`|(?:以前|前|上記)の?(?:指示|命令)[^。\n]{0,8}(?:無視|忘れ)`)

// overrides returns where in the line, in characters, an order to drop instructions begins; -1 if
// there is none.
func overrides(line, flat string) int {
	if at := override().FindStringIndex(flat); at != nil {
		return at[0]
	}
	if isASCII(line) {
		return -1
	}
	if at := overrideNative().FindStringIndex(line); at != nil {
		return len([]rune(line[:at[0]]))
	}
	return -1
}
