package contracttests

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A format is a way a body is written, with a parser and the one rendering the
// contract allows for what was parsed.
type format struct {
	name   string
	parse  func(body string) (node, error)
	render func(*strings.Builder, *node)
}

// formatOf returns the format of a media type; false for one that is compared
// as a text only.
func formatOf(contentType string) (format, bool) {
	media, _, _ := strings.Cut(foldMedia(contentType), ";")
	switch media {
	case "application/json":
		return format{"JSON", parseJSON, renderJSON}, true
	case "application/xml":
		return format{"XML", parseXML, renderXML}, true
	case "text/plain", "application/x-www-form-urlencoded":
		return format{"form", parseForm, renderForm}, true
	}
	return format{}, false
}

// canonical returns the rendering of n in f.
func (f format) canonical(n *node) string {
	var b strings.Builder
	f.render(&b, n)
	return b.String()
}

// foldMedia returns a media type with letter case and blanks folded.
func foldMedia(s string) string {
	return strings.ReplaceAll(strings.ToLower(s), " ", "")
}

// compare returns what of a reply is not as recorded.
func compare(want *Response, got *reply) []Difference {
	var ds []Difference
	if want.Status != got.status {
		ds = append(ds, Difference{"status", strconv.Itoa(want.Status), strconv.Itoa(got.status)})
	}
	if want.ContentType != nil && want.Body != "" {
		ds = diffHeader(ds, "Content-Type", want.ContentType, got.header, func(want, got string) bool {
			return foldMedia(want) == foldMedia(got)
		})
	}
	ds = diffHeader(ds, "Location", want.Location, got.header, matches)
	ds = diffHeader(ds, "WWW-Authenticate", want.WWWAuthenticate, got.header, matches)
	ds = diffHeader(ds, "Allow", want.Allow, got.header, matches)
	return diffBody(ds, want, got.body)
}

// diffHeader appends a difference to ds unless the header stands in got as
// often as recorded, once or never, with a value that equal accepts.
func diffHeader(ds []Difference, name string, want *string, got http.Header, equal func(want, got string) bool) []Difference {
	values := got.Values(name)
	if want == nil {
		if len(values) > 0 {
			ds = append(ds, Difference{name, "no such header", strings.Join(values, "; ")})
		}
		return ds
	}
	if len(values) != 1 {
		return append(ds, Difference{name, *want, strconv.Itoa(len(values)) + " such headers"})
	}
	if !equal(*want, values[0]) {
		ds = append(ds, Difference{name, *want, values[0]})
	}
	return ds
}

// diffBody appends the differences of the bodies to ds. The recorded
// Content-Type says how they are read; a body without one, or one that is no
// such format, is a text with placeholders.
func diffBody(ds []Difference, want *Response, got string) []Difference {
	if want.Body == got {
		return ds
	}
	var f format
	known := false
	if want.ContentType != nil {
		f, known = formatOf(*want.ContentType)
	}
	if want.Body == "" || !known {
		return diffText(ds, want.Body, got)
	}
	wantTree, err := f.parse(want.Body)
	if err != nil {
		return diffText(ds, want.Body, got)
	}
	gotTree, err := f.parse(got)
	if err != nil {
		ds = append(ds, Difference{"body", f.name, "none: " + err.Error()})
		return diffText(ds, want.Body, got)
	}
	ds = diffNodes(ds, "$", &wantTree, &gotTree)
	if canonical := f.canonical(&gotTree); canonical != got {
		ds = append(ds, Difference{"rendering of the body", canonical, got})
	}
	return ds
}

func diffText(ds []Difference, want, got string) []Difference {
	if !matches(want, got) {
		ds = append(ds, Difference{"body", want, got})
	}
	return ds
}

var placeholder = regexp.MustCompile(`\{\{(datetime|base_url|any)\}\}`)

// recent stands for a datetime of now, as far as clocks agree: one in another time
// zone is not.
const (
	recent       = "{{recent}}"
	clocksDiffer = 20 * time.Minute
)

// isRecent reports whether a text is a datetime of about now, in UTC and in either
// form of the contract.
func isRecent(text string, now time.Time) bool {
	for _, form := range []string{time.DateTime, "2006-01-02T15:04:05+00:00"} {
		if at, err := time.Parse(form, text); err == nil {
			return at.Sub(now).Abs() < clocksDiffer
		}
	}
	return false
}

// matches reports whether got is want, whose placeholders stand for any text of
// their kind.
func matches(want, got string) bool {
	if want == got {
		return true
	}
	if want == recent {
		return isRecent(got, time.Now())
	}
	var pattern strings.Builder
	rest := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(want, -1) {
		pattern.WriteString(regexp.QuoteMeta(want[rest:at[0]]))
		switch want[at[2]:at[3]] {
		case "datetime":
			pattern.WriteString(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d([+-]\d\d:\d\d)?`)
		case "base_url":
			pattern.WriteString(`https?://[^/]+`)
		case "any":
			pattern.WriteString(`.*`)
		}
		rest = at[1]
	}
	if rest == 0 {
		return false
	}
	pattern.WriteString(regexp.QuoteMeta(want[rest:]))
	// A recording that is no UTF-8 makes no pattern, and matches itself alone.
	re, err := regexp.Compile(`\A(?s:` + pattern.String() + `)\z`)
	return err == nil && re.MatchString(got)
}
