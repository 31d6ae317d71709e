package input

import (
	"strconv"
	"strings"
	"time"
)

const (
	// maxText and maxTokens bound the texts that are parsed. Longer ones are no dates.
	maxText   = 100
	maxTokens = 20
	// maxAmount bounds the amounts of relative tokens, and maxNumber all numbers, so that no
	// sum overflows.
	maxAmount, maxNumber = 1e9, 1e15
)

// ParsePHPTime returns the time that a text stands for at the time now, to the second. ok is false
// if the text is none.
func ParsePHPTime(text string, now time.Time) (t time.Time, ok bool) {
	text = strings.Trim(text, " \t\r\n\v\f\x00")
	if text == "" || len(text) > maxText {
		return t, false
	}
	s := state{now: now.UTC()}
	for count := 0; ; count++ {
		if text = strings.TrimLeft(text, " .,\t"); text == "" {
			return s.time(), true
		}
		length := 0
		var groups []string
		var apply func(*state, []string) bool
		for _, t := range compiled() {
			if found := t.pattern.FindStringSubmatch(text); found != nil && len(found[0]) > length {
				length, groups, apply = len(found[0]), found, t.apply
			}
		}
		if length == 0 || count == maxTokens || !apply(&s, groups) {
			return t, false
		}
		text = text[length:]
	}
}

// A state is the result of the tokens parsed so far.
type state struct {
	now                  time.Time
	year, month, day     int
	hour, minute, second int
	hasDate, hasClock    bool
	zones                int           // how many time zones the text has
	dayStarts            bool          // the time of day is 00:00:00 unless the text says otherwise
	offset               time.Duration // of the time zone from UTC
	years, months, days  int           // to add to the date
	seconds              int           // to add
	weekday              time.Weekday
	hasWeekday           bool
}

// time returns the time that a text stands for.
func (s *state) time() time.Time {
	if !s.hasDate {
		s.year, s.month, s.day = s.now.Year(), int(s.now.Month()), s.now.Day()
	}
	if !s.hasClock && !s.hasDate && !s.dayStarts {
		s.hour, s.minute, s.second = s.now.Clock()
	}
	t := time.Date(s.year, time.Month(s.month), s.day, s.hour, s.minute, s.second, 0, time.UTC).AddDate(s.years, s.months, s.days)
	if s.hasWeekday {
		const week = 7
		t = t.AddDate(0, 0, (int(s.weekday)-int(t.Weekday())+week)%week)
	}
	return time.Unix(t.Unix()+int64(s.seconds), 0).UTC().Add(-s.offset)
}

// setDate sets the date. An empty year or day is the present one.
func (s *state) setDate(year, month, day string) bool {
	if s.hasDate {
		return false
	}
	s.hasDate = true
	s.year, s.month, s.day = s.now.Year(), phpNumber(month), s.now.Day()
	if named, ok := phpMonthNumber(month); ok {
		s.month = named
	}
	if day != "" {
		s.day = phpNumber(day)
	}
	if year != "" {
		s.year = phpFullYear(year)
	}
	return true
}

// phpFullYear returns the year that is written with fewer than four digits as one of the
// centuries around 2000.
func phpFullYear(text string) int {
	const century = 100
	y := phpNumber(text)
	switch {
	case len(text) >= 4 || y >= century:
		return y
	case y < 70:
		return y + 2000
	default:
		return y + 1900
	}
}

// setYear sets the year alone, which leaves the time of day open.
func (s *state) setYear(text string) bool {
	if s.hasDate {
		return false
	}
	s.hasDate, s.hasClock = true, true
	s.year, s.month, s.day = phpNumber(text), int(s.now.Month()), s.now.Day()
	s.hour, s.minute, s.second = s.now.Clock()
	return true
}

