package contracttests

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A visit plays a case outside of /api/rest: a program that asks for tokens, and a user's
// browser, which stores cookies, fills in the forms that it finds, and does not follow
// redirects by itself.
type visit struct {
	p       *caseRun
	ctx     context.Context
	jar     *cookiejar.Jar
	step    int
	call    string // "guest: GET /oauth/authorize"
	reply   *reply
	at      *url.URL // of the reply
	origin  string   // scheme and host of the first URL that the server has sent
	page    htmlPage // of the reply
	secrets []string // that the server has sent
}

// runVisit plays the visit of the case. It removes the secrets that the server has sent
// from the calls of the result.
func (p *caseRun) runVisit(ctx context.Context) error {
	if p.run.target.Credentials.Consent.Consumer.Key == "" {
		return skipError("the credentials have no consent.consumer")
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	v := &visit{p: p, ctx: ctx, jar: jar}
	defer func() {
		for i := range p.result.Calls {
			c := &p.result.Calls[i]
			c.Request, c.Reply = v.redact(c.Request), v.redact(c.Reply)
		}
	}()
	return p.job.c.visit(v)
}

// redact returns text without secrets.
func (v *visit) redact(text string) string {
	var pairs []string
	for _, secret := range v.secrets {
		pairs = append(pairs, secret, "[secret]", url.QueryEscape(secret), "[secret]")
	}
	return strings.NewReplacer(pairs...).Replace(v.p.run.target.Credentials.Redact(text))
}

// send makes a request to a path below the base path, or to a URL that the server has sent,
// and reads the reply. form is the body; nil means none.
func (v *visit) send(method, target string, form url.Values, headers map[string]string) error {
	srv := v.p.run.server
	v.step++
	v.call = Guest + ": " + method + " " + target
	if isAbsolute(target) {
		var err error
		if target, err = v.below(target); err != nil {
			return err
		}
	}
	u, err := url.Parse(srv.baseURL() + target)
	if err != nil || !strings.HasPrefix(target, "/") {
		return v.broken("the page leads to " + quoteShort(target) + ", which is not on the server")
	}
	s := &Step{As: Guest, Method: method, Path: "!" + target, Headers: map[string]string{"Accept": "text/html"}}
	maps.Copy(s.Headers, headers)
	var cookies []string
	for _, c := range v.jar.Cookies(u) {
		cookies = append(cookies, c.Name+"="+c.Value)
	}
	if len(cookies) > 0 {
		s.Headers["Cookie"] = strings.Join(cookies, "; ")
	}
	if form != nil {
		s.Body, s.ContentType = new(form.Encode()), new("application/x-www-form-urlencoded")
	}
	if err := s.validateRequest(); err != nil {
		return v.broken(err.Error())
	}
	_, got, err := v.p.send(v.ctx, s)
	if err != nil {
		return v.broken("no answer: " + err.Error())
	}
	for _, c := range (&http.Response{Header: got.header}).Cookies() {
		v.jar.SetCookies(u, []*http.Cookie{c})
		v.hide(c.Value)
	}
	v.reply, v.at, v.page = got, u, htmlPage{}
	if strings.HasPrefix(normalizeMediaType(got.header.Get("Content-Type")), "text/html") {
		v.page = parsePage(got.body)
	}
	return nil
}

// below returns the path below the base path of a URL that the server has sent. The server
// may be known to browsers by another host than the one that is tested, but by one alone.
func (v *visit) below(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", v.broken("the page leads to " + quoteShort(address) + ", which is not a URL")
	}
	origin := u.Scheme + "://" + u.Host
	v.origin = cmp.Or(v.origin, origin)
	path, ok := strings.CutPrefix(u.RequestURI(), v.p.run.server.path)
	if origin != v.origin || !ok {
		return "", v.broken("the page leads to " + quoteShort(address) + ", which is not on the server")
	}
	return path, nil
}

// hide makes a value that the server has sent a secret.
func (v *visit) hide(value string) {
	if len(value) >= 8 {
		v.secrets = append(v.secrets, value)
	}
}

// get opens a page.
func (v *visit) get(target string) error { return v.send(http.MethodGet, target, nil, nil) }

// follow opens the page to which the reply redirects.
func (v *visit) follow() error { return v.get(v.reply.header.Get("Location")) }

// submit sends a form of the page with some of its fields filled in.
func (v *visit) submit(f htmlForm, filled url.Values) error {
	u, err := v.at.Parse(f.action)
	if err != nil {
		return v.broken("the form has no valid action: " + quoteShort(f.action))
	}
	fields := maps.Clone(f.fields)
	maps.Copy(fields, filled)
	u.Fragment = ""
	if f.method == http.MethodPost {
		return v.send(f.method, u.String(), fields, nil)
	}
	u.RawQuery = fields.Encode()
	return v.get(u.String())
}

// program makes a request of a program that signs with PLAINTEXT. It sends the parameters
// in the Authorization header, and others of the same name override the usual ones; empty
// ones are left out.
func (v *visit) program(method, path string, tokenSecret string, others map[string]string) error {
	consumer := v.p.run.target.Credentials.Consent.Consumer
	parameters := map[string]string{
		"oauth_version": "1.0", "oauth_signature_method": string(Plaintext), "oauth_consumer_key": consumer.Key,
		"oauth_signature": consumer.Secret + "&" + tokenSecret,
	}
	maps.Copy(parameters, others)
	var ps []parameter
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if parameters[name] != "" {
			ps = append(ps, parameter{name, parameters[name]})
		}
	}
	return v.send(method, path, nil, map[string]string{"Accept": "application/json", "Authorization": oauthHeader(ps)})
}

