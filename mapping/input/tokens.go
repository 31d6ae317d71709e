package input

import (
	"regexp"
	"strings"
	"sync"
	"time"
)

// The parts of the patterns of tokens.
const (
	space     = `[ \t]+`
	hour24    = `([01]?[0-9]|2[0-4])`
	hour24lz  = `([01][0-9]|2[0-4])`
	hour12    = `(0?[1-9]|1[0-2])`
	phpMinute = `([0-5]?[0-9])`
	minutelz  = `([0-5][0-9])`
	phpSecond = `([0-5]?[0-9]|60)`
	secondlz  = `([0-5][0-9]|60)`
	meridiem  = `([ap])\.?m\.?(?:[\t ]|$)`
	fraction  = `\.[0-9]+`
	phpMonth  = `(0?[0-9]|1[0-2])`
	monthlz   = `(0[0-9]|1[0-2])`
	phpDay    = `([0-2]?[0-9]|3[01])`
	daylz     = `(0[0-9]|[1-2][0-9]|3[01])`
	ordinal   = `(?:st|nd|rd|th)?`
	phpYear   = `([0-9]{1,4})`
	year2     = `([0-9]{2})`
	year4     = `([0-9]{4})`
	monthText = `(january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)`
	dayText   = `(sunday|monday|tuesday|wednesday|thursday|friday|saturday|sun|mon|tues|tue|wednes|wed|thurs|thur|thu|fri|satur|sat)`
	unitText  = `((?:sec|second|min|minute|hour|day|week|fortnight|month|year)s?)`
	offset    = `(?:gmt)?([+-])` + hour24 + `:?([0-5]?[0-9])?`
	letters   = `([a-z]{1,6})`
)

// A token is a kind of token with its pattern.
type token struct {
	pattern string
	apply   func(s *state, part []string) bool // part holds the groups of the pattern; false refuses the text
}