// setClock sets the time of day. meridiem is a, p or empty.
func (s *state) setClock(hour, minute, second, meridiem string) bool {
	if s.hasClock {
		return false
	}
	const noon = 12
	s.hasClock = true
	s.hour, s.minute, s.second = phpNumber(hour), phpNumber(minute), phpNumber(second)
	switch meridiem {
	case "a", "A":
		s.hour %= noon
	case "p", "P":
		s.hour = s.hour%noon + noon
	}
	return true
}

// setFourDigits reads four digits as a time of day or, if that is known, as a year.
func (s *state) setFourDigits(part []string) bool {
	if !s.hasClock {
		return s.setClock(part[1], part[2], "", "")
	}
	if strings.ContainsAny(part[0], "tT") {
		return false
	}
	s.year = phpNumber(part[0])
	if !s.hasDate {
		s.hasDate, s.month, s.day = true, int(s.now.Month()), s.now.Day()
	}
	return true
}

// midnight begins the day, unless a time of day follows.
func (s *state) midnight() {
	s.dayStarts = true
	s.hasClock, s.hour, s.minute, s.second = false, 0, 0, 0
}

// setUnix sets a time in seconds since 1970.
func (s *state) setUnix(text string) bool {
	if s.hasDate || s.hasClock || s.zones > 0 {
		return false
	}
	t := time.Unix(int64(phpNumber(text)), 0).UTC()
	s.hasDate, s.hasClock, s.zones = true, true, 1
	s.year, s.month, s.day = t.Year(), int(t.Month()), t.Day()
	s.hour, s.minute, s.second = t.Clock()
	return true
}

// setOffset sets the time zone by its offset from UTC: a sign, hours and minutes.
func (s *state) setOffset(sign, hours, minutes string) bool {
	offset := time.Duration(phpNumber(hours))*time.Hour + time.Duration(phpNumber(minutes))*time.Minute
	if sign == "-" {
		offset = -offset
	}
	return s.addZone(offset)
}

// addZone takes the first time zone of a text. Another one is ignored, and a third one is too
// many.
func (s *state) addZone(offset time.Duration) bool {
	const most = 2
	if s.zones == 0 {
		s.offset = offset
	}
	s.zones++
	return s.zones <= most
}

// setZone sets the time zone by its abbreviation.
func (s *state) setZone(name string) bool {
	hours, ok := zoneHours(name)
	if !ok {
		return false
	}
	return s.addZone(time.Duration(hours) * time.Hour)
}

// setWeekday begins the day, and moves the date to a weekday unless it is one.
func (s *state) setWeekday(name string) bool {
	s.midnight()
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.EqualFold(name[:3], d.String()[:3]) {
			s.weekday, s.hasWeekday = d, true
		}
	}
	return true
}

// add adds an amount, which may have signs, of a unit.
func (s *state) add(amount, unit string) bool {
	digits := strings.TrimLeft(amount, "+- \t")
	n := phpNumber(digits)
	if n > maxAmount {
		return false
	}
	if strings.Count(amount, "-")%2 == 1 {
		n = -n
	}
	switch unit = strings.ToLower(unit); {
	case strings.HasPrefix(unit, "sec"):
		s.seconds += n
	case strings.HasPrefix(unit, "min"):
		s.seconds += n * 60
	case strings.HasPrefix(unit, "hour"):
		s.seconds += n * 60 * 60
	case strings.HasPrefix(unit, "day"):
		s.days += n
	case strings.HasPrefix(unit, "week"):
		s.days += n * 7
	case strings.HasPrefix(unit, "fortnight"):
		s.days += n * 14
	case strings.HasPrefix(unit, "month"):
		s.months += n
	default:
		s.years += n
	}
	return true
}

// negate makes everything that is added so far something to subtract.
func (s *state) negate() bool {
	s.years, s.months, s.days, s.seconds = -s.years, -s.months, -s.days, -s.seconds
	return true
}

// phpNumber parses digits, perhaps with a sign; it returns 0 for none, and the nearest number
// for too many.
func phpNumber(text string) int {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && n == 0 {
		return 0
	}
	return int(max(-maxNumber, min(n, maxNumber)))
}
