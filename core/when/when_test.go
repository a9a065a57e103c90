package when

import (
	"strings"
	"testing"
	"time"
)

// now is a Wednesday afternoon.
var now = time.Date(2026, 11, 18, 15, 30, 0, 0, time.FixedZone("CET", 3600))

// show writes spans as people write dates: "2026-11-09/2026-11-16", the end excluded.
func show(spans []Span) string {
	var all []string
	for _, s := range spans {
		all = append(all, showTime(s.From)+"/"+showTime(s.To))
	}
	return strings.Join(all, " ")
}

func showTime(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case t.Hour() == 0 && t.Minute() == 0:
		return t.Format("2006-01-02")
	}
	return t.Format("2006-01-02T15:04")
}

func TestParse(t *testing.T) {
	const (
		lastWeek  = "2026-11-09/2026-11-16"
		yesterday = "2026-11-17/2026-11-18"
		tuesday   = yesterday
		threeAgo  = "2026-11-15/2026-11-16"
		march     = "2026-03-01/2026-04-01"
		lastMonth = "2026-10-01/2026-11-01"
		lastYear  = "2025-01-01/2026-01-01"
		may7      = "2023-05-07/2023-05-08"
		spring23  = "2023-03-01/2023-06-01"
		y2023     = "2023-01-01/2024-01-01"
	)
	for text, want := range map[string]string{
		"what did we decide last week?":   lastWeek,
		"what did we do yesterday":        yesterday,
		"what was yesterday's plan":       yesterday,
		"what did I tell you on Tuesday":  tuesday,
		"Tuesday":                         tuesday,
		"what was decided on Wednesday":   "2026-11-11/2026-11-12",
		"last Friday we":                  "2026-11-13/2026-11-14",
		"this Friday":                     "2026-11-20/2026-11-21",
		"Monday last week":                "2026-11-09/2026-11-10",
		"in March":                        march,
		"in November":                     "2026-11-01/2026-12-01",
		"in December":                     "2025-12-01/2026-01-01",
		"last November":                   "2025-11-01/2025-12-01",
		"last March":                      march,
		"March last year":                 "2025-03-01/2025-04-01",
		"in the spring of 2023":           spring23,
		"last summer":                     "2026-06-01/2026-09-01",
		"in the fall":                     "2026-09-01/2026-12-01",
		"winter 2023":                     "2022-12-01/2023-03-01 2023-12-01/2024-03-01",
		"two days ago":                    "2026-11-16/2026-11-17",
		"a week ago":                      lastWeek,
		"3 months ago":                    "2026-08-01/2026-09-01",
		"an hour ago":                     "2026-11-18T14:00/2026-11-18T15:00",
		"a couple of days ago":            "2026-11-16/2026-11-17",
		"on 7 May 2023":                   may7,
		"on the 7th of May 2023":          may7,
		"May 7, 2023":                     may7,
		"May 7th, 2023":                   may7,
		"7 may 2023":                      may7,
		"on May 7":                        "2026-05-07/2026-05-08",
		"on 24 Dec":                       "2025-12-24/2025-12-25",
		"2023-05-07":                      may7,
		"the log of 2023-05-07T10:11:12Z": may7,
		"2023/05/07":                      may7,
		"7.5.2023":                        may7,
		"07.05.2023.":                     may7,
		"05/07/2023":                      "2023-07-05/2023-07-06 " + may7,
		"13/07/2023":                      "2023-07-13/2023-07-14",
		"07/07/2023":                      "2023-07-07/2023-07-08",
		"in May":                          "2026-05-01/2026-06-01",
		"May 2023":                        "2023-05-01/2023-06-01",
		"since Monday":                    "2026-11-16/2026-11-19",
		"since last week":                 "2026-11-09/2026-11-19",
		"since March":                     "2026-03-01/2026-11-19",
		"before March":                    "/2026-03-01",
		"after yesterday":                 "2026-11-18/2026-11-19",
		"until yesterday":                 "/2026-11-18",
		"this morning":                    "2026-11-18T04:00/2026-11-18T12:00",
		"yesterday evening":               "2026-11-17T17:00/2026-11-18",
		"last night":                      "2026-11-17T18:00/2026-11-18T06:00",
		"on Monday morning":               "2026-11-16T04:00/2026-11-16T12:00",
		"today":                           "2026-11-18/2026-11-19",
		"this week":                       "2026-11-16/2026-11-23",
		"last month":                      lastMonth,
		"this year":                       "2026-01-01/2027-01-01",
		"in 2023":                         y2023,
		"in the year 2023":                y2023,
		"in the last 3 days":              "2026-11-15/2026-11-19",
		"over the past week":              "2026-11-11/2026-11-19",
		"the last two weeks":              "2026-11-04/2026-11-19",
		"in the last hour":                "2026-11-18T14:30/2026-11-18T15:30",
		"over the weekend":                "2026-11-14/2026-11-16",
		"the past weekend":                "2026-11-14/2026-11-16",
		"last weekend":                    "2026-11-14/2026-11-16",
		"the day before yesterday":        "2026-11-16/2026-11-17",
		"next Tuesday":                    "2026-11-24/2026-11-25",
		"tomorrow":                        "2026-11-19/2026-11-20",
		"between March and May":           "2026-03-01/2026-06-01",
		"from Monday to Tuesday":          "2026-11-16/2026-11-18",
		"from November to March":          "2025-11-01/2026-04-01",
		"zwischen März und Mai":           "2026-03-01/2026-06-01",
		"entre mars et mai":               "2026-03-01/2026-06-01",
		"from Monday on":                  "2026-11-16/2026-11-17",
		"what changed last week and what yesterday": lastWeek + " " + yesterday,

		"was haben wir letzte Woche entschieden": lastWeek,
		"vorige Woche":                           lastWeek,
		"gestern":                                yesterday,
		"vorgestern":                             "2026-11-16/2026-11-17",
		"heute Morgen":                           "2026-11-18T04:00/2026-11-18T12:00",
		"gestern Abend":                          "2026-11-17T18:00/2026-11-18T06:00",
		"am Dienstag":                            tuesday,
		"letzten Dienstag":                       tuesday,
		"Montag letzter Woche":                   "2026-11-09/2026-11-10",
		"vor drei Tagen":                         threeAgo,
		"vor 3 Tagen":                            threeAgo,
		"vor ein paar Tagen":                     threeAgo,
		"vor einem Monat":                        lastMonth,
		"im März":                                march,
		"im Maerz 2023":                          "2023-03-01/2023-04-01",
		"am 7. Mai 2023":                         may7,
		"im Frühjahr 2023":                       spring23,
		"letzten Sommer":                         "2026-06-01/2026-09-01",
		"im Jahr 2023":                           y2023,
		"letztes Jahr":                           lastYear,
		"letzten Monat":                          lastMonth,
		"seit Montag":                            "2026-11-16/2026-11-19",
		"seit drei Tagen":                        "2026-11-15/2026-11-19",
		"in den letzten drei Tagen":              "2026-11-15/2026-11-19",
		"vor März":                               "/2026-03-01",
		"am Wochenende":                          "2026-11-14/2026-11-16",

		"qué decidimos la semana pasada":        lastWeek,
		"ayer":                                  yesterday,
		"ayer por la mañana":                    "2026-11-17T04:00/2026-11-17T12:00",
		"esta mañana":                           "2026-11-18T04:00/2026-11-18T12:00",
		"anteayer":                              "2026-11-16/2026-11-17",
		"el martes":                             tuesday,
		"el martes pasado":                      tuesday,
		"el lunes de la semana pasada":          "2026-11-09/2026-11-10",
		"hace tres días":                        threeAgo,
		"en marzo":                              march,
		"en marzo de 2023":                      "2023-03-01/2023-04-01",
		"en marzo del año pasado":               "2025-03-01/2025-04-01",
		"el 7 de mayo de 2023":                  may7,
		"en la primavera de 2023":               spring23,
		"el verano pasado":                      "2026-06-01/2026-09-01",
		"el mes pasado":                         lastMonth,
		"el año pasado":                         lastYear,
		"en 2023":                               y2023,
		"desde el lunes":                        "2026-11-16/2026-11-19",
		"desde hace tres días":                  "2026-11-15/2026-11-19",
		"los últimos tres días":                 "2026-11-15/2026-11-19",
		"antes de marzo":                        "/2026-03-01",
		"el fin de semana pasado":               "2026-11-14/2026-11-16",
		"qu'avons-nous dit la semaine dernière": lastWeek,
		"hier":                                  yesterday,
		"avant-hier":                            "2026-11-16/2026-11-17",
		"ce matin":                              "2026-11-18T04:00/2026-11-18T12:00",
		"mardi":                                 tuesday,
		"mardi dernier":                         tuesday,
		"lundi de la semaine dernière":          "2026-11-09/2026-11-10",
		"il y a trois jours":                    threeAgo,
		"il y a un mois":                        lastMonth,
		"en mars":                               march,
		"au mois de mars":                       march,
		"le 7 mai 2023":                         may7,
		"le 1er mai 2023":                       "2023-05-01/2023-05-02",
		"au printemps 2023":                     spring23,
		"l'été dernier":                         "2026-06-01/2026-09-01",
		"le mois dernier":                       lastMonth,
		"l'an dernier":                          lastYear,
		"l'année dernière":                      lastYear,
		"depuis lundi":                          "2026-11-16/2026-11-19",
		"les trois derniers jours":              "2026-11-15/2026-11-19",
		"aujourd'hui":                           "2026-11-18/2026-11-19",
		"avant mars":                            "/2026-03-01",

		"上周我们决定了什么":    lastWeek,
		"上个星期":         lastWeek,
		"上週":           lastWeek,
		"昨天":           yesterday,
		"昨天早上":         "2026-11-17T04:00/2026-11-17T12:00",
		"前天":           "2026-11-16/2026-11-17",
		"周二我跟你说了什么":    tuesday,
		"星期二":          tuesday,
		"上周一":          "2026-11-09/2026-11-10",
		"三天前":          threeAgo,
		"3天之前":         threeAgo,
		"三个月前":         "2026-08-01/2026-09-01",
		"上个月":          lastMonth,
		"三月":           march,
		"去年":           lastYear,
		"去年三月":         "2025-03-01/2025-04-01",
		"2023年5月7日":    may7,
		"2023年5月":      "2023-05-01/2023-06-01",
		"2023年春天":      spring23,
		"2023年":        y2023,
		"5月7号":         "2026-05-07/2026-05-08",
		"十二月二十四日":      "2025-12-24/2025-12-25",
		"从周一":          "2026-11-16/2026-11-19",
		"周一以来":         "2026-11-16/2026-11-19",
		"过去三天":         "2026-11-15/2026-11-19",
		"今天早上":         "2026-11-18T04:00/2026-11-18T12:00",
		"周末我们在周末做了什么":  "",
		"先週何を決めましたか":   lastWeek,
		"昨日":           yesterday,
		"一昨日":          "2026-11-16/2026-11-17",
		"火曜日に何を言いましたか": tuesday,
		"先週の月曜日":       "2026-11-09/2026-11-10",
		"三日前":          threeAgo,
		"3日前":          threeAgo,
		"３か月前":         "2026-08-01/2026-09-01",
		"先月":           lastMonth,
		"3月に":          march,
		"昨年":           lastYear,
		"去年の夏":         "2025-06-01/2025-09-01",
		"2023年の春":      spring23,
		"月曜から":         "2026-11-16/2026-11-19",
		"今朝":           "2026-11-18T04:00/2026-11-18T12:00",
		"過去3日間":        "2026-11-15/2026-11-19",
	} {
		if got := show(Parse(text, now)); got != want {
			t.Errorf("Parse(%q) = %s, want %s", text, got, want)
		}
	}
}

