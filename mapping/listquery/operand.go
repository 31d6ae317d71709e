package listquery

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// canonicalOperand returns s in the canonical form of [adapter.Query] for an attribute of the given
// kind: the leading part of a number, the first moment of a date, a text unchanged.
func canonicalOperand(kind adapter.Kind, s string, monthFirst bool) string {
	switch kind {
	case adapter.KindInteger, adapter.KindDecimal:
		return plainNumber(numeric.Leading(s))
	case adapter.KindTime:
		return parseMoment(s, monthFirst)
	default:
		return s
	}
}

// plainNumber formats f without an exponent. Numbers far out of range of every column are
// clamped to one that is still out of range.
func plainNumber(f float64) string {
	const beyond = 1e20
	return strconv.FormatFloat(math.Max(-beyond, math.Min(f, beyond)), 'f', -1, 64)
}

const clockForm = `(?:[ T](\d\d?)(?::(\d\d?)(?::(\d\d?)(?:\.\d*)?)?)?)?$`

var (
	dashedForm     = regexp.MustCompile(`^(\d{4})-(\d\d?)-(\d\d?)` + clockForm)
	compactForm    = regexp.MustCompile(`^(\d{4})(\d\d)(\d\d)` + clockForm)
	monthFirstForm = regexp.MustCompile(`^(\d\d?)/(\d\d?)/(\d{4})` + clockForm)
)

// parseMoment parses a date with or without a time, in UTC. It returns "" for an incomplete date,
// which sorts before every date (stock_orders 1.5).
func parseMoment(s string, monthFirst bool) string {
	s = strings.TrimSpace(s)
	expressionSize := dashedForm.FindStringSubmatch(s)
	if expressionSize == nil {
		expressionSize = compactForm.FindStringSubmatch(s)
	}
	if expressionSize == nil && monthFirst {
		if expressionSize = monthFirstForm.FindStringSubmatch(s); expressionSize != nil {
			expressionSize[1], expressionSize[2], expressionSize[3] = expressionSize[3], expressionSize[1], expressionSize[2]
		}
	}
	if expressionSize == nil {
		return ""
	}
	var n [6]int
	for i, part := range expressionSize[1:] {
		n[i], _ = strconv.Atoi(part) // digits only, or nothing
	}
	t := time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], 0, time.UTC)
	if t.Month() != time.Month(n[1]) || n[3] > 23 || n[4] > 59 || n[5] > 59 {
		return ""
	}
	return t.Format(time.DateTime)
}
