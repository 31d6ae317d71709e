package input

import (
	"github.com/portico-commerce/portico/adapter"
	"strings"
	"time"
)

// A moment is a point in time that a filter compares dates with. It is one of the times that
// stores hold, or lies between two of them, as half a second or a February 31 does.
type moment struct {
	// second is the last time that is not after the moment, in the form of
	// [adapter.KindTime]. It is "" for a moment before all times.
	second string
	// after reports whether the moment is later than second, so that it equals no time.
	after bool
}

// readMoment reads a date from the start of a text as the original's database does when it compares
// a column of dates with the text (wire 10.9). It ignores the text after the date. A text that does
// not begin with a valid date is a moment before all times.
func readMoment(text string) moment {
	r := dateReader{text: dateText(text)}
	digits, packed := r.packedDigits()
	if packed {
		r.readPacked(digits)
	} else {
		r.readSeparated()
	}
	if r.count < 3 {
		return moment{}
	}
	return r.moment()
}

// dateText returns text without the characters that may surround a date: blanks and a plus sign
// before it, and after it everything behind the last digit, punctuation character or T. It returns
// "" for a text that does not begin with a digit then.
func dateText(text string) string {
	text = trimBlanks(text)
	if text != "" && text[0] == '+' {
		text = trimBlanks(text[1:])
	}
	end := len(text)
	for ; end > 0; end-- {
		last := text[end-1]
		if isDigit(last) || isPunctuation(last) || last == 'T' && end > 1 && isDigit(text[end-2]) {
			break
		}
	}
	text = text[:end]
	if text == "" || !isDigit(text[0]) {
		return ""
	}
	return text
}

