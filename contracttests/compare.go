package contracttests

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A format is a notation of bodies: a parser, and the one rendering that the contract
// allows for each parsed body.
type format struct {
	name   string
	parse  func(body string) (node, error)
	render func(*strings.Builder, *node)
}

// formatOfMediaType returns the format of a Content-Type. It returns false if bodies of
// that type are compared as text only.
func formatOfMediaType(contentType string) (format, bool) {
	media, _, _ := strings.Cut(normalizeMediaType(contentType), ";")
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

// canonical returns the rendering of n.
func (f format) canonical(n *node) string {
	var b strings.Builder
	f.render(&b, n)
	return b.String()
}

// normalizeMediaType returns a media type in lower case without blanks.
func normalizeMediaType(s string) string {
	return strings.ReplaceAll(strings.ToLower(s), " ", "")
}

// compareReply returns the differences between a recorded response and a reply. With numbers, the reply
// may have numbers for recorded texts of integers.
func compareReply(want *Response, got *reply, numbers bool) []Difference {
	var ds []Difference
	if want.Status != got.status {
		ds = append(ds, Difference{"status", strconv.Itoa(want.Status), strconv.Itoa(got.status)})
	}
	if want.ContentType != nil && want.Body != "" {
		ds = diffHeader(ds, "Content-Type", want.ContentType, got.header, func(want, got string) bool {
			return normalizeMediaType(want) == normalizeMediaType(got)
		})
	}
	ds = diffHeader(ds, "Location", want.Location, got.header, matches)
	ds = diffHeader(ds, "WWW-Authenticate", want.WWWAuthenticate, got.header, matches)
	ds = diffHeader(ds, "Allow", want.Allow, got.header, matches)
	return diffBody(ds, want, got.body, numbers)
}

// diffHeader appends a difference to ds unless got has the header exactly once with a
// value that equal accepts, or does not have it if want is nil.
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

// diffBody appends the differences between the bodies to ds. The recorded Content-Type
// determines how both are parsed. Bodies without a known format are compared as texts
// with placeholders.
func diffBody(ds []Difference, want *Response, got string, numbers bool) []Difference {
	if want.Body == got {
		return ds
	}
	var f format
	known := false
	if want.ContentType != nil {
		f, known = formatOfMediaType(*want.ContentType)
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
	canonical := f.canonical(&gotTree)
	if numbers {
		gotTree.adoptTexts(&wantTree)
	}
	ds = diffNodes(ds, "$", &wantTree, &gotTree)
	if canonical != got {
		ds = append(ds, Difference{"rendering of the body", canonical, got})
	}
	return ds
}

// diffText appends a difference to ds unless got matches want, which may contain
// placeholders.
func diffText(ds []Difference, want, got string) []Difference {
	if !matches(want, got) {
		ds = append(ds, Difference{"body", want, got})
	}
	return ds
}

// placeholderPattern matches a placeholder in an expected text.
var placeholderPattern = regexp.MustCompile(`\{\{(datetime|base_url|any)\}\}`)

// recentPlaceholder matches a datetime of about now. maxClockSkew is shorter than the
// offset of any time zone, so a local time without its offset does not match.
const (
	recentPlaceholder = "{{recent}}"
	maxClockSkew      = 20 * time.Minute
)

// isRecent reports whether text is a datetime in one of the two forms of the contract, in UTC or with
// its offset, that is about now.
func isRecent(text string, now time.Time) bool {
	for _, form := range []string{time.DateTime, "2006-01-02T15:04:05-07:00"} {
		if at, err := time.Parse(form, text); err == nil {
			return at.Sub(now).Abs() < maxClockSkew
		}
	}
	return false
}

// matches reports whether got equals want. Placeholders in want match any text of their
// kind.
func matches(want, got string) bool {
	if want == got {
		return true
	}
	if want == recentPlaceholder {
		return isRecent(got, time.Now())
	}
	var pattern strings.Builder
	rest := 0
	for _, at := range placeholderPattern.FindAllStringSubmatchIndex(want, -1) {
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
	// A recording that is not UTF-8 is no valid pattern, and matches only itself.
	re, err := regexp.Compile(`\A(?s:` + pattern.String() + `)\z`)
	return err == nil && re.MatchString(got)
}
