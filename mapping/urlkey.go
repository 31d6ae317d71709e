package mapping

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// latin is what stands in a url_key for letters that are no base letter with an
// accent, and for signs that are spelled out (products 6).
func transliterations() map[rune]string {
	return map[rune]string{
		'@': "at", '©': "c", '®': "r", '™': "tm",
		'ß': "ss", 'æ': "ae", 'œ': "oe", 'þ': "p", 'ð': "d", 'đ': "d", 'ø': "o", 'ł': "l", 'ħ': "h", 'ŧ': "t", 'ı': "i", 'ŋ': "n", 'ĸ': "k", 'ſ': "s",

		'а': "a", 'б': "b", 'в': "v", 'г': "g", 'д': "d", 'е': "e", 'ж': "zh", 'з': "z", 'и': "i", 'к': "k", 'л': "l", 'м': "m",
		'н': "n", 'о': "o", 'п': "p", 'р': "r", 'с': "s", 'т': "t", 'у': "u", 'ф': "f", 'х': "h", 'ц': "c", 'ч': "ch", 'ш': "sh",
		'щ': "sch", 'ъ': "", 'ы': "y", 'ь': "", 'э': "e", 'ю': "yu", 'я': "ya",
		'ё': "yo", 'й': "i", 'ї': "i", 'є': "ie", 'і': "i", 'ґ': "g", 'ў': "u", 'ђ': "dj", 'ј': "j", 'љ': "lj", 'њ': "nj", 'ћ': "c", 'џ': "dz", 'ѕ': "dz", 'ѓ': "g", 'ќ': "k",

		'א': "a", 'ב': "b", 'ג': "g", 'ד': "d", 'ה': "h", 'ו': "v", 'ז': "z", 'ח': "h", 'ט': "t", 'י': "i", 'כ': "k", 'ך': "k", 'ל': "l", 'מ': "m",
		'ם': "m", 'נ': "n", 'ן': "n", 'ס': "s", 'ע': "e", 'פ': "p", 'ף': "p", 'צ': "c", 'ץ': "c", 'ק': "k", 'ר': "r", 'ש': "sh", 'ת': "t",
	}
}

// A urlKeys makes url_keys.
type urlKeyGenerator struct{ transliterations map[rune]string }

// of returns the url_key of a text: its letters as Latin ones in lower case and
// its digits, and one dash for all between them. It is "" for a text without any.
func (k urlKeyGenerator) generate(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFC.String(strings.ReplaceAll(text, "&amp;", "and")) {
		spelled, letter := k.transliterate(r)
		switch {
		case !letter:
			gap = true
			continue
		case spelled == "":
			continue
		case gap && b.Len() > 0:
			b.WriteByte('-')
		}
		gap = false
		b.WriteString(spelled)
	}
	return b.String()
}

// letters returns what r is written as; false for what counts as a gap.
func (k urlKeyGenerator) transliterate(r rune) (string, bool) {
	for range 2 {
		r = unicode.ToLower(r)
		if '0' <= r && r <= '9' || 'a' <= r && r <= 'z' {
			return string(r), true
		}
		if spelled, ok := k.transliterations[r]; ok {
			return spelled, true
		}
		base := []rune(norm.NFD.String(string(r))) // a letter, its accents behind it
		r = base[0]
	}
	return "", false
}
