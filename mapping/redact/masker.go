package redact

import (
	"crypto/hmac"
	"crypto/sha256"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/portico-commerce/portico/mapping/contract"
)

// A Masker masks values. It is safe for concurrent use.
type Masker struct {
	key     []byte
	words   map[string]bool
	options map[string][]string // of fields that accept only a few values
}

// NewMasker returns a masker for calls of the routes in table. Maskers with the same key produce
// the same masks. The key should be 32 random bytes that are not stored anywhere.
func NewMasker(table *contract.Table, key []byte) *Masker {
	m := &Masker{key: key, words: table.Vocabulary(), options: map[string][]string{}}
	for _, rule := range contract.StandardFields().Customers.Rules.Rules {
		if len(rule.Options) > 0 {
			m.options[rule.Field] = rule.Options
		}
	}
	return m
}

// randomOf returns the random numbers for the mask of a value, the same on every call.
func (m *Masker) randomOf(value string) *rand.Rand {
	sum := hmac.New(sha256.New, m.key)
	sum.Write([]byte(value))
	return rand.New(rand.NewChaCha8([32]byte(sum.Sum(nil))))
}

// Field returns the mask of a value of the named field. The mask is a value that the field
// accepts.
func (m *Masker) Field(name, value string) string {
	if options := m.options[name]; slices.Contains(options, value) {
		return options[m.randomOf(value).IntN(len(options))]
	}
	return m.Value(value)
}

// Value returns the mask of a value.
func (m *Masker) Value(value string) string {
	if value == "" {
		return ""
	}
	r := m.randomOf(value)
	for _, layout := range []string{time.DateOnly, time.DateTime, "01/02/2006"} {
		if at, err := time.Parse(layout, value); err == nil {
			return randomDay(r, at).Format(layout)
		}
	}
	masked := maskCharacters(r, value)
	if at := strings.LastIndexByte(masked, '@'); at >= 0 {
		masked = masked[:at] + withRealTLD(masked[at:])
	}
	return masked
}

// randomDay returns a day within a human lifetime that differs from the day of at. A time
// at midnight stays at midnight.
func randomDay(r *rand.Rand, at time.Time) time.Time {
	const days = 25_000
	other := time.Date(1930, time.January, 1, at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
	if at.Hour()+at.Minute()+at.Second() > 0 {
		other = other.Truncate(24 * time.Hour).Add(time.Duration(1+r.IntN(24*60*60-1)) * time.Second)
	}
	other = other.AddDate(0, 0, r.IntN(days))
	if other.Format(time.DateOnly) == at.Format(time.DateOnly) {
		other = other.AddDate(0, 0, 1)
	}
	return other
}

// maskCharacters masks a value character by character. Only punctuation and blanks stay the same.
func maskCharacters(r *rand.Rand, value string) string {
	var b strings.Builder
	b.Grow(len(value))
	first := true // the first digit; a zero there would make it another kind of number
	for _, c := range value {
		switch {
		case first && '1' <= c && c <= '9':
			b.WriteByte('1' + byte(int(c-'1')+1+r.IntN(8))%9)
			first = false
		case '0' <= c && c <= '9':
			first = false
			b.WriteByte('0' + byte(int(c-'0')+1+r.IntN(9))%10)
		case 'a' <= c && c <= 'z':
			b.WriteByte('a' + byte(int(c-'a')+1+r.IntN(25))%26)
		case 'A' <= c && c <= 'Z':
			b.WriteByte('A' + byte(int(c-'A')+1+r.IntN(25))%26)
		case c <= unicode.MaxASCII:
			b.WriteRune(c)
		case unicode.IsUpper(c):
			b.WriteByte('A' + byte(r.IntN(26)))
		default:
			b.WriteByte('a' + byte(r.IntN(26)))
		}
	}
	return b.String()
}

// withRealTLD replaces the last label of a masked host name with an existing top-level domain, so
// that an e-mail address with it is valid.
func withRealTLD(masked string) string {
	dot := strings.LastIndexByte(masked, '.')
	if dot < 0 {
		return masked
	}
	switch len(masked) - dot - 1 {
	case 2:
		return masked[:dot] + ".de"
	case 3:
		return masked[:dot] + ".com"
	case 4:
		return masked[:dot] + ".info"
	}
	return masked
}

// Message returns a message of a reply on route, which may be nil, with every word masked
// that is not part of the contract's vocabulary. Messages about records without personal
// data stay unchanged.
func (m *Masker) Message(route *contract.Route, message string) string {
	if route != nil && !route.Personal() || isProblem(message) {
		return message
	}
	var b strings.Builder
	for rest := message; rest != ""; {
		end := strings.IndexFunc(rest, func(r rune) bool { return !contract.IsWordRune(r) })
		switch end {
		case -1:
			end = len(rest)
		case 0:
			end = strings.IndexFunc(rest, contract.IsWordRune)
			if end < 0 {
				end = len(rest)
			}
			b.WriteString(keepPunctuation(rest[:end]))
			rest = rest[end:]
			continue
		}
		if word := rest[:end]; m.words[word] {
			b.WriteString(word)
		} else {
			b.WriteString(m.Value(word))
		}
		rest = rest[end:]
	}
	return b.String()
}

// keepPunctuation keeps ASCII punctuation and blanks, and replaces all other characters between
// words with dots.
func keepPunctuation(s string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '.'
		}
		return r
	}, s)
}

// isProblem reports whether a message is an OAuth problem: such messages contain names of
// parameters, but not their values.
func isProblem(message string) bool {
	problem, ok := strings.CutPrefix(message, "oauth_problem=")
	return ok && len(problem) < 300 && strings.Trim(problem, "abcdefghijklmnopqrstuvwxyz_=&0123456789.-") == ""
}
