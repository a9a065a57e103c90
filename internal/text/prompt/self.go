package prompt

import (
	"strings"

	"github.com/memcore/memcore/internal/text/lazy"
)

// A Self says whether a prompt asks about its writer.
type Self int

const (
	// OfOthers asks nothing, or about something else.
	OfOthers Self = iota
	// OfMine asks in the first person: "which editor do I use?", "why does my test fail?".
	OfMine
	// OfMe asks about the writer: "what's my name?", "who am I".
	OfMe
)

// maxAboutSelf bounds a question about oneself, in bytes.
const maxAboutSelf = 300

// AsksOfSelf reports whether a prompt asks about its writer, in English, German, Spanish, French,
// Chinese and Japanese; in some other languages the question for the name.
func (p Prompt) AsksOfSelf() Self {
	own := strings.ReplaceAll(p.Own, "’", "'")
	if own == "" || len(own) > maxAboutSelf || p.Pasted > 0 || p.Orders || p.Kind == Command {
		return OfOthers
	}
	asked := p.Asks || len(strings.Fields(own)) <= maxSelfWords
	switch {
	case (asked || wantsToHear.MatchString(own)) && ofMe().MatchString(own):
		return OfMe
	case p.Asks && ofMine.MatchString(own):
		return OfMine
	}
	return OfOthers
}

// AsksOfOurs reports whether a prompt asks about its writer or the people that they work with: "how
// do we write postmortems?".
func (p Prompt) AsksOfOurs() bool {
	return p.Asks && len(p.Own) <= maxAboutSelf && p.Pasted == 0 && (ofMine.MatchString(p.Own) || ofOurs.MatchString(p.Own))
}

// maxSelfWords bounds questions without a mark: "who am i again".
const maxSelfWords = 5

var (
	ofMine      = lazily(`(?i)\b(i|my|me|mine|ich|mein\w*|mir|mich|yo|mis?|je|j'|mon|ma|mes|moi)\b|我|私|僕|俺`)
	ofOurs      = lazily(`(?i)\b(we|our|ours|us|wir|uns|unser\w*|nosotros|nuestr\w+|\w+(amos|emos|imos)|nous|notre|nos)\b|我们|我們|私たち`)
	wantsToHear = lazily(`(?i)\b(tell|remind) me\b|\bdo you (still )?(know|remember)\b|\bsag mir\b|\bwei(ß|ss)t du\b|\bdime\b|\bsabes\b|\bdis-moi\b|\bsais-tu\b|告诉我|知道|记得|教えて|覚えて`)
)

// Attributes of a person, by language.
const (
	attributesEn = `((full |first |last |middle |family |user ?|nick)?names?|nickname|username|surname|roles?|job( title)?|title|profession|occupation|age|birth ?day|birth ?date|date of birth|` +
		`pronouns|e-?mail( address)?|phone( number)?|(home |postal )?address|time ?zone|(native |mother |first |preferred )?(languages?|tongue)|nationality|home ?town|city|country|` +
		`employer|company|team|hobb(y|ies)|background|experience|preferences?|skills?|interests?|editor|favou?rite( \w+){1,2})`
	attributesDe = `((vor|nach|spitz|benutzer)?namen?|e-?mail(-?adresse)?|rolle|beruf|job|alter|adresse|telefonnummer|zeitzone|muttersprache|geburtstag|firma|lieblings\w+)`
	attributesEs = `(nombre|apellidos?|apodo|rol|trabajo|profesi[oó]n|oficio|correo|e-?mail|edad|idioma|lengua|zona horaria|cumpleaños|direcci[oó]n|empresa|editor|\w+ favorit[oa])`
	attributesFr = `(pr[eé]nom|nom|surnom|r[oô]le|m[eé]tier|travail|profession|[aâ]ge|adresse|e-?mail|langue|ville|fuseau|anniversaire|entreprise|[eé]diteur|\w+ pr[eé]f[eé]r[eé]e?)`
	attributesZh = `(名字|姓名|全名|昵称|职业|職業|工作|角色|年龄|年齡|生日|邮箱|郵箱|电话|電話|地址|时区|時區|公司|团队|爱好|愛好|偏好|母语|母語|编辑器)`
	attributesJa = `(名前|氏名|職業|仕事|役割|誕生日|年齢|住所|メール(アドレス)?|趣味|好み|言語|母語|会社|出身|エディタ)`
)

