package when

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/text/lazy"
)

// named are the forms of a date in numbers: 2026-09-01, also with _ . / or blanks or without them
// and with a time behind (20260901093000); 01.09.2026; 2026-W36 and 2026-KW36; 2026-Q3; 2026-09.
var named = lazy.Regexp(`(?i)(?:^|[^\pL\pN])(?:` +
	`(?P<y1>\d{4})(?:-(?P<m1>\d\d?)-(?P<d1>\d\d?)|/(?P<m2>\d\d?)/(?P<d2>\d\d?)|_(?P<m3>\d\d)_(?P<d3>\d\d)|\.(?P<m4>\d\d)\.(?P<d4>\d\d)| (?P<m5>\d\d) (?P<d5>\d\d)|(?P<m6>\d\d)(?P<d6>\d\d)(?:\d{4}|\d{6})?)` +
	`|(?P<d7>\d\d?)\.(?P<m7>\d\d?)\.(?P<y7>\d{4})` +
	`|(?P<y8>\d{4})[-_ ]?K?W ?(?P<w8>\d\d?)(?:-[1-7])?` +
	`|(?P<y9>\d{4})[-_ ]?Q(?P<q9>[1-4])` +
	`|(?P<y10>\d{4})[-_](?P<m10>\d\d)` +
	`)(T\d|[^\pL\pN]|$)`)

var yearInText = lazy.Regexp(`\d{4}`)

// Named returns the day, or at the beginning the week, month or quarter, that a name gives: that of
// a file, such as "2026-09-01 Meeting", "2026_09_01" or "2026-W36", a heading, such as "Tuesday, 1
// September 2026", or a value. Without a year it is none.
func Named(text string, in *time.Location) (s Span, ok bool) {
	if len(text) > maxText || !yearInText().MatchString(text) {
		return Span{}, false
	}
	c := calendar{time.Date(lastYear, 12, 31, 0, 0, 0, 0, in)}
	for from := 0; from < len(text); {
		m := named().FindStringSubmatchIndex(text[from:])
		if m == nil {
			break
		}
		if s, ok := c.numbers(text[from:], m); ok && s.isNamed(text, from) && !isNumber(text[:from+s.Start], text[from+s.Start:from+s.End]) {
			return s.moved(from), true
		}
		from += max(m[1]-1, m[0]+1)
	}
	text = strings.ReplaceAll(text, "_", " ")
	spans := slices.DeleteFunc(Parse(text, c.now), func(s Span) bool { // such as the day of the week
		return s.From.IsZero() || !yearInText().MatchString(text[s.Start:s.End])
	})
	if len(spans) != 1 {
		return Span{}, false
	}
	return spans[0], spans[0].isNamed(text, 0)
}

// counted matches what stands before the number of a ticket, an invoice or a telephone.
var counted = lazy.Regexp(`(?:\b\p{Lu}[\p{Lu}\d]+[- :]|[#№]|\+\d{1,3}[ -]|(?i:\b(?:id|nos?|nr|num(?:ber)?|nummer|ticket|issue|pr|error|code|invoice|order|case|bug|task|rechnung|auftrag|kunde|tel(?:efon)?|phone|port)\b[-_ .:#]+))$`)

// isNumber reports whether digits that could be a date are a number of something else.
func isNumber(before, digits string) bool {
	return strings.Trim(digits, "0123456789") == "" && counted().MatchString(before)
}

func (s Span) moved(by int) Span {
	s.Start, s.End = s.Start+by, s.End+by
	return s
}

// isNamed reports whether a span can be the time of what has this name: more than a day only if the
// name begins with it.
func (s Span) isNamed(text string, from int) bool {
	length := s.To.Sub(s.From)
	return length < 36*time.Hour || length < 100*24*time.Hour && strings.Trim(text[:from+s.Start], "#*_([ \t") == ""
}

// numbers reads a match of named.
func (c calendar) numbers(text string, m []int) (s Span, ok bool) {
	value := map[byte]int{}
	start, end := len(text), 0
	for i, name := range named().SubexpNames() {
		if name == "" || m[2*i] < 0 {
			continue
		}
		value[name[0]], _ = strconv.Atoi(text[m[2*i]:m[2*i+1]])
		start, end = min(start, m[2*i]), max(end, m[2*i+1])
	}
	year, hasMonth := value['y'], value['m'] > 0
	switch {
	case year < firstYear || year > lastYear:
	case value['d'] > 0 && hasMonth:
		s, ok = c.on(year, time.Month(value['m']), value['d'])
	case value['w'] >= 1 && value['w'] <= 53:
		s, ok = c.isoWeek(year, value['w'])
	case value['q'] > 0:
		from := c.date(year, time.Month(3*value['q']-2), 1)
		s, ok = Span{From: from, To: from.AddDate(0, 3, 0)}, true
	case hasMonth && value['m'] <= 12:
		s, ok = c.month(year, time.Month(value['m'])), true
	}
	s.Start, s.End = start, end
	return s, ok
}

// isoWeek returns the week of a year that has its Thursday; ok is false if the year has none of
// this number.
func (c calendar) isoWeek(year, week int) (s Span, ok bool) {
	fourth := c.date(year, 1, 4) // is in the first week
	monday := fourth.AddDate(0, 0, 7*(week-1)-fromMonday(fourth.Weekday()))
	y, w := monday.ISOWeek()
	return Span{From: monday, To: monday.AddDate(0, 0, 7)}, y == year && w == week
}
