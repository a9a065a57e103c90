package reflection

import (
	"regexp"
	"strings"
	"sync"
)

// How people introduce themselves in six languages. A name after "I am" has a capital; a Chinese
// one begins with a common family name.
var (
	introducing = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)` + strings.Join([]string{
			`\bmy (full |first |last )?name(?: is|'s)\b|\bcall me \w|\bi (?:live|work|study) (?:as|at|for|in|on|near)\b|\bi(?: am|'m) (?:from|based in|born|\d{1,3} years old)\b`,
			`\bmy (?:time ?zone|e-?mail|editor|team|role|company|employer|job|title|birthday|pronouns|native language|mother tongue|hobb(?:y|ies)|favou?rite \w+) (?:is|are)\b`,
			`\bich hei(?:ß|ss)e\b|\bmein name ist\b|\bich (?:wohne|lebe|arbeite) (?:in|bei|als|für)\b|\bich bin (?:ein|eine|der|die|von beruf|aus)\b`,
			`\bme llamo\b|\bmi nombre es\b|\bvivo en\b|\btrabajo (?:como|en|para)\b|\bsoy (?:un|una|el|la|de)\b`,
			`\bje m'appelle\b|\bmon (?:pr[eé])?nom est\b|\bj'habite\b|\bje travaille (?:comme|chez|en|pour)\b|\bje suis (?:un|une|de)\b`,
			`我(?:的名字)?叫[\p{Han}\p{Latin}]|我是(?:一名|一个|一位|个)|我的(?:名字|姓名|职业|工作|角色|邮箱|时区|生日|母语|公司)(?:是|叫)|我(?:住在|来自|在\p{Han}{1,12}(?:工作|上班))|我今年\d`,
			`(?:私|僕|俺)の(?:名前|職業|仕事|役割|誕生日|趣味|母語|会社)は|と申します|といいます|と言います|(?:私|僕|俺)は[\p{Han}\p{Katakana}ー]{1,10}(?:です|だ)|に住んでいます|で働いています`,
		}, "|"))
	})
	named = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:[Ii] am|[Ii]'m|[Ii]ch bin|[Ss]oy|[Jj]e suis) (\p{Lu}[\p{L}'-]+)(?: (?:\p{Lu}[\p{L}'.-]*|van|von|de|da|bin)){0,3}(?:[.,!;]|\s+(?:and|from|at|here|by|und|aus|y|et)\b|\s*$)` +
			`|我是[王李张張刘劉陈陳杨楊黄黃赵趙吴吳周徐孙孫马馬朱胡郭何高林罗羅郑鄭梁谢謝宋唐许許韩韓冯馮邓鄧曹彭曾肖萧田董袁潘于蒋蔣蔡余杜叶葉程苏蘇魏吕呂丁任沈姚卢盧姜崔钟鐘谭譚陆陸汪范金石廖贾賈夏韦韋付方白邹鄒孟熊秦邱江尹薛闫阎段雷侯龙龍史陶黎贺賀顾顧毛郝龚龔邵万萬钱錢严嚴武戴莫孔向汤湯][\p{Han}]{1,2}(?:[\s。.,，!！;；、]|$)`)
	})
	preferringOneself = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\bi (?:really |always |usually |strongly )?(?:prefer|love|hate|dislike)\b|\bich bevorzuge\b|\bprefiero\b|\bje pr[eé]f[eè]re\b|我(?:更喜欢|喜欢|偏好|讨厌)`)
	})
)

// noNames are other words that people capitalise after "I am".
var noNames = map[string]bool{"ok": true, "okay": true, "sorry": true, "not": true, "so": true, "sure": true, "done": true, "back": true, "ready": true, "afraid": true, "still": true, "now": true}

// introduces reports whether a sentence says who the user is.
func introduces(sentence string) bool {
	sentence = strings.ReplaceAll(sentence, "’", "'")
	if introducing().MatchString(sentence) {
		return true
	}
	found := named().FindStringSubmatch(sentence)
	if found == nil {
		return false
	}
	first := strings.ToLower(found[1])
	return !noNames[first] && !strings.HasSuffix(first, "ing")
}
