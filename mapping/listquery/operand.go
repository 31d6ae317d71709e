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

// operand returns what s means to an attribute of kind, in the canonical form
// of [adapter.Query]: a number by its leading part, a date as the moment it
// begins, a text as it is.
func operand(kind adapter.Kind, s string, monthFirst bool) string {
	switch kind {
	case adapter.KindInteger, adapter.KindDecimal:
		return plainNumber(numeric.Leading(s))
	case adapter.KindTime:
		return moment(s, monthFirst)
	default:
		return s
	}
}

// plainNumber writes f without an exponent. Numbers far beyond every column are
// cut to one that is still beyond.
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

// moment reads a date with or without a time, in UTC. What is no full date lies
// before every date and gives "" (stock_orders 1.5).
func moment(s string, monthFirst bool) string {
	s = strings.TrimSpace(s)
	parts := dashedForm.FindStringSubmatch(s)
	if parts == nil {
		parts = compactForm.FindStringSubmatch(s)
	}
	if parts == nil && monthFirst {
		if parts = monthFirstForm.FindStringSubmatch(s); parts != nil {
			parts[1], parts[2], parts[3] = parts[3], parts[1], parts[2]
		}
	}
	if parts == nil {
		return ""
	}
	var n [6]int
	for i, part := range parts[1:] {
		n[i], _ = strconv.Atoi(part) // digits only, or nothing
	}
	t := time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], 0, time.UTC)
	if t.Month() != time.Month(n[1]) || n[3] > 23 || n[4] > 59 || n[5] > 59 {
		return ""
	}
	return t.Format(time.DateTime)
}
