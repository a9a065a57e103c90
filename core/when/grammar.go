package when

import "time"

// A parser reads spans from tokens.
type parser struct {
	tokens
	ranges bool // "and" continues a range
	calendar
}

// expression includes bounds; end is at without a span.
func (p parser) expression(at int) (spans []Span, end int) {
	switch first := p.tokens[at]; {
	case first.kind == every:
		_, end := p.span(p.skip(at + 1))
		return nil, max(end, at+1)
	case first.kind == rangeFrom:
		return p.between(at)
	case first.kind == since || first.kind == until || first.kind == before || first.kind == after || first.kind == agoBefore && first.value == 1:
		if n, of, end := p.amount(at); end > at && first.kind != since {
			return []Span{p.whole(-n, of)}, end
		}
		if n, of, end := p.duration(at + 1); end > at+1 && first.kind == since {
			return []Span{p.back(n, of)}, end
		}
		from := p.skip(at + 1)
		if spans, end := p.span(from); end > from {
			return p.bounded(first.kind, spans), end
		}
		return nil, at
	}
	from := at
	if spans, end = p.span(from); end == from {
		return nil, at
	}
	if next, ok := p.at(end); ok {
		switch next.kind {
		case sinceAfter:
			return p.bounded(since, spans), end + 1
		case beforeLast:
			return p.bounded(before, spans), end + 1
		}
	}
	return spans, end
}

// between reads from Monday to Wednesday, between March and May.
func (p parser) between(at int) ([]Span, int) {
	from := p.skip(at + 1)
	first, end := p.span(from)
	if end == from {
		return nil, at
	}
	t, ok := p.at(end)
	p.ranges = true
	if to := p.skip(end + 1); ok && (t.kind == rangeTo || t.kind == until) {
		if last, behind := p.span(to); behind > to {
			s := Span{From: first[0].From, To: last[len(last)-1].To}
			if s.To.Before(s.From) { // from November to March: the last March is before the last November
				s.From = s.From.AddDate(-1, 0, 0)
			}
			return []Span{s}, behind
		}
	}
	return first, end
}

// bounded returns the time since, until, before or after each span.
func (p parser) bounded(by kind, spans []Span) []Span {
	end := p.day(0).To
	all := make([]Span, 0, len(spans))
	for _, s := range spans {
		switch by {
		case since:
			s.To = end
		case after:
			s = Span{From: s.To, To: end}
		case until:
			s.From = time.Time{}
		default:
			s = Span{To: s.From}
		}
		all = append(all, s)
	}
	return all
}

// span reads one span, if any; else end is at.
func (p parser) span(at int) (spans []Span, end int) {
	if at >= len(p.tokens) {
		return nil, at
	}
	switch p.tokens[at].kind {
	case other, filler, preposition, rangeTo, thing:
		return nil, at // nothing begins with these
	}
	for _, rule := range []func(int) ([]Span, int){p.digits, p.dayOfMonth, p.monthOf, p.cjkDate, p.dayNamed, p.weekdayNamed, p.seasonOf, p.counted, p.related, p.yearAlone} {
		if spans, end = rule(at); end > at {
			return spans, end
		}
	}
	return nil, at
}

// in reports whether a preposition, since or the like precedes.
func (p parser) in(at int) (preceded, article bool) {
	for at--; at >= 0 && !p.tokens[at+1].apart; at-- {
		switch k := p.tokens[at].kind; k {
		case rangeTo:
			return p.ranges, article
		case filler:
			article = true
			continue
		case preposition, rangeFrom, since, until, before, after, agoBefore:
			return true, article
		}
		return false, article
	}
	return false, article
}

// digits reads a date in digits.
func (p parser) digits(at int) (spans []Span, end int) {
	if !p.is(at, date) {
		return nil, at
	}
	for _, d := range p.tokens[at].dates {
		if s, ok := p.on(d.year, time.Month(d.month), d.day); ok {
			spans = append(spans, s)
		}
	}
	return spans, at + 1
}

