package input

import (
	"testing"
	"time"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// TestParseDateTime checks every form in products 5.4.
func TestParseDateTime(t *testing.T) {
	text, number := codec.TextNode, codec.NumberNode
	for _, c := range []struct {
		name  string
		value codec.Node
		want  string
		fault contract.FaultKey
	}{
		{"seconds", number("1331769600"), "2012-03-15 00:00:00", 0},
		{"seconds as a text", text("1331769600"), "2012-03-15 00:00:00", 0},
		{"four digits are seconds", text("2012"), "1970-01-01 00:33:32", 0},
		{"true", codec.Node{Kind: codec.True}, "1970-01-01 00:00:01", 0},
		{"digits of a number with an exponent", number("1e3"), "1970-01-01 00:16:40", 0},
		{"seconds after the year 9999", text("99999999999999"), "", contract.DateInvalid},
		{"seconds beyond 64 bits", text("99999999999999999999"), "", contract.DateInvalid},

		{"ISO date", text("2012-03-15"), "2012-03-15 00:00:00", 0},
		{"ISO date and time", text("2012-03-15 10:11:12"), "2012-03-15 10:11:12", 0},
		{"day beyond the month", text("2012-02-30"), "2012-03-01 00:00:00", 0},
		{"month beyond the year", text("2012-13-01"), "2013-01-01 00:00:00", 0},
		{"hour beyond the day", text("2012-12-31 25:61:61"), "2013-01-01 02:02:01", 0},
		{"only zeros", text("0000-00-00"), "", contract.DateInvalid},
		{"the last second", text("9999-12-31 23:59:59"), "9999-12-31 23:59:59", 0},
		{"after the last second", text("9999-12-31 24:00:00"), "", contract.DateInvalid},

		{"month first", text("03/15/2012"), "2012-03-15 00:00:00", 0},
		{"month first, morning", text("03/15/2012 10:11 AM"), "2012-03-15 10:11:00", 0},
		{"month first, evening", text("3/5/2012 1:05 pm"), "2012-03-05 13:05:00", 0},
		{"midnight", text("03/15/2012 12:00 AM"), "2012-03-15 00:00:00", 0},
		{"noon", text("03/15/2012 12:00 PM"), "2012-03-15 12:00:00", 0},
		{"hour 13 PM", text("03/15/2012 13:00 PM"), "", contract.DateInvalid},
		{"hour 24", text("03/15/2012 24:00"), "", contract.DateInvalid},
		{"minute 60", text("03/15/2012 10:60"), "", contract.DateInvalid},
		{"day first", text("15/03/2012"), "2012-03-15 00:00:00", 0},
		{"day first with points", text("15.03.2012"), "2012-03-15 00:00:00", 0},
		{"two numbers above 12", text("13/13/2012"), "", contract.DateInvalid},
		{"February 30", text("02/30/2012"), "", contract.DateInvalid},
		{"year of two digits", text("03/15/12"), "0012-03-15 00:00:00", 0},
		{"year 13", text("3/4/13"), "0013-03-04 00:00:00", 0},
		{"year 99 first", text("99-12-31"), "0099-12-31 00:00:00", 0},
		{"year 07", text("5-6-07"), "2007-05-06 00:00:00", 0},
		{"year 02 behind a day", text("14-01-02"), "2002-01-14 00:00:00", 0},
		{"year 00", text("3/4/00"), "2000-03-04 00:00:00", 0},
		{"year 09 behind a name", text("Mar 4, 09"), "2009-03-04 00:00:00", 0},
		{"year of one digit", text("3/4/9"), "0009-03-04 00:00:00", 0},
		{"year first, then day", text("2012-3-5"), "2012-05-03 00:00:00", 0},
		{"seconds are dropped", text("2012-03-15T10:11:12"), "2012-03-15 10:11:00", 0},
		{"no seconds", text("2012-03-15 10:11"), "2012-03-15 10:11:00", 0},
		{"offset", text("2012-03-15T10:11:12+02:00"), "2012-03-15 10:11:00", 0},
		{"zone", text("2012-03-15T10:11:12.345Z"), "2012-03-15 10:11:00", 0},
		{"short month", text("Mar 15, 2012"), "2012-03-15 00:00:00", 0},
		{"month name in the middle", text("5 March 2012"), "2012-03-05 00:00:00", 0},
		{"month name in the middle, with a time", text("5 march 2012 10:11"), "2012-03-05 10:11:00", 0},
		{"unknown month name", text("5 Mars 2012"), "", contract.DateInvalid},

		{"no digits", text("not a date"), "", contract.DateInvalid},
		{"year and month", text("2012-03"), "", contract.DateInvalid},
		{"month and year", text("3/2012"), "", contract.DateInvalid},
		{"fraction", number("1.5"), "", contract.DateInvalid},
		{"exponent", text("1e3"), "", contract.DateInvalid},
		{"two separators", text("03/15-2012"), "", contract.DateInvalid},
		{"stray digit", text("x1"), "", contract.DateCrash},
		{"blank before a number", text(" 5"), "", contract.DateCrash},
		{"negative", number("-5"), "", contract.DateCrash},
		{"negative fraction", text("-1.5"), "", contract.DateCrash},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, fault := parseDateTime(&c.value, DateReader{}); got != c.want || fault != c.fault {
				t.Errorf("got %q, fault %d, want %q, fault %d", got, fault, c.want, c.fault)
			}
		})
	}
}

