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
