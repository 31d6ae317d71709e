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
	recentPast   = time.Hour   // how old a datetime may be that a recording leaves open
	recentFuture = time.Minute // how far a server's clock may be ahead
)

// Record makes the requests of exchanges against a trusted implementation and returns
// them with its answers, for [Replay] to hold others to. Of an answer only what
// varies is left open: the base URL, and datetimes of the last hour (UTC). Target.Skip
// is not asked. exchanges is not changed.
func Record(ctx context.Context, target Target, exchanges []Exchange) ([]Exchange, error) {
	p, err := newPlayer(target)
	if err != nil {
		return nil, fmt.Errorf("contracttests: %w", err)
	}
	recorded := make([]Exchange, len(exchanges))
	for i, c := range exchanges {
		c.Steps = append([]Step(nil), c.Steps...)
		if target.Dialect == Documented {
			c.Differs = "" // it would be left out where it has just been recorded
		}
		if err := p.record(ctx, &c); err != nil {
			return nil, fmt.Errorf("%s/%s: %w", c.File, c.Name, err)
		}
		recorded[i] = c
	}
	return recorded, nil
}

// record makes the requests of c and puts the answers in.
func (p *player) record(ctx context.Context, c *Exchange) error {
	if err := p.reset(ctx, c); err != nil {
		return err
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		if !p.target.Credentials.Has(s.As) {
			return fmt.Errorf("step %d: the credentials name no %s", i+1, s.As)
		}
		r := newRequest(p.server, p.target.Credentials, s)
		got, err := p.send(ctx, &r)
		if err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		if s.Response, err = p.response(got, time.Now().UTC()); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		if err := s.validate(); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

// response returns a reply received at a time as it is recorded.
func (p *player) response(got *reply, now time.Time) (Response, error) {
	r := Response{Status: got.status, Body: p.openEnds(got.body, now)}
	if !utf8.ValidString(got.body) {
		return r, errors.New("the answer is not valid UTF-8, which a file of exchanges cannot hold")
	}
	for name, into := range map[string]**string{
		"Content-Type": &r.ContentType, "Location": &r.Location, "WWW-Authenticate": &r.WWWAuthenticate, "Allow": &r.Allow,
	} {
		switch values := got.header.Values(name); len(values) {
		case 0:
		case 1:
			*into = new(p.openEnds(values[0], now))
		default:
			return r, fmt.Errorf("the answer has %d headers %s", len(values), name)
		}
	}
	return r, nil
}

// recordedTime matches a datetime in a body of any format.
var recordedTime = regexp.MustCompile(`(\d{4}-\d\d-\d\d)( |T|\+)(\d\d)(:|%3A)(\d\d)(?::|%3A)(\d\d)((?:\+|%2B)00(?::|%3A)00)?`)

// openEnds puts placeholders in the place of what varies.
func (p *player) openEnds(s string, now time.Time) string {
	base := p.server.baseURL()
	// As text, in JSON, and in a form.
	for _, spelled := range []string{base, strings.ReplaceAll(base, "/", `\/`), formEscape(base)} {
		s = replaceBase(s, spelled)
	}
	return recordedTime.ReplaceAllStringFunc(s, func(found string) string {
		m := recordedTime.FindStringSubmatch(found)
		if (m[2] == "+") != (m[4] == "%3A") && m[2] != "T" { // a plus is a blank in forms alone
			return found
		}
		at, err := time.Parse(time.DateTime, fmt.Sprintf("%s %s:%s:%s", m[1], m[3], m[5], m[6]))
		if err != nil || now.Sub(at) > recentPast || at.Sub(now) > recentFuture {
			return found
		}
		return "{{datetime}}"
	})
}

// replaceBase replaces a base URL where it ends: http://h:80 is no part of
// http://h:8080.
func replaceBase(s, base string) string {
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

// WriteExchanges writes exchanges as a file that [Load] reads.
func WriteExchanges(w io.Writer, exchanges []Exchange) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // bodies are read by people
	enc.SetIndent("", " ")
	return enc.Encode(exchanges)
}
