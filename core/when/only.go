package when

import (
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// Only reports whether a text asks about the past by nothing but a time: "what did we decide last
// week".
func Only(text string, spans []Span, now time.Time) bool {
	if len(spans) == 0 || len(text) > maxText {
		return false
	}
	past := true
	for _, s := range spans {
		if s.From.After(now) {
			return false
		}
		past = past && !s.To.After(now)
	}
	asks, looksBack := false, past
	for _, word := range rest(text, spans) {
		use, ok := asking()[word]
		if !ok && !isKana(word) {
			return false
		}
		asks = asks || use&asksFor != 0
		looksBack = looksBack || use&ofPast != 0 || isKana(word) && strings.Contains("ただっ", word)
	}
	return asks && looksBack
}

// rest returns words outside the spans, or the longest entries of asking.
func rest(text string, spans []Span) []string {
	var words []string
	from := 0
	for _, s := range spans {
		words = append(words, split(text[min(from, s.Start):s.Start])...)
		from = s.End
	}
	return append(words, split(text[from:])...)
}

func split(text string) (words []string) {
	for _, run := range strings.FieldsFunc(text, func(r rune) bool { return !inWord(r) && !isDigit(r) }) {
		var b strings.Builder
		for at := 0; at < len(run); {
			r, size := utf8.DecodeRuneInString(run[at:])
			if !isCJK(r) {
				fold(&b, r)
				at += size
				continue
			}
			if b.Len() > 0 {
				words = append(words, b.String())
				b.Reset()
			}
			end := at + size
			for i, n := at, 0; i < len(run) && n < maxCJK; n++ {
				_, size := utf8.DecodeRuneInString(run[i:])
				i += size
				if _, ok := asking()[run[at:i]]; ok {
					end = i
				}
			}
			words = append(words, run[at:end])
			at = end
		}
		if b.Len() > 0 {
			words = append(words, b.String())
		}
	}
	return words
}

// isKana means a Japanese particle or ending.
func isKana(word string) bool {
	for _, r := range word {
		if !unicode.Is(unicode.Hiragana, r) {
			return false
		}
	}
	return true
}

// Uses of a word in a question about the past.
const (
	asksFor = 1 << iota // what, which, remind
	ofPast              // did, told
)

// asking are words that say nothing about the answer's subject.
var asking = sync.OnceValue(func() map[string]int {
	all := map[string]int{}
	add := func(use int, list string) {
		for _, word := range strings.Fields(list) {
			all[word] |= use
		}
	}
	add(0, `we you i me us my our your they them it its that this there the then a an and or at in on of to for with about from over all again exactly
		do s please else so up together during through day everything anything something things thing list`)
	add(asksFor, `what which who whom whose`)
	add(asksFor|ofPast, `remind recall recap summarize summarise summary`)
	add(ofPast, `did was were had have has ve been d done said told talked discussed decided worked happened changed learned learnt agreed asked mentioned promised got noted wrote written jotted`)
	add(0, `tell say talk discuss decide work happen change learn agree ask mention promise remember note notes write jot down`)

	add(0, `wir ich du ihr mir dir uns euch sie ihnen er es man der die das den dem mit zu an am im in auf fur fuer und denn eigentlich nochmal noch mal bitte zusammen alles da
		los so uber ueber von`)
	add(asksFor, `was welche welchen welches welcher wer wem woran woruber worueber wovon`)
	add(asksFor|ofPast, `erinnere erinner zusammenfassung`)
	add(ofPast, `habe hab haben hast habt hat hatte hatten war waren wurde gesagt entschieden beschlossen besprochen gemacht getan erzahlt erzaehlt geredet gesprochen gearbeitet passiert
		geschehen gefragt vereinbart ausgemacht gelernt geandert geaendert diskutiert festgelegt notiert geschrieben aufgeschrieben festgehalten`)

	add(0, `yo tu te me nos le lo la el los las de del sobre en con y a al se nosotros vosotros ustedes usted por para todo un una`)
	add(asksFor, `que cual cuales quien quienes`)
	add(asksFor|ofPast, `recuerdame recuerda resume resumen resumeme`)
	add(ofPast, `decidimos decidi decidiste hicimos hice hiciste hablamos hable dijiste dije dijimos dijo acordamos paso pasaba conte contaste contamos discutimos trabajamos
		he has ha hemos habeis habia fue era decidido hablado dicho hecho contado acordado anote anotamos anotaste apunte apuntamos escribi escribimos anotado apuntado escrito`)

	add(0, `nous vous on je j tu te t me m toi moi le la les l en y avec de d du des sur et a il elle ils c ce s se n ne pas est tout`)
	add(asksFor, `quoi quel quelle quels quelles qui qu`)
	add(asksFor|ofPast, `rappelle resumer`)
	add(ofPast, `avons avez ai as ont avait etait dit dits fait decide decidee decides parle discute travaille raconte convenu passe demande note notee notes ecrit`)

	add(0, `我们 我們 我 你们 你們 你 您 他 她 的 吗 嗎 呢 吧 都 有 是 在 给 給 跟 和 与 與 关于 關於 事情 事 一下 请 請 把 对 對 里 裡 那 时候 時候 内容 过来 做 说 說 讲 講 讨论 討論 告诉 告訴
		聊 谈 談 决定 決定 发生 發生 工作 改 学 學 问 問 能 到 些 出 写 寫 写下 寫下 记 記 记下 記下 记录 記錄`)
	add(asksFor, `什么 什麼 啥 哪些 哪个 哪個`)
	add(asksFor|ofPast, `总结 總結 提醒 回顾 回顧`)
	add(ofPast, `了 过 過`)
	add(0, `決 話 言 教 私 私達 私たち 僕 僕ら 君 達 合 相談 会話 内容 作業 伝 頼 起 決定 議論 一緒 変更`)
	add(asksFor, `何 なに なん どんな どの`)
	add(asksFor|ofPast, `要約 思い出`)
	return all
})