// broken returns a failure of the present step without a comparison.
func (v *visit) broken(what string) error { return v.failure(&Failure{Broken: v.redact(what)}) }

// failure completes a failure of the present step. There is no command that repeats the
// request: it would need cookies and tokens of the case.
func (v *visit) failure(f *Failure) error {
	f.Step, f.Call, f.Clause = v.step, v.redact(v.call), strings.Join(v.p.job.c.Clauses, "; ")
	return f
}

// A check compares one thing of the reply. It returns a Difference without Where if it is
// as expected.
type check func(*visit) Difference

// expect returns a failure unless all checks pass. said describes the expected reply.
func (v *visit) expect(said string, checks ...check) error {
	var ds []Difference
	for _, c := range checks {
		if d := c(v); d.Where != "" {
			d.Got = truncate(v.redact(d.Got))
			d.Want = v.redact(d.Want)
			ds = append(ds, d)
		}
	}
	if len(ds) == 0 {
		return nil
	}
	return v.failure(&Failure{Expect: said, Differences: ds})
}

// hasStatus checks the status.
func hasStatus(want int) check {
	return func(v *visit) Difference {
		if v.reply.status == want {
			return Difference{}
		}
		return Difference{"status", strconv.Itoa(want), strconv.Itoa(v.reply.status)}
	}
}

// isPage checks that the reply is an HTML page with status 200 and these texts.
func isPage(texts ...string) check {
	return func(v *visit) Difference {
		media := v.reply.header.Get("Content-Type")
		switch {
		case v.reply.status != http.StatusOK:
			return hasStatus(http.StatusOK)(v)
		case !strings.HasPrefix(normalizeMediaType(media), "text/html"):
			return Difference{"Content-Type", "text/html", media}
		}
		for _, text := range texts {
			if !strings.Contains(v.page.text, text) {
				return Difference{"text of the page", text, v.page.text}
			}
		}
		return Difference{}
	}
}

// hasNoForm checks that nothing can be decided on the page.
func hasNoForm(v *visit) Difference {
	if len(v.page.forms) == 0 {
		return Difference{}
	}
	return Difference{"forms of the page", "none", strconv.Itoa(len(v.page.forms))}
}

// hex32 is the expected value of a parameter with a token.
const hex32 = "32 hexadecimal digits"

var thirtyTwoDigits = regexp.MustCompile(`\A[0-9a-f]{32}\z`)

// redirectsTo checks that the reply redirects to a URL that begins with prefix and has these
// parameters, among others. hex32 matches 32 hexadecimal digits.
func redirectsTo(prefix string, parameters map[string]string) check {
	return func(v *visit) Difference {
		location := v.reply.header.Get("Location")
		u, err := url.Parse(location)
		if v.reply.status != http.StatusFound {
			return hasStatus(http.StatusFound)(v)
		}
		if err != nil || !strings.HasPrefix(location, prefix) {
			return Difference{"Location", prefix + "…", location}
		}
		query := u.Query()
		for _, name := range slices.Sorted(maps.Keys(parameters)) {
			want, got := parameters[name], query.Get(name)
			if want == hex32 && thirtyTwoDigits.MatchString(got) {
				continue
			}
			if want != got {
				return Difference{"parameter " + name + " of the Location", want, got}
			}
		}
		return Difference{}
	}
}

// isForm checks that the reply is form-encoded.
func isForm(v *visit) Difference {
	const want = "application/x-www-form-urlencoded"
	if got := v.reply.header.Get("Content-Type"); normalizeMediaType(got) != want {
		return Difference{"Content-Type", want, got}
	}
	return Difference{}
}

// isProblem checks that the reply refuses a program.
func isProblem(status int, problem string) check {
	return func(v *visit) Difference {
		if d := hasStatus(status)(v); d.Where != "" {
			return d
		}
		if d := isForm(v); d.Where != "" {
			return d
		}
		if want := "oauth_problem=" + problem; v.reply.body != want {
			return Difference{"body", want, v.reply.body}
		}
		return Difference{}
	}
}

// tokenReply matches the reply that hands out a token.
var tokenReply = regexp.MustCompile(`\Aoauth_token=([0-9a-f]{32})&oauth_token_secret=([0-9a-f]{32})(&oauth_callback_confirmed=true)?\z`)

// token returns the token of the reply and its secret. A request token is confirmed.
func (v *visit) token(isRequestToken bool) (token, secret string, err error) {
	found := tokenReply.FindStringSubmatch(v.reply.body)
	want := "oauth_token=<32 hex>&oauth_token_secret=<32 hex>"
	if isRequestToken {
		want += "&oauth_callback_confirmed=true"
	}
	if found != nil {
		v.hide(found[2])
		if !isRequestToken {
			v.hide(found[1])
		}
	}
	err = v.expect("a token", hasStatus(http.StatusOK), isForm, func(v *visit) Difference {
		if found == nil || (found[3] != "") != isRequestToken {
			return Difference{"body", want, v.reply.body}
		}
		return Difference{}
	})
	if err != nil {
		return "", "", err
	}
	return found[1], found[2], nil
}

// find returns the text that the first group of pattern matches on the page. It is a secret.
func (v *visit) find(pattern string) (string, error) {
	found := regexp.MustCompile(pattern).FindStringSubmatch(v.page.text)
	if found == nil {
		return "", v.expect("a page with "+pattern, func(v *visit) Difference {
			return Difference{"text of the page", fmt.Sprintf("%q", pattern), v.page.text}
		})
	}
	v.hide(found[1])
	return found[1], nil
}
