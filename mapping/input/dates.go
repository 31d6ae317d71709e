package input

import (
	"math"
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
	MisreadsMonths, StoresZeroDates bool // as in [contract.Dialect]
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
		if r.StoresZeroDates && strings.HasPrefix(text, "0000-00-00") {
			// The original writes it as 00-1-12-06, so that the hour is read as the minute.
			return formatDate(utcTime(2000, 1, 12, 6, atoi(part[4]), atoi(part[5])))
		}
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

// The largest month, day and year of a date, and the number of digits from which the
// original takes a bare number for a date (customers 4).
const (
	maxMonth       = 12
	maxDay         = 31
	maxYear        = 9999
	dateLikeDigits = 4
	dateParts      = 3
)

var digitGroups = regexp.MustCompile(`[0-9]+`)

// bareNumber matches a text that is only a number. It captures the digits before and
// after the decimal point, and the exponent.
var bareNumber = regexp.MustCompile(`^[+-]?(?:([0-9]+)(?:\.([0-9]*))?|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?$`)

// birthDate is parseBirthDate, and reads the form of replies in the dialects that take their records back.
func (b *Body) birthDate(n *codec.Node) (stored string, fault contract.FaultKey) {
	day, err := time.Parse(time.DateTime, n.Text) // which accepts a fraction of the second, too
	if err == nil && day.Year() > 0 && day.Format(time.DateTime) == n.Text && b.dialect.OwnRecords {
		return day.Format(time.DateOnly) + " 00:00:00", 0
	}
	return parseBirthDate(n, b.dates.Order)
}

// parseBirthDate reads a date sent as three numbers in an order (customers 4), whatever the
// type of the value and whatever separates or follows the numbers. Days beyond the end of
// a month run over into the next month, and day or month 0 means the one before the
// first. If fault is 0, the date is valid and in the form of adapter.KindTime.
func parseBirthDate(n *codec.Node, order contract.DateOrder) (stored string, fault contract.FaultKey) {
	text := n.String()
	if fault := bareNumberFault(n, text); fault != 0 {
		return "", fault
	}
	groups := digitGroups.FindAllString(text, dateParts)
	if len(groups) < dateParts {
		return "", contract.ValueCrash
	}
	var month, day, year int
	parts := []struct {
		number *int
		limit  int
	}{{&month, maxMonth}, {&day, maxDay}, {&year, maxYear}}
	switch order {
	case contract.DayFirst:
		parts[0], parts[1] = parts[1], parts[0]
	case contract.YearFirst:
		parts[0], parts[1], parts[2] = parts[2], parts[0], parts[1]
	}
	for i, part := range parts {
		var err error
		if *part.number, err = strconv.Atoi(groups[i]); err != nil || *part.number > part.limit {
			return "", contract.ValueCrash
		}
	}
	date := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if year == 0 || date.Year() < 1 || date.Year() > maxYear { // not storable
		return "", contract.DateForm
	}
	return date.Format(time.DateTime), 0
}

// The original takes a number with an exponent for no date from hugeNumber on, and for
// zero below tinyNumber.
const hugeNumber, tinyNumber = 1e15, 1

// bareNumberFault returns the fault of a text that is only a number or a separator, and 0
// for any other text (customers 4).
func bareNumberFault(n *codec.Node, text string) contract.FaultKey {
	match := bareNumber.FindStringSubmatch(text)
	if match == nil {
		if text == "-" || text == "." {
			return contract.DateForm
		}
		return 0
	}
	number := math.Abs(codec.LeadingNumber(text))
	negativeExponent := n.Kind != codec.True && strings.ContainsAny(n.Text, "eE") && strings.Contains(n.Text, "-")
	switch {
	case text == "0", text == "-0", negativeExponent && number < tinyNumber:
		return contract.DateZero
	case match[3] != "" && number >= hugeNumber:
		return contract.DateForm
	case match[1] != "" && match[2] != "", len(match[1]) >= dateLikeDigits, number >= math.Pow10(dateLikeDigits-1):
		return contract.DateFormat
	default:
		return contract.DateForm
	}
}