// Words that only look like dates.
func TestParseFindsNoDate(t *testing.T) {
	for _, text := range []string{
		"", "you may restart it", "May I?", "march forward", "they march 5 miles", "version 2023.1", "version 1.2.2023.4", "v1.2.2023", "port 5433", "localhost:2023",
		"the second test", "in a second", "give me a minute", "last time", "the last commit", "the last 3 commits", "this file", "next step", "past tense",
		"spring boot", "in spring boot", "fall back", "the week this happened", "every Monday", "on Mondays", "jeden Montag", "cada lunes", "毎週月曜日", "每周一", "一周一次",
		"in 2048 bytes", "in 2000 lines", "in 1024", "at 2023 bytes", "10.5.2023.1", "CVE-2023-05-07", "path/2023-05-07/x", "last_week", "lastWeek", "today.md", "src/today",
		"yesterday.go:12", "2023-13-45", "31.04.2023", "99/99/2023", "1-2-3", "0.5.2023", "task 003", "#12", "PR 170", "2 weeks of work", "24h", "7d", "sun", "mon", "sat",
		"I am one of a few", "sept", "ago", "since", "before we go", "the day", "monat", "an", "été", "il y a", "hace", "vor", "月", "日本", "前", "一起", "三明治", "日记", "いつも",
		"999999999999 days ago", "5000 years ago", "99999999999999999999", "december", "March", "the letter a", "Address 3, 8, 11", "0 days ago", "fix it and may I ask", "on 31 April",
	} {
		if got := Parse(text, now); len(got) > 0 {
			t.Errorf("Parse(%q) = %s, want nothing", text, show(got))
		}
	}
}

