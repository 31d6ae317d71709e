package contracttests

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	shownDifferences = 12 // shown of one step
	shownAround      = 60 // bytes shown before and after a mark
)

// text returns the failed step of an exchange as lines for a test log.
func (f *Failure) text() string {
	if f.Step == 0 {
		return f.Broken + "\n"
	}
	what := formatDifferences(f.Differences)
	if f.Broken != "" {
		what = "  " + f.Broken + "\n"
	}
	return fmt.Sprintf("step %d\n  %s\n%s", f.Step, f.Curl, what)
}

// text returns a recorded response as lines for a report: the status, the headers that
// are compared, and the body.
func (r *Response) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "status: %d\n", r.Status)
	for _, h := range []struct {
		name  string
		value *string
	}{{"Content-Type", r.ContentType}, {"Location", r.Location}, {"WWW-Authenticate", r.WWWAuthenticate}, {"Allow", r.Allow}} {
		if h.value != nil {
			fmt.Fprintf(&b, "%s: %s\n", h.name, *h.value)
		}
	}
	return truncate(b.String() + "\n" + r.Body)
}

// maskedBytes returns the request as it is sent, with the names of shell variables in
// place of the credentials.
func (r *request) maskedBytes() []byte {
	shown := *r
	shown.auth = nil
	for _, h := range r.auth {
		shown.auth = append(shown.auth, header{h.name, "$" + shellVariable(h.name+"_"+r.as)})
	}
	return shown.bytes()
}

// repeatCommand returns a command line that repeats the request, for a failure. It is
// empty if the command would have to contain a secret.
func (t *Target) repeatCommand(srv server, r *request) string {
	command := curl(srv, r, t.SignCommand)
	if t.Credentials.Redact(command) != command {
		return ""
	}
	return command
}

// curl returns a curl command that repeats the request. So that reports show no secrets,
// curl reads the credentials from the output of sign (see [Target.SignCommand]); if that
// is empty, the command contains shell variables in their place.
func curl(srv server, r *request, sign string) string {
	var b strings.Builder
	if sign != "" && len(r.auth) > 0 {
		b.WriteString(sign + " --as " + r.as)
		if form := bodyParameters(r); form != nil {
			b.WriteString(" --form " + QuoteShell(*r.body))
		}
		b.WriteString(" " + QuoteShell(r.method) + " " + QuoteShell(signedURL(srv, r)) + " | ")
	}
	b.WriteString("curl -sS -i --path-as-is -g")
	if r.method == "HEAD" {
		b.WriteString(" -I")
	} else {
		b.WriteString(" -X " + QuoteShell(r.method))
	}
	// Without -H "NAME:", curl adds these headers itself.
	for _, name := range []string{"User-Agent", "Accept", "Content-Type"} {
		if !r.hasHeader(name) {
			b.WriteString(" -H " + QuoteShell(name+":"))
		}
	}
	for _, h := range r.headers {
		if h.value == "" {
			b.WriteString(" -H " + QuoteShell(h.name+";"))
		} else {
			b.WriteString(" -H " + QuoteShell(h.name+": "+h.value))
		}
	}
	if sign != "" && len(r.auth) > 0 {
		b.WriteString(" -H @-")
	} else {
		for _, h := range r.auth {
			fmt.Fprintf(&b, ` -H "%s: $%s"`, h.name, shellVariable(h.name+"_"+r.as))
		}
	}
	url := srv.origin() + r.target
	if isAbsolute(r.target) {
		b.WriteString(" --request-target " + QuoteShell(r.target) + " -H " + QuoteShell("Host: "+r.host))
		url = srv.origin()
	}
	if r.body != nil {
		b.WriteString(" --data-raw " + QuoteShell(*r.body))
	} else if n := r.contentLength(); n != "" {
		b.WriteString(" -H " + QuoteShell("Content-Length: "+n))
	}
	b.WriteString(" " + QuoteShell(url))
	return b.String()
}

// shellVariable converts a name to the name of a shell variable.
func shellVariable(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(name))
}

// hasHeader reports whether the request sets a header, other than Host and
// Content-Length.
func (r *request) hasHeader(name string) bool {
	return slices.ContainsFunc(slices.Concat(r.headers, r.auth), func(h header) bool { return strings.EqualFold(h.name, name) })
}

// QuoteShell quotes s as one word of a shell command.
func QuoteShell(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// formatDifferences returns one paragraph for each difference, at most shownDifferences.
// The first differing byte of want and got is marked.
func formatDifferences(ds []Difference) string {
	var b strings.Builder
	for i, d := range ds {
		if i == shownDifferences {
			fmt.Fprintf(&b, "  and %d more\n", len(ds)-i)
			break
		}
		want, got := mark(d.Want, d.Got)
		fmt.Fprintf(&b, "  %s\n    want %s\n    got  %s\n", d.Where, want, got)
	}
	return b.String()
}

// mark returns both texts quoted and truncated around the first byte that differs, with »
// in front of that byte.
func mark(want, got string) (string, string) {
	at := 0
	for at < min(len(want), len(got)) && want[at] == got[at] {
		at++
	}
	for at > 0 && at < len(want) && !utf8.RuneStart(want[at]) {
		at--
	}
	return excerpt(want, at), excerpt(got, at)
}

// excerpt quotes the bytes of s around the index at, with » in front of it.
func excerpt(s string, at int) string {
	from, to := max(0, at-shownAround), min(len(s), at+shownAround)
	before, after := "", ""
	if from > 0 {
		before = "…"
	}
	if to < len(s) {
		after = "…"
	}
	return fmt.Sprintf("%s%q » %q%s", before, s[from:at], s[at:to], after)
}
