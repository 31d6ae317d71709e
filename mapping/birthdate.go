package mapping

import (
	"regexp"
	"strconv"
	"time"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// The greatest numbers of a date, and how many digits make a lone number look like
// one (customers 4).
const (
	maxMonth      = 12
	maxDay        = 31
	maxYear       = 9999
	dateLikeSize  = 4
	numbersOfDate = 3
)

var digitGroups = regexp.MustCompile(`[0-9]+`)

// readDate reads a day sent as month, day and year, whatever the type of the value
// and whatever stands between them and behind. A day beyond its month is one of the
// next, and a day or month 0 is the one before the first. With fault 0 the day is
// valid, and in the form of adapter.KindTime.
func readDate(n *codec.Node) (day string, fault contract.FaultKey) {
	text := n.String()
	groups := digitGroups.FindAllString(text, numbersOfDate)
	lone := len(groups) == 1 && groups[0] == text
	switch {
	case text == "0":
		return "", contract.DateZero
	case lone && len(text) < dateLikeSize:
		return "", contract.DateForm
	case lone:
		return "", contract.DateFormat
	case len(groups) < numbersOfDate:
		return "", contract.ValueCrash
	}
	var number [numbersOfDate]int
	for i, limit := range []int{maxMonth, maxDay, maxYear} {
		var err error
		if number[i], err = strconv.Atoi(groups[i]); err != nil || number[i] > limit {
			return "", contract.ValueCrash
		}
	}
	date := time.Date(number[2], time.Month(number[0]), number[1], 0, 0, 0, 0, time.UTC)
	if date.Year() < 1 || date.Year() > maxYear { // no attribute holds it
		return "", contract.ValueCrash
	}
	return date.Format(time.DateTime), 0
}
