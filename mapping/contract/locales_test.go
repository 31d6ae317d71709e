package contract

import "testing"

// TestLocaleOf checks in which order locales write dates (configurations 1.2), and which names of
// months they have.
func TestLocaleOf(t *testing.T) {
	for _, tt := range []struct {
		codes           []string
		order           DateOrder
		ignoresMeridiem bool
	}{
		{[]string{"", "en", "en_US", "en_IE"}, MonthFirst, false},
		{[]string{"es_PA", "fil_PH"}, MonthFirst, true},
		{[]string{"en_GB"}, DayFirst, true},
		{[]string{"en_AU", "en_NZ", "en_IN"}, DayFirst, false},
		{[]string{"de_DE", "de_AT", "fr_FR", "es_ES", "nl_NL", "pt_BR", "ru_RU", "sv_FI", "xx_YY"}, DayFirst, true},
		{[]string{"en_CA", "en_ZA"}, YearFirst, false},
		{[]string{"sv_SE", "fr_CA", "ja_JP", "zh_CN", "zh_Hant_TW", "hu_HU"}, YearFirst, true},
	} {
		for _, code := range tt.codes {
			if l := LocaleOf(code); l.Order != tt.order || l.IgnoresMeridiem != tt.ignoresMeridiem {
				t.Errorf("%s: order %d, ignores AM and PM %t", code, l.Order, l.IgnoresMeridiem)
			}
		}
	}
	for _, tt := range []struct {
		code, name string
		want       int
	}{
		{"en_US", "March", 3}, {"en_US", "mar.", 3}, {"en_US", "März", 0}, {"en_GB", "DEC", 12},
		{"de_DE", "Januar", 1}, {"de_AT", "Jänner", 1}, {"de_AT", "Jän.", 1}, {"de_AT", "Januar", 0}, {"de_DE", "Dez.", 12}, {"de_DE", "Dez", 0}, {"de_DE", "Mar", 0},
		{"fr_FR", "mars", 3}, {"fr_FR", "Mar", 0}, {"it_IT", "mar", 3}, {"ru_RU", "Mar", 0},
	} {
		l := LocaleOf(tt.code)
		if got, ok := l.Month(tt.name); ok != (tt.want > 0) || ok && got != tt.want {
			t.Errorf("%s, %s: month %d, %t", tt.code, tt.name, got, ok)
		}
	}
	for language := range monthNames() {
		if l := LocaleOf(language); len(l.months) != 24 {
			t.Errorf("%s has %d names of months", language, len(l.months))
		}
	}
}