// dayOfMonth reads 7 May 2023, May 7th, 7 de mayo.
func (p parser) dayOfMonth(at int) ([]Span, int) {
	day, month, end := token{}, token{}, at
	switch next := p.skip(at + 1); {
	case p.is(at, number) && p.tokens[at].value <= 31 && p.is(next, monthName) && !p.tokens[next].apart:
		day, month, end = p.tokens[at], p.tokens[next], next+1
	case p.is(at, monthName, number) && p.tokens[at+1].value <= 31 && p.tokens[at+1].digits > 0:
		day, month, end = p.tokens[at+1], p.tokens[at], at+2
	default:
		return nil, at
	}
	preceded, _ := p.in(at)
	if day.digits == 0 && day.value != 1 || month.weak && !month.capital && !preceded && !p.isYear(p.skip(end)) {
		return nil, at
	}
	if next := p.skip(end); p.isYear(next) {
		if s, ok := p.on(p.tokens[next].value, time.Month(month.value), day.value); ok {
			return []Span{s}, next + 1
		}
		return nil, at
	}
	if s, ok := p.onLast(time.Month(month.value), day.value); ok {
		return []Span{s}, end
	}
	return nil, at
}

// monthOf reads March 2023, last March, mars dernier, März letzten Jahres.
func (p parser) monthOf(at int) ([]Span, int) {
	if p.is(at, relative, monthName) {
		return p.relatedMonth(p.tokens[at].value, p.tokens[at+1].value), at + 2
	}
	if !p.is(at, monthName) {
		return nil, at
	}
	t := p.tokens[at]
	month := time.Month(t.value)
	next := p.skip(at + 1)
	preceded, _ := p.in(at)
	if n, end := p.relatedTo(next, years); end > next {
		return []Span{p.month(p.now.Year()+n, month)}, end
	}
	switch {
	case p.isYear(next):
		return []Span{p.month(p.tokens[next].value, month)}, next + 1
	case p.is(at, monthName, relative) && p.tokens[at+1].after:
		return p.relatedMonth(p.tokens[at+1].value, t.value), at + 2
	case preceded:
		return []Span{p.monthLast(month)}, at + 1
	}
	return nil, at
}

// relatedTo reads last year, letzter Woche, año pasado.
func (p parser) relatedTo(at int, of measure) (n, end int) {
	switch {
	case at >= len(p.tokens) || p.tokens[at].apart:
	case p.is(at, relative, unit) && p.measure(at+1) == of:
		return p.tokens[at].value, at + 2
	case p.is(at, unit, relative) && p.measure(at) == of && p.tokens[at+1].after:
		return p.tokens[at+1].value, at + 2
	}
	return 0, at
}

// relatedMonth is last, this or next March.
func (p parser) relatedMonth(n, month int) []Span {
	s := p.monthLast(time.Month(month))
	switch {
	case n < 0 && s.Contains(p.now):
		s = p.month(p.now.Year()-1, time.Month(month))
	case n > 0:
		s = p.month(s.From.Year()+1, time.Month(month))
	case n == 0:
		s = p.month(p.now.Year(), time.Month(month))
	}
	return []Span{s}
}

// cjkDate reads 2023年5月7日, 5月7日, 去年三月, 2023年春, 2023年, 三月.
func (p parser) cjkDate(at int) ([]Span, int) {
	year, i := 0, at
	switch {
	case p.isYear(at) && p.is(at, number, yearMark):
		year, i = p.tokens[at].value, at+2
	case p.is(at, relative, unit) && p.measure(at+1) == years:
		year, i = p.now.Year()+p.tokens[at].value, at+2
	}
	named := i
	if year != 0 {
		i = p.skip(i)
	}
	switch {
	case p.is(i, number, monthMark) && (i == at || !p.tokens[i].apart) && p.tokens[i].value >= 1 && p.tokens[i].value <= 12:
		month := time.Month(p.tokens[i].value)
		if p.is(i+2, number, dayMark) && !p.tokens[i+2].apart {
			day := p.tokens[i+2].value
			s, ok := p.on(year, month, day)
			if year == 0 {
				s, ok = p.onLast(month, day)
			}
			if ok {
				return []Span{s}, i + 4
			}
			return nil, at
		}
		if year == 0 {
			return []Span{p.monthLast(month)}, i + 2
		}
		return []Span{p.month(year, month)}, i + 2
	case year != 0 && p.is(i, season) && !p.tokens[i].apart:
		return p.season(year, p.tokens[i].value), i + 1
	case year != 0 && p.is(named-1, yearMark) && !p.is(named, agoAfter):
		return []Span{p.calendar.year(year)}, named
	}
	return nil, at
}