// TestDatesOfLocales checks how dates in other forms are read in the order of a locale (configurations
// 1.2), as the original does and, where a date has the name of a month, as the dialect documented does.
func TestDatesOfLocales(t *testing.T) {
	const invalid = ""
	for _, tt := range []struct {
		text                      string
		monthFirst, british       string
		german, french, yearFirst string
	}{
		{"2013-03-04", "2013-03-04 00:00:00", "2013-03-04 00:00:00", "2013-03-04 00:00:00", "2013-03-04 00:00:00", "2013-03-04 00:00:00"},
		{"2013-03-04 10:11:12", "2013-03-04 10:11:12", "2013-03-04 10:11:12", "2013-03-04 10:11:12", "2013-03-04 10:11:12", "2013-03-04 10:11:12"},
		{"20130304", "1970-08-21 23:45:04", "1970-08-21 23:45:04", "1970-08-21 23:45:04", "1970-08-21 23:45:04", "1970-08-21 23:45:04"},
		{"2013-03-04T10:00:00+02:00", "2013-04-03 10:00:00", "2013-03-04 10:00:00", "2013-03-04 10:00:00", "2013-03-04 10:00:00", "2013-03-04 10:00:00"},
		{"2013-03-04T10:00:00Z", "2013-04-03 10:00:00", "2013-03-04 10:00:00", "2013-03-04 10:00:00", "2013-03-04 10:00:00", "2013-03-04 10:00:00"},
		{"2013-03-04 10:00", "2013-04-03 10:00:00", "2013-03-04 10:00:00", "2013-03-04 10:00:00", "2013-03-04 10:00:00", "2013-03-04 10:00:00"},
		{"2013-03-31T10:00:00Z", "2013-03-31 10:00:00", "2013-03-31 10:00:00", "2013-03-31 10:00:00", "2013-03-31 10:00:00", "2013-03-31 10:00:00"},
		{"04-03-2013", "2013-04-03 00:00:00", "2013-03-04 00:00:00", "2013-03-04 00:00:00", "2013-03-04 00:00:00", "2013-03-04 00:00:00"},
		{"4.3.2013", "2013-04-03 00:00:00", "2013-03-04 00:00:00", "2013-03-04 00:00:00", "2013-03-04 00:00:00", "2013-03-04 00:00:00"},
		{"2013/03/04", "2013-04-03 00:00:00", "2013-03-04 00:00:00", "2013-03-04 00:00:00", "2013-03-04 00:00:00", "2013-03-04 00:00:00"},
		{"03/04/2013", "2013-03-04 00:00:00", "2013-04-03 00:00:00", "2013-04-03 00:00:00", "2013-04-03 00:00:00", "2013-04-03 00:00:00"},
		{"13/04/2013", "2013-04-13 00:00:00", "2013-04-13 00:00:00", "2013-04-13 00:00:00", "2013-04-13 00:00:00", "2013-04-13 00:00:00"},
		{"04/13/2013", "2013-04-13 00:00:00", "2013-04-13 00:00:00", "2013-04-13 00:00:00", "2013-04-13 00:00:00", "2013-04-13 00:00:00"},
		{"3/4/13", "0013-03-04 00:00:00", "0013-04-03 00:00:00", "0013-04-03 00:00:00", "0013-04-03 00:00:00", "0003-04-13 00:00:00"},
		{"30/02/2013", invalid, invalid, invalid, invalid, invalid},
		{"32/32/2013", invalid, invalid, invalid, invalid, invalid},
		{"03/04/2013 1:05 PM", "2013-03-04 13:05:00", "2013-04-03 01:05:00", "2013-04-03 01:05:00", "2013-04-03 01:05:00", "2013-04-03 01:05:00"},
		{"4 Mar 2013", "2013-04-03 00:00:00", "2013-03-04 00:00:00", invalid, invalid, invalid},
		{"4 Mar 2012", "2012-03-04 00:00:00", "2012-03-04 00:00:00", invalid, invalid, invalid},
		{"Mar 4, 2013", "2013-03-04 00:00:00", "2013-04-03 00:00:00", invalid, invalid, invalid},
		{"Mar 4, 2012", "2012-03-04 00:00:00", "2012-03-04 00:00:00", invalid, invalid, invalid},
		{"4. April 2013", "2013-04-04 00:00:00", "2013-04-04 00:00:00", "2013-04-04 00:00:00", invalid, invalid},
		{"4. März 2013", invalid, invalid, "2013-03-04 00:00:00", invalid, invalid},
		{"4 Okt. 2013", invalid, invalid, "2013-10-04 00:00:00", invalid, invalid},
		{"4 Okt 2013", invalid, invalid, invalid, invalid, invalid},
		{"4 mars 2013", invalid, invalid, invalid, "2013-03-04 00:00:00", invalid},
		{"4 déc. 2013", invalid, invalid, invalid, "2013-12-04 00:00:00", invalid},
		{"4. Maerz 2013", invalid, invalid, invalid, invalid, invalid},
		{"gestern", invalid, invalid, invalid, invalid, invalid},
	} {
		for locale, want := range map[string]string{"en_US": tt.monthFirst, "en_GB": tt.british, "de_DE": tt.german, "fr_FR": tt.french, "sv_SE": tt.yearFirst} {
			n := codec.TextNode(tt.text)
			if got, fault := parseDateTime(&n, DateReader{Locale: contract.LocaleOf(locale), MisreadsMonths: true}); got != want || (fault != 0) != (want == invalid) {
				t.Errorf("%s in %s: got %q, fault %d, want %q", tt.text, locale, got, fault, want)
			}
		}
	}
	for text, locales := range map[string][]string{
		"4 Mar 2013": {"en_US", "en_GB", "en_CA"}, "Mar 4, 2013": {"en_US", "en_GB", "en_CA"}, "4. März 2013": {"de_DE", "de_AT"}, "4 mars 2013": {"fr_FR", "fr_CA"},
	} {
		for _, locale := range locales {
			n := codec.TextNode(text)
			if got, _ := parseDateTime(&n, DateReader{Locale: contract.LocaleOf(locale)}); got != "2013-03-04 00:00:00" {
				t.Errorf("%s in %s, documented: got %q", text, locale, got)
			}
		}
	}
}