var ofMe = lazy.Regexp(`(?i)` + strings.Join([]string{
	`\bwho (am i|i am|i'm)\b`,
	`\bmy (own |real |current |main )?` + attributesEn + `(,? (again|called|please|now|then|is|are|was|by the way))*[\s\p{P}\p{S}]*$`,
	`\b(know|remember|recall|learned|learnt|stored|saved|noted|remembered|tell me|have)\b[^.?!]{0,20} (about|of) (me|myself)\b`,
	`\bdo you (still )?(know|remember|recognize|recognise) me\b`,
	`\bwhere ((do|did) )?i (live|work)\b|\bwhere (am i|i am|i'm) (from|based)\b|\bhow old (am i|i am)\b|\bwhen was i born\b|\bwhat am i called\b|\bwhat do you call me\b`,
	`\bwhat do i do (for (a living|work)|professionally)\b|\b(what|which) (programming |human |natural )?languages? do i (speak|prefer|like|use)\b|\bwhat do i (prefer|like|love|hate|dislike)[\s\p{P}\p{S}]*$`,

	`\bwer (bin ich|ich bin)\b|\bwie (hei(ß|ss)e ich|ich hei(ß|ss)e)\b|\bmeine?n? ` + attributesDe + `( nochmal| noch mal| noch)?[\s\p{P}\p{S}]*$`,
	`\bwo (wohne|arbeite|lebe) ich\b|\bwoher (komme|bin) ich\b|\bwie alt (bin ich|ich bin)\b|\bwann (habe ich geburtstag|bin ich geboren)\b|\bwas (bevorzuge|mag) ich[\s\p{P}\p{S}]*$`,
	`\bwei(ß|ss)t du (alles |noch )?(über|von) mi(ch|r)\b|\bkennst du mich\b|\bwelche sprachen? (spreche|bevorzuge|nutze) ich\b`,

	`c[oó]mo me llamo|qui[eé]n soy\b|\bmi ` + attributesEs + `[\s\p{P}\p{S}]*$|d[oó]nde (vivo|trabajo)\b|de d[oó]nde soy\b|cu[aá]ntos años tengo|\bsabes (de|sobre|acerca de) m[ií]|\bqu[eé] idiomas? (hablo|prefiero)|\bme conoces\b`,

	`comment (est-ce que )?je m'appelle|je m'appelle comment|\bqui (suis-je|je suis)\b|\bm(on|a) ` + attributesFr + `[\s\p{P}\p{S}]*$|où (est-ce que )?(j'habite|je travaille|je vis)|o[uù] habit[eé]-je|quel [aâ]ge (ai-je|j'ai)`,
	`\bsai(s|t)(-tu| tu)? (de|sur) moi\b|\btu sais (de|sur) moi\b|quelle langue (est-ce que )?je (parle|pr[eé]f[eè]re)|\btu te souviens de moi\b`,

	`我是(谁|誰)|我(叫|姓)(什么|什麼|啥)|我的?` + attributesZh + `(是|叫)?(什么|什麼|啥|哪|多少|几|谁|吗|呢)?[\s\p{P}\p{S}]*$|我(今年)?(多大|几岁|幾歲)|我(住|来自|來自)(在)?哪|我在哪(里|儿|兒)?(工作|上班|住)|我是(做什么|干什么)`,
	`(了解|知道|记得|記得)(关于|關於)?我(的)?(什么|什麼|哪些|多少|信息|情况)|(还|還)?(记得|記得|认识|認識)我(吗|嗎)|我(喜欢|喜歡|偏好)(什么|什麼|哪)`,

	`(私|僕|俺|わたし|ぼく|自分)の` + attributesJa + `(は|って|を|が)?(何|なに|なん|どこ|いつ|誰|だれ|覚え|知って|わか|分か|教え|でし|です)?[\p{Hiragana}]*[\s\p{P}\p{S}]*$|(私|僕|俺|わたし|ぼく)(は|って)(誰|だれ|何者|何歳|どこに住|どこで働)`,
	`(私|僕|俺|わたし|ぼく)(のこと|について)(を|は)?(何を)?(覚え|知って)`,

	`(내|제) 이름(이|은)?\s*(뭐|무엇|뭔|[?]|$)|(내가|나는|제가) 누구|qual (é|e) (o )?meu nome|como (eu )?me chamo|quem sou eu|come mi chiamo|chi sono io|qual è il mio nome|как меня зовут|кто я(\W|$)|как(ое)? мо[её] имя`,
}, "|"))