// dayNamed reads yesterday, yesterday morning, this morning.
func (p parser) dayNamed(at int) ([]Span, int) {
	if p.is(at, relative, dayPart) {
		return []Span{part(p.day(p.tokens[at].value).From, p.tokens[at+1].value)}, at + 2
	}
	if !p.is(at, dayName) {
		return nil, at
	}
	day := p.day(p.tokens[at].value)
	if end, of := p.partAfter(at + 1); end > at+1 {
		return []Span{part(day.From, of)}, end
	}
	return []Span{day}, at + 1
}

// partAfter reads a part of the day before it.
func (p parser) partAfter(at int) (end, of int) {
	i := at
	for i < at+2 && (p.is(i, preposition) || p.is(i, filler)) && !p.tokens[i].apart {
		i++
	}
	if t, ok := p.at(i); ok && t.kind == dayPart {
		return i + 1, t.value
	}
	return at, 0
}

// weekdayNamed reads Tuesday, el martes pasado, Montag letzter Woche, 上周三.
func (p parser) weekdayNamed(at int) ([]Span, int) {
	var s Span
	end := at
	next := p.skip(at + 1)
	n, ofWeek := p.relatedTo(next, weeks)
	switch {
	case p.is(at, relative, weekday):
		s, end = p.relatedWeekday(p.tokens[at].value, p.tokens[at+1].value), at+2
	case p.is(at, weekday) && ofWeek > next:
		s, end = p.weekdayOf(n, time.Weekday(p.tokens[at].value)), ofWeek
	case p.is(at, weekday, relative) && p.tokens[at+1].after:
		s, end = p.relatedWeekday(p.tokens[at+1].value, p.tokens[at].value), at+2
	case p.is(at, weekday) && at > 0 && p.tokens[at-1].kind == number && p.tokens[at-1].end == p.tokens[at].start:
		return nil, at // 一周一次, once a week
	case p.is(at, weekday):
		s, end = p.weekday(time.Weekday(p.tokens[at].value)), at+1
	case p.is(at, relative, unit) && p.measure(at+1) == weeks && p.is(p.skip(at+2), weekday) && !p.tokens[p.skip(at+2)].apart: // 先週の月曜日
		end = p.skip(at+2) + 1
		s = p.weekdayOf(p.tokens[at].value, time.Weekday(p.tokens[end-1].value))
	default:
		return nil, at
	}
	if after, of := p.partAfter(end); after > end {
		return []Span{part(s.From, of)}, after
	}
	return []Span{s}, end
}

// relatedWeekday is last, this or next Tuesday.
func (p parser) relatedWeekday(n, day int) Span {
	if n < 0 {
		return p.weekday(time.Weekday(day))
	}
	return p.weekdayOf(n, time.Weekday(day))
}

// seasonOf reads last summer, im Herbst. Ambiguous words need "the".
func (p parser) seasonOf(at int) ([]Span, int) {
	if p.is(at, relative, season) {
		return []Span{p.relatedSeason(p.tokens[at].value, p.tokens[at+1].value)}, at + 2
	}
	if !p.is(at, season) {
		return nil, at
	}
	t := p.tokens[at]
	next := p.skip(at + 1)
	preceded, article := p.in(at)
	if n, end := p.relatedTo(next, years); end > next {
		return p.season(p.now.Year()+n, t.value), end
	}
	switch {
	case p.isYear(next):
		return p.season(p.tokens[next].value, t.value), next + 1
	case p.is(at, season, relative) && p.tokens[at+1].after:
		return []Span{p.relatedSeason(p.tokens[at+1].value, t.value)}, at + 2
	case preceded && (article || !t.weak):
		return []Span{p.seasonLast(t.value)}, at + 1
	}
	return nil, at
}

