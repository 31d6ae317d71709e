package contracttests

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	shownDifferences = 12 // of one step
	shownAround      = 60 // bytes before and after a mark
)

// stepError tells what went wrong with one request, which it shows as a command
// line.
func stepError(srv server, r *request, index int, what string) error {
	return fmt.Errorf("step %d\n  %s\n%s", index+1, curl(srv, r), what)
}

// curl returns a command that makes the request again. Credentials are left to
// a shell variable, so that no secret stands in a report.
func curl(srv server, r *request) string {
	var b strings.Builder
	b.WriteString("curl -sS -i --path-as-is -g")
	if r.method == "HEAD" {
		b.WriteString(" -I")
	} else {
		b.WriteString(" -X " + quoteShell(r.method))
	}
	// curl adds headers of its own unless told not to.
	for _, name := range []string{"User-Agent", "Accept", "Content-Type"} {
		if !r.states(name) {
			b.WriteString(" -H " + quoteShell(name+":"))
		}
	}
	for _, h := range r.headers {
		switch {
		case h.name == "Authorization" && r.as != "":
			b.WriteString(` -H "Authorization: $AUTHORIZATION_` + strings.ToUpper(r.as) + `"`)
		case h.value == "":
			b.WriteString(" -H " + quoteShell(h.name+";"))
		default:
			b.WriteString(" -H " + quoteShell(h.name+": "+h.value))
		}
	}
	url := srv.baseURL() + r.target
	if isAbsolute(r.target) {
		b.WriteString(" --request-target " + quoteShell(r.target) + " -H " + quoteShell("Host: "+r.host))
		url = srv.baseURL()
	}
	if r.body != nil {
		b.WriteString(" --data-raw " + quoteShell(*r.body))
	} else if n := r.contentLength(); n != "" {
		b.WriteString(" -H " + quoteShell("Content-Length: "+n))
	}
	b.WriteString(" " + quoteShell(url))
	return b.String()
}

// states reports whether the request has a header of its own called name.
func (r *request) states(name string) bool {
	for _, h := range r.headers {
		if strings.EqualFold(h.name, name) {
			return true
		}
	}
	return false
}

func quoteShell(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// formatDifferences returns the differences one below the other, with a mark
// where want and got part.
func formatDifferences(ds []difference) string {
	var b strings.Builder
	for i, d := range ds {
		if i == shownDifferences {
			fmt.Fprintf(&b, "  and %d more\n", len(ds)-i)
			break
		}
		want, got := mark(d.want, d.got)
		fmt.Fprintf(&b, "  %s\n    want %s\n    got  %s\n", d.where, want, got)
	}
	return b.String()
}

// mark returns both texts quoted and cut to what is around the first byte they
// differ in, which » stands before.
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
