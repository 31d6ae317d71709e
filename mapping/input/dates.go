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
	monthFirst  = regexp.MustCompile(`(?i)^([a-z]{3,9})\.? +([0-9]{1,2}),? +([0-9]{1,4})` + timePattern + `$`)
	dayFirst    = regexp.MustCompile(`(?i)^([0-9]{1,2})\.? +([a-z]{3,9})\.?,? +([0-9]{1,4})` + timePattern + `$`)
)

const timePattern = `(?:(?:,? +| *T *)([0-9]{1,2}):([0-9]{2})(?::[0-9]{2}(?:\.[0-9]+)?)? *(AM|PM)?(?: *(?:Z|UTC|GMT|[-+][0-9]{2}:?[0-9]{2}))?)?`

// parseDateTime parses a date, with or without a time, into the format of stored times
// (products 5.4). A form from which the original produces an arbitrary date is invalid.
// Callers must handle the values that stand for no date: "", null, false, 0 and lists.
func parseDateTime(n *codec.Node) (stored string, fault contract.FaultKey) {
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
	return parseHumanDate(strings.Trim(text, " \t\r\n"))
}

// parseHumanDate parses a date as people write it.
func parseHumanDate(text string) (stored string, fault contract.FaultKey) {
	var year, month, day int
	var timeParts []string
	if part := numericDate.FindStringSubmatch(text); part != nil && part[2] == part[4] {
		month, day, year = orderDateParts(atoi(part[1]), atoi(part[3]), atoi(part[5]))
		year = fullYear(part[5], year)
		timeParts = part[6:]
	} else if part := monthFirst.FindStringSubmatch(text); part != nil {
		month, day, year = monthNumber(part[1]), atoi(part[2]), fullYear(part[3], atoi(part[3]))
		timeParts = part[4:]
	} else if part := dayFirst.FindStringSubmatch(text); part != nil {
		day, month, year = atoi(part[1]), monthNumber(part[2]), fullYear(part[3], atoi(part[3]))
		timeParts = part[4:]
	} else {
		return "", contract.DateInvalid
	}
	hour, minute := atoi(timeParts[0]), atoi(timeParts[1])
	switch meridiem := strings.ToUpper(timeParts[2]); {
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

// fullYear returns the year of a date whose last part is digits. The years 00 to 09, if they are
// written with two digits, are those from 2000; all others are taken literally.
func fullYear(digits string, year int) int {
	if len(digits) == 2 && year < 10 {
		year += 2000
	}
	return year
}

// orderDateParts takes three numbers for month, day and year. If that is impossible, the
// number that can only be a year becomes the year, and an impossible month is swapped
// with the day.
func orderDateParts(month, day, year int) (int, int, int) {
	const days, months = 31, 12
	switch {
	case month > days:
		month, year = year, month
	case day > days:
		day, year = year, day
	}
	if month > months && day <= months {
		month, day = day, month
	}
	return month, day, year
}

// monthNumber returns the month for an English name or its first three letters, or 0 for
// anything else.
func monthNumber(name string) int {
	for m := time.January; m <= time.December; m++ {
		if strings.EqualFold(name, m.String()) || strings.EqualFold(name, m.String()[:3]) {
			return int(m)
		}
	}
	return 0
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
