package sanitize

import "regexp"

// Patterns are matched on folded text (see fold): ASCII, look-alikes replaced, lower case.

type tokenPattern struct {
	kind, about string
	expression  *regexp.Regexp
}

// tokenPatterns begin with "<", "[" or "{", which is what gets escaped.
var tokenPatterns = []tokenPattern{
	{"tag", "tag of the memory block", regexp.MustCompile(`<[\s/\\]*memory`)},
	// ChatML, Llama 3, Phi, Harmony: <|im_start|>; DeepSeek: the same with other bars.
	{"chat-token", "token between bars", regexp.MustCompile(`<\s*\|[^<>\s|]+`)},
	// Llama 2 and Mistral.
	{"chat-token", "[INST] or its kin", regexp.MustCompile(`\[\s*/?\s*(?:inst|available_tools|tool_calls|tool_results|system_prompt)\s*\]`)},
	{"chat-token", "<<SYS>>", regexp.MustCompile(`<<\s*/?\s*sys\s*>>`)},
	{"chat-token", "<s>", regexp.MustCompile(`</?s>`)},
	// Gemma; and the XML by which tools are called or roles are told.
	{"chat-token", "tag of a chat template", regexp.MustCompile(
		`<\s*/?\s*(?:(?:start|end)_of_turn|bos|eos|function_calls|function_results|function|tool_calls?|tool_response|tool_result|tools|invoke|parameter|system|system-reminder|assistant|user|human|instructions?|antml:\w+|thinking|think)\b`)},
	{"chat-token", "message in JSON", regexp.MustCompile(`\{\s*"role"\s*:\s*"(?:system|developer|assistant|user|tool)"`)},
}

// rolePrefix is a role name that opens a line as a message in a transcript would; group 1 is the name.
var rolePrefix = regexp.MustCompile(`^[\s>#*_\-\[(]*(system|developer|assistant|user|human|tool|ai|model)[\s*_\])]*:`)

// orders open a line in the imperative, or give the reader a new part to play.
var orders = regexp.MustCompile(`^[\s>#*_\-\d.)]*(?:you must\b|you are now\b|from now on,? you\b|act as (?:a|an|if)\b|pretend (?:to be|you are)\b|respond only\b|(?:new|updated|important) (?:system )?instructions?\b\s*:|do not (?:tell|inform|mention|reveal)\b|never (?:tell|inform|reveal|mention)\b)`)

// openingLength is how far from its start, in characters, a line must come to the point to be nothing
// but an order to drop instructions; further on it is somebody's account of one.
const openingLength = 30

// override is the order to drop earlier instructions, in folded text.
var override = regexp.MustCompile(`\b(?:ignore|disregard|forget|override|bypass|discard)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|preceding|foregoing|all|any|system|your|these|those)\b[^.\n]{0,30}\b(?:instruction|prompt|rule|direction|directive|guideline|command|programming)s?\b` +
	`|\bignoriere?\b[^.\n]{0,40}\b(?:anweisung|instruktion|regel|vorgabe)` +
	`|\bvergiss\b[^.\n]{0,40}\b(?:anweisung|instruktion|regel|vorgabe)` +
	`|\b(?:ignore[rz]?|oublie[rz]?)\b[^.\n]{0,40}\b(?:instructions|consignes|regles)\b` +
	`|\b(?:ignora|olvida|ignore)\b[^.\n]{0,40}\b(?:instrucciones|reglas|instrucoes|istruzioni)\b`)

// overrideNative is the same in scripts that folding does not keep.
var overrideNative = regexp.MustCompile(`(?:忽略|无视|無視|忘记|忘記)[^。\n]{0,16}(?:指令|指示|说明|說明|提示|规则|規則)` +
	`|(?i)(?:игнорируй|игнорируйте|забудь|забудьте)[^.\n]{0,40}(?:инструкц|указани|правил)` +
	`|(?:以前|前|上記)の?(?:指示|命令)[^。\n]{0,8}(?:無視|忘れ)`)

// overrides returns where in the line, in characters, an order to drop instructions begins; -1 if
// there is none.
func overrides(line, flat string) int {
	if at := override.FindStringIndex(flat); at != nil {
		return at[0]
	}
	if isASCII(line) {
		return -1
	}
	if at := overrideNative.FindStringIndex(line); at != nil {
		return len([]rune(line[:at[0]]))
	}
	return -1
}
