package contracttests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	recentPast   = time.Hour   // maximum age of a datetime that is replaced
	recentFuture = time.Minute // maximum clock skew of a server
)

// Record makes the requests of exchanges against a trusted implementation. It returns
// copies of the exchanges with the replies as their responses, for [Replay]. Placeholders
// replace the parts of a reply that vary: the base URL, and datetimes of the last hour
// (UTC). Record resets the data set as Replay does, but ignores Target.Skip.
func Record(ctx context.Context, target Target, exchanges []Exchange) ([]Exchange, error) {
	p, err := newSession(target)
	if err != nil {
		return nil, fmt.Errorf("contracttests: %w", err)
	}
	recorded := make([]Exchange, len(exchanges))
	for i, c := range exchanges {
		c.Steps = append([]Step(nil), c.Steps...)
		if target.Dialect == Documented {
			c.Differs = "" // otherwise Replay would leave it out in this dialect
		}
		if err := p.record(ctx, &c); err != nil {
			return nil, fmt.Errorf("%s/%s: %w", c.File, c.Name, err)
		}
		recorded[i] = c
	}
	return recorded, nil
}

// record makes the requests of c and stores the replies in its steps.
func (p *session) record(ctx context.Context, c *Exchange) error {
	if err := p.resetIfNeeded(ctx, c); err != nil {
		return err
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		if !p.target.Credentials.Has(s.As) {
			return fmt.Errorf("step %d: there are no credentials for %s", i+1, s.As)
		}
		r := newRequest(p.server, p.target.Credentials, s)
		got, err := p.send(ctx, &r)
		if err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		if s.Response, err = p.newResponse(got, time.Now().UTC()); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		if err := s.validate(); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

// newResponse returns the response to record for a reply that was received at the time
// now (UTC).
func (p *session) newResponse(got *reply, now time.Time) (Response, error) {
	r := Response{Status: got.status, Body: p.insertPlaceholders(got.body, now)}
	if !utf8.ValidString(got.body) {
		return r, errors.New("the reply is not valid UTF-8, so it cannot be stored in a file of exchanges")
	}
	for name, into := range map[string]**string{
		"Content-Type": &r.ContentType, "Location": &r.Location, "WWW-Authenticate": &r.WWWAuthenticate, "Allow": &r.Allow,
	} {
		switch values := got.header.Values(name); len(values) {
		case 0:
		case 1:
			*into = new(p.insertPlaceholders(values[0], now))
		default:
			return r, fmt.Errorf("the reply has %d headers %s", len(values), name)
		}
	}
	return r, nil
}

// datetimePattern matches a datetime in a body of any format.
var datetimePattern = regexp.MustCompile(`(\d{4}-\d\d-\d\d)( |T|\+)(\d\d)(:|%3A)(\d\d)(?::|%3A)(\d\d)(?:(\+|%2B|-)(\d\d)(?::|%3A)(\d\d))?`)

// insertPlaceholders replaces the base URL and recent datetimes in s by placeholders.
func (p *session) insertPlaceholders(s string, now time.Time) string {
	base := p.server.baseURL()
	// The base URL as plain text, in JSON and in a form.
	for _, spelled := range []string{base, strings.ReplaceAll(base, "/", `\/`), escapeForm(base)} {
		s = replaceBaseURL(s, spelled)
	}
	return datetimePattern.ReplaceAllStringFunc(s, func(found string) string {
		m := datetimePattern.FindStringSubmatch(found)
		if (m[2] == "+") != (m[4] == "%3A") && m[2] != "T" { // a plus is a blank only in forms
			return found
		}
		form, text := time.DateTime, fmt.Sprintf("%s %s:%s:%s", m[1], m[3], m[5], m[6])
		if m[7] != "" { // local time
			form, text = form+"-07:00", text+strings.Replace(m[7], "%2B", "+", 1)+m[8]+":"+m[9]
		}
		at, err := time.Parse(form, text)
		if err != nil || now.Sub(at) > recentPast || at.Sub(now) > recentFuture {
			return found
		}
		return "{{datetime}}"
	})
}

// replaceBaseURL replaces a base URL by {{base_url}}, but not where it is the prefix of
// another host or port: http://h:80 is not replaced in http://h:8080.
func replaceBaseURL(s, base string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, base)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if after != "" && strings.ContainsAny(after[:1], "0123456789:.-") || after != "" && isLetter(after[0]) {
			b.WriteString(base)
		} else {
			b.WriteString("{{base_url}}")
		}
		s = after
	}
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// WriteExchanges writes exchanges as indented JSON, which [Load] reads.
func WriteExchanges(w io.Writer, exchanges []Exchange) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // bodies are read by people
	enc.SetIndent("", " ")
	return enc.Encode(exchanges)
}