// tokens returns the kinds of tokens. Of several that match texts of the same length, the
// first wins.
func tokens() []token {
	clock := func(hour, minute, second, meridiem int) func(*state, []string) bool {
		return func(s *state, p []string) bool {
			return s.setClock(at(p, hour), at(p, minute), at(p, second), at(p, meridiem))
		}
	}
	date := func(year, month, day int) func(*state, []string) bool {
		return func(s *state, p []string) bool { return s.setDate(at(p, year), at(p, month), at(p, day)) }
	}
	both := func(s *state, p []string) bool {
		return s.setDate(p[1], p[2], p[3]) && s.setClock(p[4], p[5], p[6], "")
	}
	return []token{
		{`yesterday`, func(s *state, _ []string) bool { s.midnight(); s.days = -1; return true }},
		{`now`, func(*state, []string) bool { return true }},
		{`noon`, func(s *state, _ []string) bool { s.midnight(); return s.setClock("12", "", "", "") }},
		{`midnight|today`, func(s *state, _ []string) bool { s.midnight(); return true }},
		{`tomorrow`, func(s *state, _ []string) bool { s.midnight(); s.days = 1; return true }},
		{`@(-?[0-9]{1,12})`, func(s *state, p []string) bool { return s.setUnix(p[1]) }},
		{hour12 + `(?:` + space + `)?` + meridiem, clock(1, 0, 0, 2)},
		{hour12 + `[:.]` + minutelz + `(?:` + space + `)?` + meridiem, clock(1, 2, 0, 3)},
		{hour12 + `[:.]` + phpMinute + `[:.]` + secondlz + `(?:` + space + `)?` + meridiem, clock(1, 2, 3, 4)},
		{`t` + hour24, clock(1, 0, 0, 0)},
		{`t?` + hour24 + `[:.]` + phpMinute, clock(1, 2, 0, 0)},
		{`t?` + hour24 + `[:.]` + phpMinute + `[:.]` + phpSecond + `(?:` + fraction + `)?`, clock(1, 2, 3, 0)},
		{`t?` + hour24lz + minutelz, (*state).setFourDigits},
		{`t?` + hour24lz + minutelz + secondlz, clock(1, 2, 3, 0)},
		{phpMonth + `/` + phpDay, date(0, 1, 2)},
		{phpMonth + `/` + phpDay + `/` + phpYear, date(3, 1, 2)},
		{`([+-]?[0-9]{4})-` + monthlz + `-` + daylz, date(1, 2, 3)},
		{year4 + `/` + monthlz + `/` + daylz + `/`, date(1, 2, 3)},
		{year4 + `/` + phpMonth + `/` + phpDay, date(1, 2, 3)},
		{year2 + `-` + monthlz + `-` + daylz, date(1, 2, 3)},
		{year4 + `-` + phpMonth, func(s *state, p []string) bool { return s.setDate(p[1], p[2], "1") }},
		{phpYear + `-` + phpMonth + `-` + phpDay, date(1, 2, 3)},
		{phpDay + ordinal + `[ \t.-]*` + monthText + `[ \t.-]*` + phpYear, date(3, 2, 1)},
		{phpDay + `[.\t-]` + phpMonth + `[.-]` + year4, date(3, 2, 1)},
		{phpDay + `[.\t]` + phpMonth + `\.` + year2, date(3, 2, 1)},
		{monthText + `[ .\t-]*` + year4, func(s *state, p []string) bool { return s.setDate(p[2], p[1], "1") }},
		{year4 + `[ .\t-]*` + monthText, func(s *state, p []string) bool { return s.setDate(p[1], p[2], "1") }},
		{monthText + `[ .\t-]*` + phpDay + `[,.stndrh\t ]+` + phpYear, date(3, 1, 2)},
		{monthText + `[ .\t-]*` + phpDay + `(?:[,.stndrh\t ]+|$)`, date(0, 1, 2)},
		{phpDay + ordinal + `[ .\t-]*` + monthText, date(0, 2, 1)},
		{monthText + `[ .\t-]*` + phpDay + `[,.stndrh\t ]+t?` + hour24 + `[:.]` + phpMinute + `(?:[:.]` + phpSecond + `)?(?:[ \t]*` + meridiem + `)?`, func(s *state, p []string) bool {
			return s.setDate("", p[1], p[2]) && s.setClock(p[3], p[4], p[5], p[6])
		}},
		{monthText + `-` + daylz + `-` + phpYear, date(3, 1, 2)},
		{phpYear + `-` + monthText + `-` + daylz, date(1, 2, 3)},
		{year4 + `[.-]?([0-2][0-9][0-9]|3[0-5][0-9]|36[0-6])`, func(s *state, p []string) bool { return s.setDate(p[1], "1", p[2]) }},
		{year4 + monthlz + daylz, date(1, 2, 3)},
		{year4 + monthlz + daylz + `t` + hour24 + `:` + minutelz + `:` + secondlz, both},
		{year4 + monthlz + daylz + `t` + hour24 + minutelz + secondlz, both},
		{year4 + `-` + monthlz + `-` + daylz + `t` + hour24lz + `:` + minutelz + `:` + secondlz + fraction, both},
		{year4 + `-` + phpMonth + `-` + phpDay + `t` + hour24 + `:` + phpMinute + `:` + phpSecond, both},
		{year4 + `:` + monthlz + `:` + daylz + ` ` + hour24lz + `:` + minutelz + `:` + secondlz, both},
		{year4, func(s *state, p []string) bool { return s.setYear(p[1]) }},
		{`ago`, func(s *state, _ []string) bool { return s.negate() }},
		{dayText, func(s *state, p []string) bool { return s.setWeekday(p[1]) }},
		{`(last|previous|this|next)` + space + unitText, func(s *state, p []string) bool {
			return s.add(map[string]string{"last": "-1", "previous": "-1", "this": "0", "next": "1"}[strings.ToLower(p[1])], p[2])
		}},
		{monthText, func(s *state, p []string) bool { return s.setDate("", p[1], "") }},
		{offset, func(s *state, p []string) bool { return s.setOffset(p[1], p[2], p[3]) }},
		{`\(?` + letters + `\)?`, func(s *state, p []string) bool { return s.setZone(p[1]) }},
		{`([+-]*[ \t]*[0-9]{1,13})[ \t]*` + unitText, func(s *state, p []string) bool { return s.add(p[1], p[2]) }},
	}
}

// at returns a group of a pattern, or "" for none.
func at(groups []string, i int) string {
	if i == 0 {
		return ""
	}
	return groups[i]
}

// compiled returns the patterns of tokens, which match at the start of a text, in any
// letter case and as long as possible.
var compiled = sync.OnceValue(func() (all []compiledToken) {
	for _, t := range tokens() {
		re := regexp.MustCompile(`(?i)^(?:` + t.pattern + `)`)
		re.Longest()
		all = append(all, compiledToken{re, t.apply})
	}
	return all
})

type compiledToken struct {
	pattern *regexp.Regexp
	apply   func(s *state, part []string) bool
}

// phpMonthNumber returns the month that a text names, by a number or an English word.
func phpMonthNumber(text string) (int, bool) {
	for m := time.January; m <= time.December; m++ {
		if len(text) >= 3 && strings.EqualFold(text[:3], m.String()[:3]) {
			return int(m), true
		}
	}
	return 0, false
}

// zoneHours returns the offsets of the abbreviations of time zones, in hours. The letters A to Z
// without J are the military time zones.
func zoneHours(name string) (int, bool) {
	if name = strings.ToUpper(name); len(name) == 1 {
		if at := strings.Index("YXWVUTSRQPONZABCDEFGHIKLM", name); at >= 0 {
			return at - 12, true
		}
		return 0, false
	}
	hours, ok := map[string]int{
		"UTC": 0, "GMT": 0, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "MSK": 3, "JST": 9,
		"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
	}[name]
	return hours, ok
}
