package when

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

type kind uint8

const (
	other       kind = iota // any other word; no date goes across it
	filler                  // the, of, de, の
	preposition             // in, on, am, en
	number
	unit      // value is a measure
	monthName // value 1 to 12
	weekday   // value is a time.Weekday
	season
	dayPart    // this …, … night
	dayName    // value is the days from today
	relative   // last, this, next: value -1, 0, 1
	agoAfter   // three days ago
	agoBefore  // hace tres días
	since      // the beginning of what follows
	until      // the end of what follows
	before     // the beginning of what follows is the end
	after      // the end of what follows is the beginning
	sinceAfter // 月曜から
	beforeLast // 三月以前
	rangeFrom  // between
	rangeTo    // and
	every      // makes what follows no date
	thing      // in 2000 lines
	date       // in digits
	yearMark   // 年 behind a number
	monthMark  // 月
	dayMark    // 日, 号
)

type piece struct {
	kind   kind
	value  int
	weak   bool // more often another word: may, march, spring
	after  bool // of relative: may follow its noun
	roll   bool // of relative: with a unit, means that long until now ("the past week")
	digits int  // of a number: how many
	dates  []ymd
}

// words are the words and phrases of all languages, folded.
var words = sync.OnceValue(table)

// longest maps a first word to its longest entry, in words.
var longest = sync.OnceValue(func() map[string]int {
	all := map[string]int{}
	for entry := range words() {
		first, _, _ := strings.Cut(entry, " ")
		all[first] = max(all[first], strings.Count(entry, " ")+1)
	}
	return all
})

