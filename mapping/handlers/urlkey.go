package handlers

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/portico-commerce/portico/mapping/contract"
)

// transliterations returns the Latin spelling of signs, and of letters that are not a
// base letter with an accent (products 6).
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

// maxURLKey is the number of characters of a url_key (products 6), which are all ASCII.
const maxURLKey = 255

// URLKeyFromName returns the url_key that a product without one gets from its name, or "" if the name
// has no letters and digits.
func URLKeyFromName(name string) string {
	key := newURLKeys(contract.Magento()).Generate(name)
	return strings.TrimSuffix(key[:min(len(key), maxURLKey)], "-")
}

// A urlKeys generates url_keys.
type urlKeys struct {
	transliterations map[rune]string
	// romanize returns the spelling of a letter that is not in transliterations; nil: it is a gap.
	romanize func(rune) string
	// together replaces groups of letters that are not spelled letter by letter.
	together *strings.Replacer
}

// newURLKeys returns the generator of a dialect.
func newURLKeys(d *contract.Dialect) urlKeys {
	if d.RomanizedURLKeys {
		return urlKeys{transliterations: openMageTransliterations(), romanize: romanize, together: greekDiphthongs()}
	}
	return urlKeys{transliterations: transliterations(), together: strings.NewReplacer("&amp;", "and")}
}

// Generate returns the url_key for a text: its letters, transliterated and in lower case,
// and its digits, with one dash for everything between them. It is "" for a text without
// letters and digits.
func (k urlKeys) Generate(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFC.String(k.together.Replace(text)) {
		spelled, letter := k.transliterate(r)
		gap = gap || !letter
		for _, latin := range []byte(spelled) {
			if latin = byte(unicode.ToLower(rune(latin))); !isLatin(rune(latin)) {
				gap = true
				continue
			}
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteByte(latin)
		}
	}
	return b.String()
}

// isLatin reports whether a character is a digit, or a letter without an accent, in lower case.
func isLatin(r rune) bool { return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' }

// transliterate returns the spelling of r. ok is false if r counts as a gap between
// words.
func (k urlKeys) transliterate(r rune) (string, bool) {
	sent := r
	for range 2 {
		r = unicode.ToLower(r)
		if isLatin(r) {
			return string(r), true
		}
		if spelled, ok := k.transliterations[r]; ok {
			return spelled, true
		}
		base := []rune(norm.NFD.String(string(r))) // the base letter, followed by its accents
		r = base[0]
	}
	if k.romanize == nil {
		return "", false
	}
	spelled := k.romanize(sent)
	return spelled, spelled != ""
}