// The bytes of a span are the words that name it.
func TestParsePlaces(t *testing.T) {
	for text, want := range map[string]string{
		"what did we decide last week?":      "last week",
		"Was war am 7. Mai 2023 los":         "7. Mai 2023",
		"since Monday, please":               "since Monday",
		"上周我们决定了什么":                          "上周",
		"qu'avons-nous dit l'année dernière": "année dernière",
	} {
		spans := Parse(text, now)
		if len(spans) != 1 || text[spans[0].Start:spans[0].End] != want {
			t.Errorf("Parse(%q) = %+v, want one span, of %q", text, spans, want)
		}
	}
}

// Days follow now's location, even with 23 hours.
func TestParseLocation(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here")
	}
	s := Parse("yesterday", time.Date(2026, 3, 30, 0, 30, 0, 0, berlin))
	if len(s) != 1 || s[0].To.Sub(s[0].From) != 23*time.Hour || s[0].From.Location() != berlin {
		t.Errorf("yesterday of 30 March in Berlin is %+v, want the 23 hours of the 29th", s)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"what did we decide last week", "7. Mai 2023", "05/07/2023", "il y a trois jours", "2023年5月7日から", "上周三之前", "since since Monday before", "l'an dernier 99 99",
		"1234567890123 days ago", "\xff last \xffweek", "in 2023 in 2023", "十十十 一一 月月", "every every", "29 February", "de la de la lundi",
	} {
		f.Add(seed, int64(1_794_000_000))
	}
	f.Fuzz(func(t *testing.T, text string, seconds int64) {
		now := time.Unix(seconds%4_000_000_000, 0).UTC()
		end := 0
		for _, s := range Parse(text, now) {
			if !s.To.After(s.From) {
				t.Errorf("%q: span from %v to %v", text, s.From, s.To)
			}
			if s.Start < 0 || s.End <= s.Start || s.End > len(text) || s.Start < end && s.End != end {
				t.Errorf("%q: a span of bytes %d to %d behind %d", text, s.Start, s.End, end)
			}
			end = s.End
		}
	})
}

func BenchmarkParseNothing(b *testing.B) {
	text := strings.Repeat("I changed the nginx rules. What do I have to do now? ", 5)
	for b.Loop() {
		Parse(text, now)
	}
}