func table() map[string][]piece {
	all := map[string][]piece{}
	add := func(list string, pieces ...piece) {
		for _, word := range strings.Split(list, "|") {
			word = strings.TrimSpace(word)
			if word != "" {
				all[word] = pieces
			}
		}
	}
	each := func(k kind, values ...string) {
		for value, list := range values {
			add(list, piece{kind: k, value: value})
		}
	}
	add(`the|of|de|del|des|du|d|der|die|das|dem|den|la|le|les|l|el|los|las|von|vom|a la|の|的|に|は|ein`, piece{kind: filler})
	add(`in|on|at|over|during|am|im|waehrend|wahrend|en|em|durante|au|aux|pendant|au mois|im monat|in the month|en el mes|across|around|ab`, piece{kind: preposition})
	add(`between|from|zwischen|entre`, piece{kind: rangeFrom})
	add(`and|to|und|y|et`, piece{kind: rangeTo})
	add(`every|each|on each|jeden|jede|jedes|cada|todos|todas|tous|toutes|chaque|每|每个|每個|毎|per|pro`, piece{kind: every})
	add(`ago|前|之前`, piece{kind: agoAfter})
	add(`hace|il y a|y a`, piece{kind: agoBefore})
	add(`vor`, piece{kind: agoBefore, value: 1})
	add(`since|seit|seit dem|desde|depuis|自|从|從|自从|自從|starting|as of`, piece{kind: since})
	add(`until|till|up to|bis|bis zum|hasta|jusqu|jusqu a|jusqu au|直到|截至`, piece{kind: until})
	add(`before|antes|avant|prior to`, piece{kind: before})
	add(`after|nach|despues|apres`, piece{kind: after})
	add(`以来|以來|起|から|以降|以后|以後|之后|之後`, piece{kind: sinceAfter})
	add(`以前|まで|より前`, piece{kind: beforeLast})

	add(`last|previous|letzte|letzten|letzter|letztes|letztem|vorige|vorigen|voriger|voriges|vorigem|vergangene|vergangenen|vergangener|vergangenes|ultimo|ultima|ultimos|ultimas|最近|过去|過去|近|ここ|直近`, piece{kind: relative, value: -1})
	add(`past`, piece{kind: relative, value: -1, roll: true})
	add(`pasado|pasada|pasados|pasadas|dernier|derniere|derniers|dernieres|passe|passee|precedent|precedente`, piece{kind: relative, value: -1, after: true})
	add(`this|current|diese|dieser|diesen|dieses|diesem|este|esta|ce|cet|cette|この|这|這|本`, piece{kind: relative})
	add(`next|coming|nachste|nachsten|nachster|nachstes|nachstem|naechste|naechsten|kommende|kommenden|proximo|proxima|prochaine|prochain`, piece{kind: relative, value: 1, after: true})
	add(`上一个|上一個|上个|上個|上`, piece{kind: relative, value: -1})
	add(`下个|下個|下`, piece{kind: relative, value: 1})

	each(unit,
		`minute|minutes|minuten|minuto|minutos|分钟|分鐘|分間`,
		`hour|hours|stunde|stunden|hora|horas|heure|heures|小时|小時|个小时|個小時|時間`,
		`day|days|tag|tage|tagen|dia|dias|jour|jours|天|日間`,
		`week|weeks|woche|wochen|semana|semanas|semaine|semaines|周|週|个星期|個星期|星期|礼拜|个礼拜|週間`,
		`month|months|monat|monate|monaten|monats|mes|meses|mois|个月|個月|ヶ月|か月|カ月|ヵ月|箇月|ヶ月間|か月間`,
		`year|years|jahr|jahre|jahren|jahres|ano|anos|ans|annee|annees|年間`,
		`weekend|week end|wochenende|fin de semana|周末|週末`)
	each(season,
		`fruhling|fruhjahr|fruehling|fruehjahr|primavera|printemps|春|春天|春季`,
		`summer|sommer|verano|夏|夏天|夏季`,
		`autumn|herbst|otono|automne|秋|秋天|秋季`,
		`winter|invierno|hiver|冬|冬天|冬季`)
	add(`spring`, piece{kind: season, value: spring, weak: true})
	add(`ete`, piece{kind: season, value: summer, weak: true})
	add(`fall`, piece{kind: season, value: autumn, weak: true})
	for i, list := range []string{
		`january|januar|janner|jaenner|enero|janvier`, `february|februar|febrero|fevrier`, `marz|maerz|marzo`, `april|abril|avril`,
		`mayo`, `june|juni|junio|juin`, `july|juli|julio|juillet`, `agosto|aout`, `september|septiembre|setiembre|septembre`,
		`october|oktober|octubre|octobre`, `november|noviembre|novembre`, `december|dezember|diciembre|decembre`,
	} {
		add(list, piece{kind: monthName, value: i + 1})
	}
	for i, list := range []string{"jan", "feb", "march|mar|mars", "apr", "may|mai", "jun", "jul", "august|aug", "sep|sept", "oct|okt", "nov", "dec|dez"} {
		add(list, piece{kind: monthName, value: i + 1, weak: true})
	}
	for i, list := range []string{
		`sunday|sonntag|domingo|dimanche`, `monday|montag|lunes|lundi`, `tuesday|dienstag|martes|mardi`, `wednesday|mittwoch|miercoles|mercredi`,
		`thursday|donnerstag|jueves|jeudi`, `friday|freitag|viernes|vendredi`, `saturday|samstag|sonnabend|sabado|samedi`,
	} {
		add(list, piece{kind: weekday, value: i})
	}
	each(dayPart,
		`morning|fruh|frueh|por la manana|de la manana|matin|早上|上午|朝|午前`,
		`afternoon|nachmittag|nachmittags|por la tarde|de la tarde|apres midi|下午|午後`,
		`evening|abend|abends|por la noche|de la noche|soir|晚上|晩|夕方`,
		`night|nacht|noche|nuit|夜里|夜裡|夜`)
	for days, list := range map[int]string{
		-2: `day before yesterday|vorgestern|anteayer|antier|avant hier|前天|一昨日|おととい`,
		-1: `yesterday|gestern|ayer|hier|昨天|昨日|きのう`,
		0:  `today|heute|hoy|aujourd hui|今天|今日|きょう|本日`,
		1:  `tomorrow|morgen|manana|demain|明天|明日|あした`,
		2:  `day after tomorrow|ubermorgen|uebermorgen|pasado manana|apres demain|后天|後天|明後日`,
	} {
		add(list, piece{kind: dayName, value: days})
	}
	for list, p := range map[string][2]int{
		"tonight|heute abend|esta noche|ce soir|今晚|今夜|今晩":                   {0, evening},
		"heute morgen|heute fruh|esta manana|ce matin|今早|今天早上|今朝":           {0, morning},
		"esta tarde|cet apres midi|heute nachmittag|今天下午":                   {0, afternoon},
		"last night|anoche|hier soir|gestern abend|昨晚|昨夜|昨晩|ゆうべ":            {-1, night},
		"gestern morgen|gestern fruh|ayer por la manana|hier matin|昨天早上|昨朝": {-1, morning},
		"gestern nacht|letzte nacht|la nuit derniere|cette nuit":            {-1, night},
	} {
		add(list, piece{kind: dayName, value: p[0]}, piece{kind: dayPart, value: p[1]})
	}
	add(`l an dernier|l an passe|antano|去年|昨年`, piece{kind: relative, value: -1}, piece{kind: unit, value: int(years)})
	add(`前年|一昨年`, piece{kind: relative, value: -2}, piece{kind: unit, value: int(years)})
	add(`今年`, piece{kind: relative}, piece{kind: unit, value: int(years)})
	add(`来年|明年`, piece{kind: relative, value: 1}, piece{kind: unit, value: int(years)})
	add(`先月|上月|上个月|上個月`, piece{kind: relative, value: -1}, piece{kind: unit, value: int(months)})
	add(`今月|本月|这个月|這個月`, piece{kind: relative}, piece{kind: unit, value: int(months)})
	add(`来月|下月|下个月|下個月`, piece{kind: relative, value: 1}, piece{kind: unit, value: int(months)})
	add(`先週|先周`, piece{kind: relative, value: -1}, piece{kind: unit, value: int(weeks)})
	add(`先々週`, piece{kind: relative, value: -2}, piece{kind: unit, value: int(weeks)})
	add(`今週`, piece{kind: relative}, piece{kind: unit, value: int(weeks)})
	add(`来週`, piece{kind: relative, value: 1}, piece{kind: unit, value: int(weeks)})
	add(`un an`, piece{kind: number, value: 1}, piece{kind: unit, value: int(years)})
	add(`昨夏`, piece{kind: relative, value: -1}, piece{kind: season, value: summer})

	for n, list := range []string{
		1: `a|an|one|eine|einem|einer|einen|eines|un|una|uno|une`, 2: `two|a couple of|couple of|zwei|dos|deux`, 3: `three|a few|few|several|drei|ein paar|einigen|tres|trois|quelques|algunos|unos|几|幾|数`,
		4: `four|vier|cuatro|quatre`, 5: `five|funf|fuenf|cinco|cinq`, 6: `six|sechs|seis`, 7: `seven|sieben|siete`, 8: `eight|acht|ocho|huit`,
		9: `nine|neun|nueve|neuf`, 10: `ten|zehn|diez|dix`, 11: `eleven|elf|once|onze`, 12: `twelve|zwolf|zwoelf|doce|douze`,
	} {
		add(list, piece{kind: number, value: n})
	}
	add(`lines|bytes|files|rows|chars|characters|tokens|words|requests|messages|ms|seconds|chunks|steps|items|entries|users|zeilen|zeichen|lineas|lignes`, piece{kind: thing})
	add("年", piece{kind: yearMark})
	add("月|月份", piece{kind: monthMark})
	add("日|号|號", piece{kind: dayMark})
	cjkWeekdays(add)
	return all
}

// cjkWeekdays adds 周三, 上周三, 水曜日 and the like.
func cjkWeekdays(add func(list string, pieces ...piece)) {
	for i, r := range []rune("日一二三四五六") {
		day := piece{kind: weekday, value: i}
		for _, week := range strings.Split("周|週|星期|礼拜|禮拜", "|") {
			names := []string{week + string(r)}
			if i == 0 {
				names = append(names, week+"天")
			}
			for _, name := range names {
				add(name, day)
				add(fmt.Sprintf("每%s|每个%s|毎%s", name, name, name), piece{kind: every}, day)
				for n, prefixes := range map[int]string{-1: "上|上个|上個", 0: "这|這|本|这个", 1: "下|下个|下個"} {
					for _, prefix := range strings.Split(prefixes, "|") {
						add(prefix+name, day, piece{kind: relative, value: n}, piece{kind: unit, value: int(weeks)})
					}
				}
			}
		}
	}
	for i, r := range []rune("日月火水木金土") {
		add(fmt.Sprintf("%c曜日|%c曜", r, r), piece{kind: weekday, value: int(time.Sunday) + i})
		add(fmt.Sprintf("毎週%c曜日|毎週%c曜", r, r), piece{kind: every}, piece{kind: weekday, value: i})
	}
}
