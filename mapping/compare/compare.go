// Package compare finds where the answers of two sides to one read differ, field by
// field, for whoever moves a store from one side to the other.
//
// # Principles
//
//  1. What is no difference is said by [Options] alone. Everything else counts: a
//     number against a text, null against "", a field that is missing, the order of
//     fields and of records, every escape and blank.
//  2. A difference has the name of a field of the contract, so that it can be a
//     label: what a client or a server made up is "other".
//  3. A difference is told once, at its place. A record that is missing is one
//     difference, not one for each of its fields, and records are matched by what
//     identifies them, so that the ones behind it are compared with themselves.
//  4. Bodies are hostile. Package codec bounds what is read of them, and what is told
//     is bounded in number and length. The time is that of sorting at worst.
//
// # How it is tested
//
// A table has each kind of difference, in every format, and what the options allow.
// A fuzz target holds two properties: a body is like itself, and bodies whose bytes
// differ have a difference. Two whole servers, one with planted differences, are
// compared in cmd/portico.
package compare

import (
	"fmt"
	"mime"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/portico-commerce/portico/mapping/contract"
)

// An Answer is a reply, as far as two sides have to agree in it.
type Answer struct {
	Status      int
	ContentType string
	Location    string
	Body        []byte
}

// Options say what is no difference.
type Options struct {
	// Bases are the base URLs of the two sides, legacy first: each in its own side's
	// answer stands for the same. An empty one stands for nothing.
	Bases [2]string
	// Unordered: the order of records in a list, and of the fields in a record.
	Unordered bool
	// Clock is by how much times may differ.
	Clock time.Duration
	// Ignore holds fields, as Difference.Field has them, that may differ, with all
	// that is within them.
	Ignore []string
}

// A Difference is a place where two answers are not the same.
type Difference struct {
	// Field names it, fit for a label: a field of the resource, within others by dots
	// ("stock_data.qty"), or one of
	//
	//	status-code, content-type, location
	//	root       the name of the root element
	//	body       what cannot be read by fields
	//	messages   what an error says
	//	records    a record of a list that one side has not
	//	order      the order of the records in a list, which is the body
	//	rendering  the order of fields, blanks, escapes
	//	other      a field that is not in the contract
	Field string
	// Record is the key or the number of the record in a list, "" outside lists.
	Record string
	// Private: the values tell of a person or are secret, or may be.
	Private bool
	// Values of the two sides, texts quoted; nil where a side has none. Records and
	// lists are told by their size alone.
	Legacy, Candidate *string
}

// Masked returns d without its values where these are private: of a text it tells the
// length in characters.
func (d Difference) Masked() Difference {
	if d.Private {
		d.Legacy, d.Candidate = masked(d.Legacy), masked(d.Candidate)
	}
	return d
}

func masked(value *string) *string {
	if value == nil {
		return nil
	}
	switch text, err := strconv.Unquote(*value); {
	case *value == "null" || *value == "true" || *value == "false" || *value == `""` || sized.MatchString(*value):
		return value
	case err == nil:
		return new(fmt.Sprintf("text of %d, masked", utf8.RuneCountInString(text)))
	}
	return new("masked")
}

// sized matches what tells no more than a size.
var sized = regexp.MustCompile(`^(?:list|record) of [0-9]+$`)

const (
	maxDifferences = 200 // of one answer
	maxOfField     = 10  // of them at one field
	maxValue       = 200 // bytes of a value that are told
	maxKey         = 64  // bytes of the key of a record
)

// Answers returns where two answers to a call on route, which may be nil, differ:
// at most 200 differences, ten of them at one field.
func Answers(route *contract.Route, legacy, candidate *Answer, o *Options) []Difference {
	d := differ{options: o, counts: map[string]int{}}
	if legacy.Status != candidate.Status {
		d.add(Difference{Field: "status-code", Legacy: new(strconv.Itoa(legacy.Status)), Candidate: new(strconv.Itoa(candidate.Status))})
	}
	// Of nothing no type matters.
	if len(legacy.Body)+len(candidate.Body) > 0 {
		d.header("content-type", foldMedia(legacy.ContentType), foldMedia(candidate.ContentType))
	}
	d.header("location", string(neutral([]byte(legacy.Location), o.Bases[0])), string(neutral([]byte(candidate.Location), o.Bases[1])))
	d.bodies(route, legacy, candidate)
	return d.found
}

// foldMedia returns a media type in the one spelling of all that mean the same.
func foldMedia(header string) string {
	media, parameters, err := mime.ParseMediaType(header)
	if err != nil {
		return header
	}
	for name, value := range parameters {
		parameters[name] = strings.ToLower(value)
	}
	return mime.FormatMediaType(media, parameters)
}

// A differ collects differences.
type differ struct {
	options *Options
	found   []Difference
	counts  map[string]int // of found, by field
	// tolerated: the bodies differ in what is no difference for the options alone, or in
	// what has been told already.
	tolerated bool
}

// add adds a difference, unless the options say that it is none.
func (d *differ) add(found Difference) {
	for _, ignored := range d.options.Ignore {
		if rest, ok := strings.CutPrefix(found.Field, ignored); ok && (rest == "" || rest[0] == '.') {
			d.tolerated = true
			return
		}
	}
	if d.counts[found.Field] < maxOfField && len(d.found) < maxDifferences {
		d.counts[found.Field]++
		d.found = append(d.found, found)
	}
}

// header adds the difference of a header, which is empty when it is missing.
func (d *differ) header(field, legacy, candidate string) {
	if legacy == candidate {
		return
	}
	told := func(value string) *string {
		if value == "" {
			return nil
		}
		return new(quote(value))
	}
	d.add(Difference{Field: field, Legacy: told(legacy), Candidate: told(candidate)})
}

// quote returns a text in quotes, its end cut off when it is long.
func quote(s string) string { return strconv.Quote(cut(s, maxValue)) }

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