func trimBlanks(text string) string {
	for text != "" && isBlank(text[0]) {
		text = text[1:]
	}
	return text
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isBlank(c byte) bool  { return c == ' ' || '\t' <= c && c <= '\r' || c == 0xA0 }

// isPunctuation reports whether a byte is a punctuation character. The database takes each byte
// of a text for a character of Windows-1252.
func isPunctuation(c byte) bool {
	if c < 0x80 {
		return '!' <= c && c <= '~' && !isDigit(c) && !isLetter(c)
	}
	return 0xA1 <= c && c <= 0xBF || strings.IndexByte("\x80\x82\x84\x85\x86\x87\x88\x89\x8B\x91\x92\x93\x94\x95\x96\x97\x98\x99\x9B\xD7\xF7", c) >= 0
}

// The parts of a date, in the order in which they are written.
const (
	year = iota
	month
	day
	hour
	minute
	second
	queryDateParts
)

// A dateReader reads the parts of a date.
type dateReader struct {
	text  string // the rest of the text
	parts [queryDateParts]uint32
	count int // how many parts the text has
	// fraction reports whether the seconds have a fraction other than 0.
	fraction bool
	// shortYear reports whether the year is written with two digits.
	shortYear bool
}

// fractionDigits is the number of decimal places that the database has for seconds.
const fractionDigits = 6

// packedDigits reports whether the text is a date without separators, such as 20120303,
// 20120303T101112 or 20120303101112.5, and how many digits it has.
func (r *dateReader) packedDigits() (digits int, packed bool) {
	const clockDigits = 12 // of a date and a time with a year of two digits, which may have a fraction
	rest := r.text
	skip := func() (n int) {
		for ; rest != "" && isDigit(rest[0]); n++ {
			rest = rest[1:]
		}
		return n
	}
	digits = skip()
	if rest != "" && rest[0] == 'T' {
		rest = rest[1:]
		digits += skip()
	}
	if rest != "" && rest[0] == '.' && digits >= clockDigits {
		rest = rest[1:]
		skip()
	}
	return digits, rest == ""
}

// readPacked reads a date without separators. The number of its digits determines the length of the
// year.
func (r *dateReader) readPacked(digits int) {
	yearLength := 2
	if digits == 4 || digits == 8 || digits >= 14 {
		yearLength = 4
	}
	r.shortYear = yearLength == 2
	for part := range queryDateParts {
		length := 2
		switch part {
		case year:
			length = yearLength
		case hour:
			r.skip(func(c byte) bool { return c == 'T' })
		}
		if !r.readNumber(part, length) {
			return
		}
	}
	r.readFraction()
}

// readSeparated reads a date whose parts have any one punctuation character between them. A T or
// blanks may stand before the time as well. It stops at the first character that cannot belong to a
// part.
func (r *dateReader) readSeparated() {
	length := len(r.text)
	if !r.readNumber(year, length) {
		return
	}
	r.shortYear = length-len(r.text) == 2
	for part := month; part < queryDateParts; part++ {
		if r.text != "" && !r.readSeparator(part) || !r.readNumber(part, length) {
			return
		}
	}
	r.readFraction()
}

// readSeparator reads the separator before a part.
func (r *dateReader) readSeparator(part int) bool {
	switch {
	case r.skip(isPunctuation):
		return true
	case part != hour:
		return false
	case r.skip(func(c byte) bool { return c == 'T' }):
		return true
	}
	found := false
	for r.skip(isBlank) {
		found = true
	}
	return found
}

// readNumber reads a part of at most so many digits. At the end of the text it reads none.
// It fails if something else follows. Numbers beyond 32 bits wrap around, as in the database.
func (r *dateReader) readNumber(part, length int) bool {
	if r.text == "" {
		return true
	}
	if !isDigit(r.text[0]) {
		return false
	}
	r.count++
	for ; r.text != "" && isDigit(r.text[0]) && length > 0; length-- {
		r.parts[part] = r.parts[part]*10 + uint32(r.text[0]-'0')
		r.text = r.text[1:]
	}
	return true
}

// readFraction reads the decimal places of the seconds.
func (r *dateReader) readFraction() {
	if !r.skip(func(c byte) bool { return c == '.' }) {
		return
	}
	for range fractionDigits {
		if r.text == "" || !isDigit(r.text[0]) {
			return
		}
		r.fraction = r.fraction || r.text[0] != '0'
		r.text = r.text[1:]
	}
}

// skip reads one character of a kind.
func (r *dateReader) skip(isKind func(byte) bool) bool {
	if r.text == "" || !isKind(r.text[0]) {
		return false
	}
	r.text = r.text[1:]
	return true
}

// moment returns the moment that the parts stand for. Month and day may be 0, and every
// month may have 31 days: such a date lies between the real ones around it.
func (r *dateReader) moment() moment {
	const centuryOf1900, firstOf1900 = 1900, 70
	p := r.parts
	switch {
	case !r.shortYear || p == [queryDateParts]uint32{} && !r.fraction:
	case p[year] < firstOf1900:
		p[year] += centuryOf1900 + 100
	default:
		p[year] += centuryOf1900
	}
	if p[year] > 9999 || p[month] > 12 || p[day] > 31 || p[hour] > 23 || p[minute] > 59 || p[second] > 59 {
		return moment{}
	}
	t := time.Date(int(p[year]), time.Month(p[month]), int(p[day]), int(p[hour]), int(p[minute]), int(p[second]), 0, time.UTC)
	after := r.fraction
	if t.Month() != time.Month(p[month]) || t.Day() != int(p[day]) { // no real date
		next := time.Date(int(p[year]), time.Month(max(p[month], 1)), 1, 0, 0, 0, 0, time.UTC)
		if p[month] > 0 && p[day] > 0 {
			next = next.AddDate(0, 1, 0)
		}
		t, after = next.Add(-time.Second), true
	}
	if t.Year() < 1 {
		return moment{}
	}
	return moment{second: t.Format(time.DateTime), after: after}
}

// next returns the first time that is not before the moment. ok is false if there is none.
func (m moment) next() (operand string, ok bool) {
	if !m.after {
		return m.second, true
	}
	t, err := time.Parse(time.DateTime, m.second)
	if err != nil {
		return "", false
	}
	operand = t.Add(time.Second).Format(time.DateTime)
	return operand, adapter.IsTime(operand)
}