func (p parser) relatedSeason(n, season int) Span {
	s := p.seasonLast(season)
	if n < 0 && s.Contains(p.now) {
		s = Span{From: s.From.AddDate(-1, 0, 0), To: s.To.AddDate(-1, 0, 0)}
	}
	return s
}

// counted reads three days ago, the last two weeks, hace tres días.
func (p parser) counted(at int) ([]Span, int) {
	if n, of, end := p.amount(at); end > at {
		return []Span{p.whole(-n, of)}, end
	}
	switch {
	case p.is(at, relative) && p.tokens[at].value == -1:
		if n, of, end := p.duration(at + 1); end > at+1 && !p.tokens[at+1].apart {
			return []Span{p.back(n, of)}, end
		}
	case p.is(at, number, relative, unit) && p.tokens[at+1].value == -1:
		return []Span{p.back(p.tokens[at].value, p.measure(at+2))}, at + 3
	}
	return nil, at
}

// amount reads "three days ago" or "vor drei Tagen".
func (p parser) amount(at int) (n int, of measure, end int) {
	if n, of, end = p.duration(at); end > at && p.is(end, agoAfter) && !p.tokens[end].apart {
		return n, of, end + 1
	}
	if p.is(at, agoBefore) {
		if n, of, end = p.duration(at + 1); end > at+1 && !p.tokens[at+1].apart {
			return n, of, end
		}
	}
	return 0, 0, at
}

// maxUnits is more than people count back.
const maxUnits = 1000

// duration reads three days, 3日, 两年, hace dos días behind since.
func (p parser) duration(at int) (n int, of measure, end int) {
	if p.is(at, agoBefore) {
		at++
	}
	if !p.is(at, number) || p.tokens[at].value > maxUnits || p.tokens[at].value < 1 {
		return 0, 0, at
	}
	n = p.tokens[at].value
	i := p.skip(at + 1)
	t, ok := p.at(i)
	switch {
	case !ok:
	case t.kind == unit:
		return n, measure(t.value), i + 1
	case t.kind == dayMark:
		return n, days, i + 1
	case t.kind == yearMark:
		return n, years, i + 1
	}
	return 0, 0, at
}

// related reads last week, la semana pasada, the past year.
func (p parser) related(at int) ([]Span, int) {
	switch {
	case p.is(at, relative, unit):
		return p.relatedUnit(p.tokens[at], p.measure(at+1)), at + 2
	case p.is(at, unit, relative) && p.tokens[at+1].after:
		return p.relatedUnit(p.tokens[at+1], p.measure(at)), at + 2
	case p.is(at, unit) && p.measure(at) == weekends:
		if preceded, _ := p.in(at); preceded {
			return []Span{p.weekendLast()}, at + 1
		}
	}
	return nil, at
}

func (p parser) relatedUnit(t token, of measure) []Span {
	switch {
	case t.value == -1 && (of == minutes || of == hours):
		return []Span{{From: p.ago(1, of), To: p.now.Add(time.Second)}}
	case t.roll && of != weekends:
		return []Span{p.back(1, of)}
	}
	return []Span{p.whole(t.value, of)}
}

// yearAlone reads im Jahr 2023, but needs "in" or the like.
func (p parser) yearAlone(at int) ([]Span, int) {
	i := at
	if p.is(at, unit, number) && p.measure(at) == years {
		i++
	}
	preceded, _ := p.in(at)
	if !p.isYear(i) || !preceded || p.tokens[i].value > p.now.Year() {
		return nil, at
	}
	if next, ok := p.at(i + 1); ok && (next.kind == unit || next.kind == thing) {
		return nil, at // in 2000 days
	}
	return []Span{p.calendar.year(p.tokens[i].value)}, i + 1
}
