// Package mask takes what tells of a person, and what is secret, out of copies of
// requests and replies, so that they can be kept, counted and shown.
//
// # Principles
//
//  1. What is kept is known: a field that the tables of package contract have as
//     public, a word that the contract itself writes, a header of a short list. What
//     nobody knows is masked, or where its place is not known either, the whole body
//     is given up.
//  2. A mask keeps the form: letters become letters, digits digits, an e-mail address
//     another, a date another, in as many characters; no character but punctuation
//     and blanks stays. What is empty stays empty.
//  3. One value has one mask, as long as the key lives, so that what belongs together
//     still does. Without the key nobody finds the value.
//  4. What clients name themselves is masked as well: names inside private fields, root
//     elements, parameters. A method that HTTP does not define is "OTHER".
//  5. All other bytes of a body stay as they came: it is not encoded again.
//
// # How it is tested
//
// Tables of values, and of bodies and queries in every format and odd spelling. A
// fuzz target plants a value in every personal field, in whatever form a body or a
// query takes, and looks for it in what comes out.
package mask

import (
	"crypto/hmac"
	"crypto/sha256"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/portico-commerce/portico/mapping/contract"
)

// A Masker masks values. It is safe for concurrent use.
type Masker struct {
	key   []byte
	words map[string]bool
	forms map[string]contract.FormField // of fields that take few values
}

// New returns a masker for calls of the routes in table. Maskers with one key have
// the same masks; a key is 32 random bytes that nobody keeps.
func New(table *contract.Table, key []byte) *Masker {
	m := &Masker{key: key, words: table.Vocabulary(), forms: map[string]contract.FormField{}}
	for _, f := range contract.CustomerForm() {
		if len(f.Options) > 0 {
			m.forms[f.Name] = f
		}
	}
	return m
}

// random returns the numbers that make the mask of a value, the same every time.
func (m *Masker) random(value string) *rand.Rand {
	sum := hmac.New(sha256.New, m.key)
	sum.Write([]byte(value))
	return rand.New(rand.NewChaCha8([32]byte(sum.Sum(nil))))
}

// Field returns the mask of the value of a field, which stays one of those that the
// field takes.
func (m *Masker) Field(name, value string) string {
	options := m.forms[name].Options
	for _, option := range options {
		if value == strconv.FormatInt(option, 10) {
			return strconv.FormatInt(options[m.random(value).IntN(len(options))], 10)
		}
	}
	return m.Value(value)
}

// Value returns the mask of a value.
func (m *Masker) Value(value string) string {
	if value == "" {
		return ""
	}
	r := m.random(value)
	for _, layout := range []string{time.DateOnly, time.DateTime, "01/02/2006"} {
		if at, err := time.Parse(layout, value); err == nil {
			return otherTime(r, at).Format(layout)
		}
	}
	masked := letters(r, value)
	if at := strings.LastIndexByte(masked, '@'); at >= 0 {
		masked = masked[:at] + host(masked[at:])
	}
	return masked
}

// otherTime returns a day that lies within the life of somebody living, and is not
// that of at. Midnight stays midnight.
func otherTime(r *rand.Rand, at time.Time) time.Time {
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

// letters masks a value character by character: none but punctuation and blanks
// stays what it is.
func letters(r *rand.Rand, value string) string {
	var b strings.Builder
	b.Grow(len(value))
	first := true // of the digits: a zero there would make it another kind of number
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

// host gives a masked host a last label that exists, so that its e-mail address
// passes for one.
func host(masked string) string {
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

// Message returns a message of a reply on route, nil for none, in which only words
// stay that the contract itself writes. Where records tell of nobody it stays as
// it is.
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
			b.WriteString(keepASCII(rest[:end]))
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

// keepASCII leaves punctuation and blanks, and puts dots in the place of what else
// stands between words.
func keepASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '.'
		}
		return r
	}, s)
}

// isProblem reports whether a message tells why OAuth refused a call: then it names
// parameters and nothing of their values.
func isProblem(message string) bool {
	problem, ok := strings.CutPrefix(message, "oauth_problem=")
	return ok && len(problem) < 300 && strings.Trim(problem, "abcdefghijklmnopqrstuvwxyz_=&0123456789.-") == ""
}
