package handlers

import (
	"maps"
	"strings"
	"unicode"

	"github.com/mozillazg/go-unidecode"
)

// openMageTransliterations returns the Latin spelling that OpenMage gives signs, and letters that are
// not a base letter with an accent (openmage 4). A blank in a spelling is a gap between words.
func openMageTransliterations() map[rune]string {
	spelled := hanReadings()
	maps.Copy(spelled, map[rune]string{
		'&': " and ", '%': " percent ", '@': " at ", '©': " c ", '®': " r ", '™': "tm", '№': "no",
		'¢': "c", '£': "gbp", '¥': "jpy", '€': "eur", '₽': "rub", '₹': "rs", '₺': "tl", '₴': "uah", '₩': "krw", '₪': "ils", '₫': "dong", '₱': "php",
		'ª': "a", 'º': "o", '²': "2", '³': "3", '¹': "1", 'µ': "u", '¼': " 1 4", '½': " 1 2", '¾': " 3 4", '•': "o",

		'ß': "ss", 'æ': "ae", 'ǽ': "ae", 'ǣ': "ae", 'œ': "oe", 'þ': "th", 'ð': "d", 'đ': "d", 'ø': "o", 'ǿ': "o", 'ł': "l", 'ŀ': "l", 'ħ': "h", 'ŧ': "t", 'ı': "i", 'ŋ': "n",
		'ĸ': "q", 'ſ': "s", 'ĳ': "ij", 'ŉ': " n", 'ƀ': "b", 'ƒ': "f", 'ƶ': "z", 'ǆ': "dz", 'ǉ': "lj", 'ǌ': "nj", 'ǥ': "g", 'ǳ': "dz", 'ȷ': "j",
		'ﬁ': "fi", 'ﬂ': "fl", 'ﬀ': "ff", 'ﬃ': "ffi", 'ﬄ': "ffl",
	})
	for _, alphabet := range [][2]string{
		{"αβγδεζηικλμνξοπρςστυω", "abgdezeiklmnxoprsstyo"},
		{"абвгдежзийклмнопрстуфхцчшщыэюяѐёђѓєѕіїјљњћќѝўџґғ", "abvgdezzijklmnoprstufhccssyeuaeedgeziijlnckiudgg"},
		{"בגדהוזחטיךכלםמןנסףפץצקרשת", "bgdhwzhtykklmmnnsppzzqrst"},
	} {
		latin := []rune(alphabet[1])
		for i, letter := range []rune(alphabet[0]) {
			spelled[letter] = string(latin[i])
		}
	}
	maps.Copy(spelled, map[rune]string{'θ': "th", 'φ': "ph", 'χ': "ch", 'ψ': "ps", 'ъ': " ", 'ь': " ", 'א': " ", 'ע': " "})
	return spelled
}

// romanize returns the spelling of a letter of a script without a table of its own, or "". Each
// Chinese character begins a word.
func romanize(letter rune) string {
	if !unicode.IsLetter(letter) || letter <= unicode.MaxLatin1 {
		return ""
	}
	spelled := unidecode.Unidecode(string(letter))
	if unicode.Is(unicode.Han, letter) {
		return " " + strings.TrimSpace(spelled)
	}
	return spelled
}

// greekDiphthongs spells upsilon as u after the vowels with which it forms a diphthong.
func greekDiphthongs() *strings.Replacer {
	var pairs []string
	for _, vowel := range "αεηοΑΕΗΟ" {
		for _, upsilon := range "υύΥΎ" {
			pairs = append(pairs, string([]rune{vowel, upsilon}), string(vowel)+"u")
		}
	}
	return strings.NewReplacer(pairs...)
}
