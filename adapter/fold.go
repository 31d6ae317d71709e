package adapter

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold returns the form of s by which texts are compared and sorted on every database
// engine. It ignores letter case, accents and trailing blanks, like MySQL's utf8_general_ci
// in the Latin range ("Weiß " = "WEIS", "é" = "e"). Letters fold to upper case, so that
// characters between the two cases ("_") sort after them, as in that collation.
func Fold(s string) string { return strings.TrimRight(foldRunes(s), " ") }

// FoldWithBlanks is Fold for a text or pattern of [Like] and [InCommaList], for which trailing blanks count,
// as in LIKE and FIND_IN_SET of MySQL.
func FoldWithBlanks(s string) string { return foldRunes(s) }

// foldRunes folds every character of s, blanks included.
func foldRunes(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= utf8.RuneSelf || 'a' <= c && c <= 'z' {
			return strings.Map(foldRune, s)
		}
	}
	return s
}

func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}
	if r == 'ß' || r == 'ẞ' {
		return 'S'
	}
	r = unicode.ToUpper(r)
	var buf [utf8.UTFMax]byte
	if d := norm.NFD.Properties(buf[:utf8.EncodeRune(buf[:], r)]).Decomposition(); d != nil {
		r, _ = utf8.DecodeRune(d)
	}
	return unicode.ToUpper(r)
}
