package console

import (
	"context"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Try has the calls and functions of the page to try calls. The callers to choose from come from
// [Credentials.Consumers].
type Try struct {
	Calls []TryCall
	// Impersonate allows calls as any known caller, and not only as a Guest.
	Impersonate bool
	// Base returns the base URL under which clients reach the contract.
	Base func() string
	// Send sends a call. token is the one to sign with, "" for a Guest.
	Send func(ctx context.Context, r TryRequest) (*TryAnswer, error)
}

// A TryCall is a call of the contract.
type TryCall struct {
	Name, Method string
	Path         string   // below the base path, with parameters such as :id
	Params       []string // names of the parameters
}

// A TryRequest is a request to send.
type TryRequest struct {
	Method, Base, Target string // Target begins with /
	Accept               string
	ContentType, Body    string
	Consumer, Token      string // with which to sign; "" for a Guest
}

// A TryAnswer is an answer.
type TryAnswer struct {
	Status int
	Header []string // lines
	Body   string   // its beginning
	Cut    bool     // there is more of it
	Took   time.Duration
	// Authorization signs the same request once more, for the curl line; "" for a Guest.
	Authorization string
}

const tryPath = "/console/try"

const (
	// maxTryCallers is the number of callers to choose from.
	maxTryCallers = 200
	guestCaller   = "guest"
)

// A tryPage is the data of the page.
type tryPage struct {
	Calls               []TryCall
	Call                TryCall
	Values              map[string]string // of the parameters
	Query               string
	Accept              string
	Accepts             []string
	Body                string
	Caller, Search      string
	Callers             []tryCaller
	More                bool // there are more callers
	Impersonate, IsDemo bool
	Sent                *TryRequest
	Answer              *TryAnswer
	Curl                string
	TakesBody           bool
}

// A tryCaller is a caller to choose.
type tryCaller struct{ Value, Label string }

func (v *visit) showTry() error {
	query := v.r.URL.Query()
	p, err := v.newTryPage(query.Get("call"), query.Get("search"))
	if err != nil {
		return err
	}
	p.Accept = "application/json"
	p.Caller = guestCaller
	if len(p.Callers) > 1 && query.Get("search") != "" {
		p.Caller = p.Callers[1].Value
	}
	return v.show(http.StatusOK, "try", "Try it", p)
}

// newTryPage returns the page for a call, with the callers whose name or key contains search.
func (v *visit) newTryPage(call, search string) (*tryPage, error) {
	p := &tryPage{
		Calls: v.Try.Calls, Values: map[string]string{}, Accepts: []string{"application/json", "text/xml", "*/*"}, Search: search,
		Impersonate: v.Try.Impersonate, IsDemo: v.Demo, Callers: []tryCaller{{guestCaller, "a Guest"}},
	}
	at := slices.IndexFunc(v.Try.Calls, func(c TryCall) bool { return c.Name == call })
	p.Call = v.Try.Calls[max(at, 0)]
	p.TakesBody = p.Call.Method == http.MethodPost || p.Call.Method == http.MethodPut
	if !v.Try.Impersonate {
		return p, nil
	}
	grants, err := v.Credentials.Consumers(v.r.Context())
	if err != nil {
		return nil, err
	}
	search = strings.ToLower(search)
	for _, g := range grants {
		if search != "" && !strings.Contains(strings.ToLower(g.Consumer.Name+"\n"+g.Consumer.Key), search) {
			continue
		}
		for _, t := range g.Tokens {
			if t.Revoked || t.Type != adapter.AccessToken {
				continue
			}
			if len(p.Callers) > maxTryCallers {
				p.More = true
				return p, nil
			}
			actsFor := fmt.Sprintf("customer %d", t.CustomerID)
			if t.AdminID != 0 {
				actsFor = fmt.Sprintf("admin %d", t.AdminID)
			}
			p.Callers = append(p.Callers, tryCaller{g.Consumer.Key + " " + t.Token, fmt.Sprintf("%s, %s (token %s…)", g.Consumer.Name, actsFor, shorten(t.Token))})
		}
	}
	return p, nil
}

// sendTry sends a call and shows the answer.
func (v *visit) sendTry() error {
	form := v.r.PostForm
	p, err := v.newTryPage(form.Get("call"), form.Get("search"))
	if err != nil {
		return err
	}
	v.path = tryPath
	p.Query, p.Accept, p.Body, p.Caller = strings.TrimPrefix(strings.TrimSpace(form.Get("query")), "?"), form.Get("accept"), form.Get("body"), form.Get("caller")
	target := p.Call.Path
	for _, name := range p.Call.Params {
		value := v.field("param-" + name)
		if value == "" {
			return Refusal("Give a value for " + name + ".")
		}
		p.Values[name] = value
		target = strings.Replace(target, ":"+name, url.PathEscape(value), 1)
	}
	if p.Query != "" {
		target += "?" + p.Query
	}
	if u, err := url.ParseRequestURI(target); err != nil || u.Host != "" || strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Refusal("The path or the query has characters that must be escaped, such as %20 for a blank.")
	}
	if !slices.Contains(p.Accepts, p.Accept) {
		return Refusal("Choose one of the formats.")
	}
	r := TryRequest{Method: p.Call.Method, Base: v.Try.Base(), Target: target, Accept: p.Accept}
	if p.TakesBody {
		r.Body, r.ContentType = p.Body, "application/json"
		if strings.HasPrefix(strings.TrimSpace(p.Body), "<") {
			r.ContentType = "text/xml"
		}
	}
	if p.Caller != guestCaller {
		if !v.Try.Impersonate {
			return Refusal("Calls as somebody else need ops.console_impersonate.")
		}
		r.Consumer, r.Token, _ = strings.Cut(p.Caller, " ")
		v.audit("call as somebody else", "call", p.Call.Name, "method", r.Method, "consumer", shorten(r.Consumer), "token", shorten(r.Token))
	}
	answer, err := v.Try.Send(v.r.Context(), r)
	if err != nil {
		return err
	}
	p.Sent, p.Answer, p.Curl = &r, answer, curlLine(&r, answer.Authorization)
	return v.show(http.StatusOK, "try", "Try it", p)
}

// curlLine returns a command that sends a request.
func curlLine(r *TryRequest, authorization string) string {
	parts := []string{"curl -g -i"} // -g: brackets of filters are no patterns
	if r.Method != http.MethodGet {
		parts = append(parts, "-X "+r.Method)
	}
	parts = append(parts, "-H "+quote("Accept: "+r.Accept))
	if authorization != "" {
		parts = append(parts, "-H "+quote("Authorization: "+authorization))
	}
	if r.ContentType != "" {
		parts = append(parts, "-H "+quote("Content-Type: "+r.ContentType), "--data-binary "+quote(r.Body))
	}
	return strings.Join(append(parts, quote(r.Base+r.Target)), " ")
}

// quote quotes a text for a shell. The bytes of characters that pages do not show are escaped, as bash
// and zsh read them.
func quote(text string) string {
	if !strings.ContainsFunc(text, isInvisible) {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case isInvisible(r):
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return "$'" + b.String() + "'"
}
