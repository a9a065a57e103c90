package when

import "time"

// A calendar makes spans, seen from now.
type calendar struct{ now time.Time }

// A measure is a unit of time that people count in.
type measure int

const (
	minutes measure = iota
	hours
	days
	weeks
	months
	years
	weekends
)

func (c calendar) date(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, c.now.Location())
}

func (c calendar) today() time.Time { return c.date(c.now.Year(), c.now.Month(), c.now.Day()) }

// day returns the day that is n days after today.
func (c calendar) day(n int) Span {
	from := c.today().AddDate(0, 0, n)
	return Span{From: from, To: from.AddDate(0, 0, 1)}
}

// ok is false for days such as 31 April.
func (c calendar) on(year int, month time.Month, day int) (s Span, ok bool) {
	from := c.date(year, month, day)
	if from.Day() != day || from.Month() != month || year < firstYear || year > lastYear {
		return Span{}, false
	}
	return Span{From: from, To: from.AddDate(0, 0, 1)}, true
}

// Numbers outside of these are not years.
const (
	firstYear = 1970
	lastYear  = 2099
)

// onLast returns the last such day that has begun.
func (c calendar) onLast(month time.Month, day int) (s Span, ok bool) {
	for back := range 8 { // 29 February comes every eighth year at the latest
		if s, ok = c.on(c.now.Year()-back, month, day); ok && !s.From.After(c.now) {
			return s, true
		}
	}
	return Span{}, false
}

func (c calendar) month(year int, month time.Month) Span {
	from := c.date(year, month, 1)
	return Span{From: from, To: from.AddDate(0, 1, 0)}
}

// monthLast returns the last such month that has begun.
func (c calendar) monthLast(month time.Month) Span {
	year := c.now.Year()
	if month > c.now.Month() {
		year--
	}
	return c.month(year, month)
}

func (c calendar) year(year int) Span {
	return Span{From: c.date(year, 1, 1), To: c.date(year+1, 1, 1)}
}

// season is northern, in whole months; a year has two winters.
func (c calendar) season(year int, season int) []Span {
	month := time.Month(3*season + 3)
	span := func(year int) Span {
		from := c.date(year, month, 1)
		return Span{From: from, To: from.AddDate(0, 3, 0)}
	}
	if season == winter {
		return []Span{span(year - 1), span(year)}
	}
	return []Span{span(year)}
}

const (
	spring = iota
	summer
	autumn
	winter
)

// seasonLast returns the last such season that has begun.
func (c calendar) seasonLast(season int) Span {
	for year := c.now.Year(); ; year-- {
		all := c.season(year, season)
		if s := all[len(all)-1]; !s.From.After(c.now) {
			return s
		}
	}
}

// weekday returns the last one before today.
func (c calendar) weekday(day time.Weekday) Span {
	back := (int(c.now.Weekday()) - int(day) + 7) % 7
	if back == 0 {
		back = 7
	}
	return c.day(-back)
}

// weekdayOf returns a weekday n weeks after this week.
func (c calendar) weekdayOf(n int, day time.Weekday) Span {
	return c.day(fromMonday(day) - fromMonday(c.now.Weekday()) + 7*n)
}

func fromMonday(day time.Weekday) int { return (int(day) + 6) % 7 }

// whole returns the n-th minute, day … from now.
func (c calendar) whole(n int, of measure) Span {
	switch of {
	case minutes, hours:
		step := time.Hour
		if of == minutes {
			step = time.Minute
		}
		middle := c.now.Add(time.Duration(n) * step)
		return Span{From: middle.Add(-30 * time.Minute), To: middle.Add(30 * time.Minute)}
	case weeks:
		monday := c.weekdayOf(n, time.Monday).From
		return Span{From: monday, To: monday.AddDate(0, 0, 7)}
	case months:
		return c.month(c.now.Year(), c.now.Month()+time.Month(n))
	case years:
		return c.year(c.now.Year() + n)
	case weekends:
		return c.weekend(n)
	}
	return c.day(n)
}

// weekend returns the Saturday and Sunday of a week.
func (c calendar) weekend(n int) Span {
	saturday := c.weekdayOf(n, time.Saturday).From
	return Span{From: saturday, To: saturday.AddDate(0, 0, 2)}
}

// weekendLast returns the last one that has begun.
func (c calendar) weekendLast() Span {
	if s := c.weekend(0); !s.From.After(c.now) {
		return s
	}
	return c.weekend(-1)
}

// back reaches from n units ago to today's end.
func (c calendar) back(n int, of measure) Span {
	return Span{From: c.ago(n, of), To: c.day(0).To}
}

// ago is at midnight for days and longer.
func (c calendar) ago(n int, of measure) time.Time {
	switch of {
	case minutes:
		return c.now.Add(-time.Duration(n) * time.Minute)
	case hours:
		return c.now.Add(-time.Duration(n) * time.Hour)
	case weeks, weekends:
		return c.today().AddDate(0, 0, -7*n)
	case months:
		return c.today().AddDate(0, -n, 0)
	case years:
		return c.today().AddDate(-n, 0, 0)
	}
	return c.today().AddDate(0, 0, -n)
}

const (
	morning = iota
	afternoon
	evening
	night
)

// part returns a part of the day that begins at from.
func part(from time.Time, of int) Span {
	at := func(hour int) time.Time {
		return time.Date(from.Year(), from.Month(), from.Day(), hour, 0, 0, 0, from.Location())
	}
	switch of {
	case morning:
		return Span{From: at(4), To: at(12)}
	case afternoon:
		return Span{From: at(12), To: at(18)}
	case evening:
		return Span{From: at(17), To: at(24)}
	}
	return Span{From: at(18), To: at(30)}
}
