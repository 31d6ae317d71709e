package contract

import (
	"slices"
	"strings"
	"time"
)

// A DateOrder is the order of the parts of a date that is written in numbers.
type DateOrder int

// The orders of dates.
const (
	MonthFirst DateOrder = iota // month, day, year
	DayFirst                    // day, month, year
	YearFirst                   // year, month, day
)

// A Locale says how the dates are read that clients write in other forms than YYYY-MM-DD
// (configurations 1.2). The zero Locale is that of en_US.
type Locale struct {
	Order DateOrder
	// IgnoresMeridiem: hours count from 0 to 23, and AM and PM mean nothing.
	IgnoresMeridiem bool
	// months are the names of the months, twelve full ones and then twelve short ones, in a language
	// other than English. A locale whose names are not known has an empty list; nil stands for English.
	months []string
}

// LocaleOf returns the locale with a code such as en_US, de_DE or fr. A code that the tables do not
// have is of a place that writes the day first. "" is en_US.
func LocaleOf(code string) Locale {
	language, _, _ := strings.Cut(code, "_")
	l := Locale{Order: DayFirst, IgnoresMeridiem: true}
	switch {
	case language == "" || language == "en":
		l.Order, l.IgnoresMeridiem = MonthFirst, slices.Contains(englishWith24Hours(), code)
		if slices.Contains(englishDayFirst(), code) {
			l.Order = DayFirst
		}
	case slices.Contains(monthFirst(), code) || slices.Contains(monthFirst(), language):
		l.Order = MonthFirst
	}
	if slices.Contains(yearFirst(), code) || slices.Contains(yearFirst(), language) && !slices.Contains(notYearFirst(), code) {
		l.Order = YearFirst
	}
	if language != "" && language != "en" {
		l.months = append([]string{}, strings.Fields(monthNames()[language])...)
	}
	if code == "de_AT" {
		l.months[0], l.months[12] = "Jänner", "Jän."
	}
	return l
}

// The locales whose dates do not begin with the day, and how English dates are written outside the
// USA, as in release 25 of CLDR, the locale data of the original.

func monthFirst() []string { return []string{"es_PA", "es_PR", "es_US", "fil"} }

func yearFirst() []string {
	return []string{
		"af", "ar_DZ", "ar_MA", "ar_TN", "en_CA", "en_ZA", "eo", "eu", "fa", "fr_CA", "hu", "ja", "ko", "lt", "mn", "ne", "ps", "si", "sv",
		"zh", "zu",
	}
}

func notYearFirst() []string { return []string{"sv_FI"} }

func englishDayFirst() []string {
	return []string{
		"en_AU", "en_BE", "en_BW", "en_BZ", "en_GB", "en_HK", "en_IN", "en_JM", "en_MT", "en_NZ", "en_PK", "en_SG", "en_ZW",
	}
}

func englishWith24Hours() []string { return []string{"en_BE", "en_BZ", "en_GB"} }

// monthNames returns the names of the months by language: twelve full ones, then twelve short ones.
func monthNames() map[string]string {
	return map[string]string{
		"de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember" +
			" Jan. Feb. März Apr. Mai Juni Juli Aug. Sep. Okt. Nov. Dez.",
		"es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre" +
			" ene. feb. mar. abr. may. jun. jul. ago. sept. oct. nov. dic.",
		"fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre" +
			" janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
		"it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre" +
			" gen feb mar apr mag giu lug ago set ott nov dic",
		"nl": "januari februari maart april mei juni juli augustus september oktober november december" +
			" jan. feb. mrt. apr. mei jun. jul. aug. sep. okt. nov. dec.",
		"pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro" +
			" jan fev mar abr mai jun jul ago set out nov dez",
	}
}

// Month returns the number of a month from its full or its short name, which may have a point behind
// it. The case of English names does not matter. ok is false for any other text.
func (l *Locale) Month(name string) (month int, ok bool) {
	bare := strings.TrimSuffix(name, ".")
	if l.months == nil {
		for m := time.January; m <= time.December; m++ {
			if strings.EqualFold(bare, m.String()) || strings.EqualFold(bare, m.String()[:3]) {
				return int(m), true
			}
		}
		return 0, false
	}
	at := slices.IndexFunc(l.months, func(known string) bool { return known == name || known == bare })
	return at%12 + 1, at >= 0
}
