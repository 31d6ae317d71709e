package input

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

var (
	unixSeconds = regexp.MustCompile(`^[0-9]+$`)
	isoDate     = regexp.MustCompile(`^([0-9]{4})-([0-9]{2})-([0-9]{2})(?: ([0-9]{2}):([0-9]{2}):([0-9]{2}))?$`)
	// The other forms consist of month, day, year, hour and minute in some order. Seconds
	// and an offset are ignored.
	numericDate = regexp.MustCompile(`(?i)^([0-9]{1,4})([-/.])([0-9]{1,2})([-/.])([0-9]{1,4})` + timePattern + `$`)
	monthFirst  = regexp.MustCompile(`(?i)^(\pL{3,10}\.?) +([0-9]{1,2}),? +([0-9]{1,4})` + timePattern + `$`)
	dayFirst    = regexp.MustCompile(`(?i)^([0-9]{1,2})\.? +(\pL{3,10}\.?),? +([0-9]{1,4})` + timePattern + `$`)
)

const timePattern = `(?:(?:,? +| *T *)([0-9]{1,2}):([0-9]{2})(?::[0-9]{2}(?:\.[0-9]+)?)? *(AM|PM)?(?: *(?:Z|UTC|GMT|[-+][0-9]{2}:?[0-9]{2}))?)?`

// A DateReader says how dates are read: by the locale of the shop and the dialect. The zero DateReader
// reads those of en_US.
type DateReader struct {
	contract.Locale
	MisreadsMonths bool // as in [contract.Dialect]
}

// parseDateTime parses a date, with or without a time, into the format of stored times
// (products 5.4), in the order of day and month of the shop's locale (configurations 1.2). A form from
// which the original produces an arbitrary date is invalid.
// Callers must handle the values that stand for no date: "", null, false, 0 and lists.
func parseDateTime(n *codec.Node, r DateReader) (stored string, fault contract.FaultKey) {
	text := n.String()
	if unixSeconds.MatchString(text) {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return "", contract.DateInvalid
		}
		return formatDate(time.Unix(seconds, 0).UTC())
	}
	if part := isoDate.FindStringSubmatch(text); part != nil {
		return formatDate(utcTime(atoi(part[1]), atoi(part[2]), atoi(part[3]), atoi(part[4]), atoi(part[5]), atoi(part[6])))
	}
	if groups := digitGroups.FindAllString(text, 2); len(groups) == 1 || len(groups) > 0 && text[0] == '-' {
		return "", contract.DateCrash
	}
	return parseHumanDate(strings.Trim(text, " \t\r\n"), r)
}

// parseHumanDate parses a date as people of a locale write it.
func parseHumanDate(text string, r DateReader) (stored string, fault contract.FaultKey) {
	d, timeParts, ok := r.split(text)
	if !ok {
		return "", contract.DateInvalid
	}
	d.correct()
	year, month, day := d.fullYear(), atoi(d.month), atoi(d.day)
	hour, minute := atoi(timeParts[0]), atoi(timeParts[1])
	meridiem := strings.ToUpper(timeParts[2])
	if r.IgnoresMeridiem {
		meridiem = ""
	}
	switch {
	case meridiem != "" && (hour < 1 || hour > 12):
		return "", contract.DateInvalid
	case meridiem == "AM" && hour == 12:
		hour = 0
	case meridiem == "PM" && hour < 12:
		hour += 12
	}
	t := utcTime(year, month, day, hour, minute, 0)
	if t.Year() != year || int(t.Month()) != month || t.Day() != day || t.Hour() != hour || t.Minute() != minute {
		return "", contract.DateInvalid
	}
	return formatDate(t)
}

// A humanDate holds the parts of a date in digits, as the order of a locale assigns them.
type humanDate struct{ day, month, year string }

// split returns the parts of a date, and those of its time: hour, minute, and AM or PM. ok is false
// for another text, and for the name of a month that the locale does not have.
func (r DateReader) split(text string) (d humanDate, timeParts []string, ok bool) {
	if part := numericDate.FindStringSubmatch(text); part != nil && part[2] == part[4] {
		return newHumanDate(r.Order, part[1], part[3], part[5]), part[6:], true
	}
	part, name, day := monthFirst.FindStringSubmatch(text), 1, 2
	if part == nil {
		part, name, day = dayFirst.FindStringSubmatch(text), 2, 1
	}
	if part == nil {
		return d, nil, false
	}
	month, ok := r.Month(part[name])
	part[name] = strconv.Itoa(month)
	if !r.MisreadsMonths {
		return humanDate{day: part[day], month: part[name], year: part[3]}, part[4:], ok
	}
	d = newHumanDate(r.Order, part[1], part[2], part[3])
	// Only a number whose digits are not in the text can be that of the name.
	if !strings.Contains(text, d.day) || !strings.Contains(text, d.year) {
		d.day, d.month = d.month, d.day
	}
	return d, part[4:], ok
}

// newHumanDate returns the date with three parts in some order.
func newHumanDate(order contract.DateOrder, first, second, third string) humanDate {
	switch order {
	case contract.DayFirst:
		return humanDate{day: first, month: second, year: third}
	case contract.YearFirst:
		return humanDate{year: first, month: second, day: third}
	default:
		return humanDate{month: first, day: second, year: third}
	}
}

// correct swaps parts that cannot be in their places: a number that can only be a year becomes the
// year, and an impossible month becomes the day.
func (d *humanDate) correct() {
	const days, months = 31, 12
	if atoi(d.day) > days {
		d.day, d.year = d.year, d.day
	}
	if atoi(d.month) > days {
		d.month, d.year = d.year, d.month
	}
	if month := atoi(d.month); month > months && month <= days {
		d.month, d.day = d.day, d.month
	}
}

// fullYear returns the year. The years 00 to 09, if they are written with two digits, are those from
// 2000; all others are taken literally.
func (d *humanDate) fullYear() int {
	year := atoi(d.year)
	if len(d.year) == 2 && year < 10 {
		year += 2000
	}
	return year
}

func utcTime(year, month, day, hour, minute, second int) time.Time {
	return time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
}

// formatDate returns t in the format of stored times, or a fault if its year is not
// storable.
func formatDate(t time.Time) (stored string, fault contract.FaultKey) {
	if t.Year() < 1 || t.Year() > maxYear {
		return "", contract.DateInvalid
	}
	return t.Format(time.DateTime), 0
}

// atoi parses a few digits that a regular expression has matched; it returns 0 for none.
func atoi(digits string) int {
	i, _ := strconv.Atoi(digits)
	return i
}
