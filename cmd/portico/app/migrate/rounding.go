package migrate

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/mapping/legacy/compare"
)

// priceCounts count the prices that differ, to tell whether one system rounds halves of a cent otherwise.
type priceCounts struct {
	Different int `json:"different"`
	ByOneCent int `json:"by_one_cent"`
}

// add counts the prices among the differences of one answer.
func (c *priceCounts) add(differences []compare.Difference) {
	for _, d := range differences {
		if !strings.HasSuffix(d.Field, "_with_tax") && !strings.HasSuffix(d.Field, "_without_tax") {
			continue
		}
		c.Different++
		legacy, isLegacy := amount(d.Legacy)
		candidate, isCandidate := amount(d.Candidate)
		if isLegacy && isCandidate && math.Round(math.Abs(legacy-candidate)*1000) == 10 {
			c.ByOneCent++
		}
	}
}

// amount returns the number in a value of a difference.
func amount(value *string) (float64, bool) {
	if value == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(strings.Trim(*value, `"`), 64)
	return n, err == nil
}

// fewPrices is the number of prices below which their differences show no pattern.
const fewPrices = 3

// Hints name the settings to which the differences of a finished report point, one sentence each.
func (c *Report) Hints() (hints []string) {
	if hint := c.roundingHint(); hint != "" {
		hints = append(hints, hint)
	}
	answers := 0
	var example *Example
	for i := range c.Fields {
		if f := &c.Fields[i]; f.Field == compare.Integers {
			answers += f.Answers
			example = &f.Examples[0]
		}
	}
	if answers > 0 {
		hints = append(hints, fmt.Sprintf("integers are %s, at the legacy store, and %s (%d answers)", *example.Legacy, *example.Candidate, answers))
	}
	return hints
}

// roundingHint names the setting that prices point to which differ by one cent: nine in ten at least.
// It is "" if there are none.
func (c *Report) roundingHint() string {
	if p := c.Prices; p.ByOneCent < fewPrices || 10*p.ByOneCent < 9*p.Different {
		return ""
	}
	return "prices differ by one cent: the two systems round halves of a cent differently. Set store.tax_rounding to binary if the legacy store runs on PHP 8.4 or later, and to decimal otherwise"
}