// FuzzParseDateTime checks that any parsed time can be stored, and that parsing it again
// gives the same.
func FuzzParseDateTime(f *testing.F) {
	for _, seed := range []string{"2012", "2012-03-15 10:11:12", "15/03/2012 10:11 AM", "Mar 15, 2012", "5 March 2012", "5. März 2012", "2012-03-15T10:11:12+02:00", "x1", "-1", "0000-00-00", "12/31/9999 11:59 PM"} {
		for _, locale := range []string{"en_US", "de_DE", "sv_SE"} {
			f.Add(seed, locale, true)
		}
	}
	f.Fuzz(func(t *testing.T, text, locale string, misreads bool) {
		reader := DateReader{contract.LocaleOf(locale), misreads, misreads}
		n := codec.TextNode(text)
		stored, fault := parseDateTime(&n, reader)
		if fault != 0 {
			if stored != "" {
				t.Errorf("%q: fault %d, but result %q", text, fault, stored)
			}
			return
		}
		if moment, err := time.Parse(time.DateTime, stored); err != nil || moment.Year() < 1 {
			t.Errorf("%q is parsed as %q", text, stored)
		}
		n = codec.TextNode(stored)
		if again, fault := parseDateTime(&n, reader); again != stored || fault != 0 {
			t.Errorf("%q is parsed as %q, and that as %q", text, stored, again)
		}
	})
}
