package compare

import (
	"bytes"
	"cmp"
	"fmt"
	"mime"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/portico-commerce/portico/mapping/contract"
)

// An Answer is the part of a reply in which the two systems must agree.
type Answer struct {
	Status      int
	ContentType string
	Location    string
	Body        []byte
}

// equal reports whether two answers are equal byte by byte. Either may be nil.
func (a *Answer) equal(b *Answer) bool {
	return a != nil && b != nil && a.Status == b.Status && a.ContentType == b.ContentType && bytes.Equal(a.Body, b.Body)
}

// ShortensReply reports whether a header of a request lets a server answer with less than the plain,
// complete body: a condition, a range or an encoding. Requests of comparisons have none of them.
func ShortensReply(header string) bool {
	return slices.Contains([]string{"accept-encoding", "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "range"}, strings.ToLower(header))
}

// Options define the differences to ignore.
type Options struct {
	// Bases are the base URLs of the two systems, legacy first. The base URL of a system in its own
	// reply counts as equal to the other system's. An empty one matches nothing.
	Bases [2]string
	// Unordered ignores the order of records in a list and of fields in a record.
	Unordered bool
	// Clock is the maximum difference between times that is ignored.
	Clock time.Duration
	// Ignore holds fields, in the form of Difference.Field, that may differ, including
	// everything inside them.
	Ignore []string
	// PerField is the maximum number of differences of one field that Answers returns; 0
	// stands for ten. All fields together have twenty times as many.
	PerField int
}

// MaxPerField returns the maximum number of differences of one field.
func (o *Options) MaxPerField() int { return cmp.Or(o.PerField, maxOfField) }

// Ignores reports whether field, in the form of Difference.Field, may differ.
func (o *Options) Ignores(field string) bool {
	return slices.ContainsFunc(o.Ignore, func(ignored string) bool { return within(field, ignored) })
}

// within reports whether field is outer or inside it.
func within(field, outer string) bool {
	rest, ok := strings.CutPrefix(field, outer)
	return ok && (rest == "" || rest[0] == '.')
}

// A Difference is a place at which two replies differ.
type Difference struct {
	// Field names the place and can be a metric label: a field of the resource, nested
	// fields separated by dots ("stock_data.qty"), or one of
	//
	//	status-code, content-type, location
	//	root       the name of the root element
	//	body       a body that cannot be parsed into fields
	//	messages   the messages of an error
	//	records    a record of a list that one system lacks
	//	order      the order of the records in a list that is the whole body
	//	rendering  the order of fields, blanks, escapes
	//	integers   all integers of a JSON answer, which are numbers in one and texts in the other
	//	other      a field that is not part of the contract
	//	answer     a system gave none
	Field string
	// Record is the key or the number of the record in a list, "" outside lists.
	Record string
	// Private: the values are, or may be, personal or secret.
	Private bool
	// Values of the two systems, texts in quotes; nil if absent. Records and lists are
	// described by their size only.
	Legacy, Candidate *string
}

// Integers is the field of the difference that the setting store.integers removes (configurations 10).
const Integers = "integers"

// Masked returns d without private values. It describes a private text by its length in
// characters.
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
	case *value == "null" || *value == "true" || *value == "false" || *value == `""` || sizeOnly.MatchString(*value):
		return value
	case err == nil:
		return new(fmt.Sprintf("text of %d, masked", utf8.RuneCountInString(text)))
	}
	return new("masked")
}

// sizeOnly matches descriptions that only contain a size.
var sizeOnly = regexp.MustCompile(`^(?:list|record) of [0-9]+$`)

const (
	maxOfField = 10  // differences of a field, unless the options say otherwise
	maxFields  = 20  // fields with so many differences, per pair of replies
	maxValue   = 200 // bytes reported of a value
	maxKey     = 64  // bytes reported of a record's key
)

// Answers returns the differences between two replies to a call on route, which may be nil:
// by default at most 200 differences, ten of them per field.
func Answers(route *contract.Route, legacy, candidate *Answer, o *Options) []Difference {
	d := differ{options: o, counts: map[string]int{}}
	if legacy.Status != candidate.Status {
		d.add(Difference{Field: "status-code", Legacy: new(strconv.Itoa(legacy.Status)), Candidate: new(strconv.Itoa(candidate.Status))})
	}
	// The media type of an empty body is irrelevant.
	if len(legacy.Body)+len(candidate.Body) > 0 && legacy.ContentType != candidate.ContentType {
		d.header("content-type", foldMedia(legacy.ContentType), foldMedia(candidate.ContentType))
	}
	d.header("location", string(normalize([]byte(legacy.Location), o.Bases[0])), string(normalize([]byte(candidate.Location), o.Bases[1])))
	d.bodies(route, legacy, candidate)
	return d.found
}

// Replies is [Answers] for two systems of which either may have failed to answer with an
// error. That is one difference, with the name answer.
func Replies(route *contract.Route, answers [2]*Answer, errs [2]error, o *Options) []Difference {
	if errs[0] == nil && errs[1] == nil {
		return Answers(route, answers[0], answers[1], o)
	}
	outcome := func(i int) *string {
		if errs[i] != nil {
			return new("none: " + errs[i].Error())
		}
		return new(strconv.Itoa(answers[i].Status))
	}
	return []Difference{{Field: "answer", Legacy: outcome(0), Candidate: outcome(1)}}
}

// foldMedia returns the canonical spelling of a media type.
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
	// tolerated: the bodies differ, but only in ways that the options ignore or that have
	// already been reported.
	tolerated bool
	// integers are those that are numbers in the legacy store's answer and texts in the candidate's,
	// and the other way round. sameForm: an integer column has the same form in both answers.
	integers [2][]Difference
	sameForm bool
}

// add adds a difference unless the options ignore it.
func (d *differ) add(found Difference) {
	if d.options.Ignores(found.Field) {
		d.tolerated = true
		return
	}
	if most := d.options.MaxPerField(); d.counts[found.Field] < most && len(d.found) < most*maxFields {
		d.counts[found.Field]++
		d.found = append(d.found, found)
	}
}

// header adds the difference of a header. A missing header is empty.
func (d *differ) header(field, legacy, candidate string) {
	if legacy == candidate {
		return
	}
	quoted := func(value string) *string {
		if value == "" {
			return nil
		}
		return new(quote(value))
	}
	d.add(Difference{Field: field, Legacy: quoted(legacy), Candidate: quoted(candidate)})
}

// quote returns a text in quotes, truncated if it is long.
func quote(s string) string { return strconv.Quote(cut(s, maxValue)) }

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
