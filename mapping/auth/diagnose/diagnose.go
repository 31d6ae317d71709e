package diagnose

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/auth"
)

// Options hold the secrets and the server settings that a diagnosis needs in addition to the
// request.
type Options struct {
	// Secrets are the secrets that should have signed the request; nil: unknown, unless Credentials
	// has them.
	Secrets *Secrets
	// Credentials, unless nil, is the server's credential store. Its secrets replace Secrets.
	Credentials auth.Credentials
	// PublicURL is the setting public_url, or nil.
	PublicURL *url.URL
	// Scheme is assumed for a request that does not say it; "" means http.
	Scheme string
	// TimestampMaxAge, RefusePlaintext and PlusAsSpace are the settings of the server.
	TimestampMaxAge time.Duration
	RefusePlaintext bool
	PlusAsSpace     bool
	// NoToken: the request is for a request token, which is signed without one.
	NoToken bool
	Now     func() time.Time // nil means time.Now
}

// Secrets are the secrets of a consumer and of a token.
type Secrets struct{ Consumer, Token string }

// A Finding is one fault of a request or, if it is a Hint, a possible fault.
type Finding struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    bool   `json:"hint,omitempty"`
}

// Verdicts of a report.
const (
	Accepted = "accepted"
	Refused  = "refused"
	Guest    = "guest"   // the request has no credentials
	Unknown  = "unknown" // nothing is wrong, but without the secrets the signature cannot be checked
)

// A Report holds the verdict of a server on the credentials of a request, and the faults found.
type Report struct {
	Method  string `json:"method"`
	URL     string `json:"url"`
	Verdict string `json:"verdict"`
	// Problem is the text of the server's reply to a refused request.
	Problem string `json:"problem,omitempty"`
	// BaseString is the base string that the signature should cover.
	BaseString string    `json:"base_string,omitempty"`
	Findings   []Finding `json:"findings"`
}

func (r *Report) fault(code, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{Code: code, Message: fmt.Sprintf(format, args...)})
}

func (r *Report) hint(code, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{Code: code, Message: fmt.Sprintf(format, args...), Hint: true})
}

const formType = "application/x-www-form-urlencoded"

// maxParameters limits the OAuth parameters of one source that are examined.
const maxParameters = 64

// Diagnose returns a report of the faults in the credentials of r.
func Diagnose(ctx context.Context, r *Request, o Options) (*Report, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Scheme = cmp.Or(o.Scheme, "http")
	if r.Scheme != "" {
		o.Scheme = r.Scheme
	}
	report := &Report{Method: r.Method, URL: o.Scheme + "://" + r.Host + r.Target, Findings: []Finding{}}
	s := newSigned(r, o.Scheme)
	if authorization := r.Header.Get("Authorization"); !auth.Signed(authorization) {
		report.Verdict = Guest
		report.explainGuest(s, authorization)
		return report, nil
	}
	report.checkParameters(s, &o)
	report.checkRequest(s, &o)
	if err := report.lookUp(ctx, s, &o); err != nil {
		return nil, err
	}
	if s.oauth.value("oauth_signature_method") != "PLAINTEXT" {
		report.BaseString = s.base()
	}
	if err := report.judge(ctx, s, &o); err != nil {
		return nil, err
	}
	switch {
	case o.Secrets == nil:
	case report.Verdict == Accepted:
		report.explainAccepted(s, &o)
	case report.Verdict == Refused:
		report.findMistakes(s, &o)
	}
	return report, nil
}

// explainGuest says why a request counts as one without credentials.
func (r *Report) explainGuest(s *signed, authorization string) {
	switch {
	case strings.HasPrefix(strings.ToLower(authorization), "bearer"):
		r.fault("not_oauth", "The request has an API key, not a signature; keys work if auth.bearer is on.")
	case len(s.query.oauth())+len(s.form.oauth()) > 0:
		r.fault("no_header", `The OAuth parameters count only if there is a header "Authorization: OAuth": send them there, or at least that header beside them.`)
	case authorization != "":
		r.fault("not_oauth", "The scheme of the header Authorization is not OAuth, so that the caller is a Guest.")
	default:
		r.fault("not_signed", "The request has no header Authorization, so that the caller is a Guest.")
	}
}

// lookUp looks up the consumer and the token of a request in the credential store of the server,
// and sets their secrets in o.
func (r *Report) lookUp(ctx context.Context, s *signed, o *Options) error {
	key, text := s.oauth.value("oauth_consumer_key"), s.oauth.value("oauth_token")
	if o.Credentials == nil || key == "" {
		return nil
	}
	o.Secrets = nil
	consumer, err := o.Credentials.Consumer(ctx, key)
	switch {
	case err == nil:
	case adapter.KindOf(err) == adapter.NotFound:
		r.fault("unknown_consumer", "No consumer has the key %s.", shown(key))
		return nil
	default:
		return err
	}
	if consumer.Secret == "" {
		r.fault("no_secret", "The consumer has no secret, so that no signature of it is accepted.")
	}
	if o.NoToken || text == "" {
		o.Secrets = &Secrets{Consumer: consumer.Secret}
		return nil
	}
	token, err := o.Credentials.Token(ctx, text)
	switch {
	case err == nil:
	case adapter.KindOf(err) == adapter.NotFound:
		r.fault("unknown_token", "There is no token %s.", shown(text))
		return nil
	default:
		return err
	}
	switch {
	case token.Type != adapter.AccessToken:
		r.fault("request_token", "The token is a request token: exchange it for an access token first.")
	case token.Revoked:
		r.fault("revoked_token", "The token is revoked.")
	case token.ConsumerID != consumer.ID:
		r.fault("foreign_token", "The token belongs to another consumer.")
	case token.Secret == "":
		r.fault("no_secret", "The token has no secret, so that no signature with it is accepted.")
	}
	o.Secrets = &Secrets{consumer.Secret, token.Secret}
	return nil
}

// judge lets package auth decide.
func (r *Report) judge(ctx context.Context, s *signed, o *Options) error {
	secrets := Secrets{"unknown", "unknown"}
	if o.Secrets != nil {
		secrets = *o.Secrets
	}
	store := &memory{secrets}
	credentials := o.Credentials
	if credentials == nil {
		credentials = store
	}
	authenticator := auth.New(credentials, store, auth.Options{
		PublicURL: o.PublicURL, TimestampMaxAge: o.TimestampMaxAge, RefusePlaintext: o.RefusePlaintext, PlusAsSpace: o.PlusAsSpace, Now: o.Now,
	})
	var err error
	if o.NoToken {
		_, err = auth.NewGranting(authenticator, store, false).Initiate(ctx, s.authRequest())
	} else {
		_, err = authenticator.Authenticate(ctx, s.authRequest())
	}
	var refusal *auth.Problem
	switch {
	case err == nil:
		r.Verdict = Accepted
	case !errors.As(err, &refusal):
		return err
	case refusal.Code == "signature_invalid" && o.Secrets == nil:
		r.Verdict = Unknown
	default:
		r.Verdict, r.Problem = Refused, strings.TrimPrefix(refusal.Error(), "oauth_problem=")
	}
	return nil
}

// memory is a store with the consumer and the token of one request, and no used nonces.
type memory struct{ secrets Secrets }

// Consumer returns the consumer of the request, whatever its key.
func (m *memory) Consumer(context.Context, string) (adapter.Consumer, error) {
	return adapter.Consumer{ID: 1, Secret: m.secrets.Consumer}, nil
}

// Token returns the token of the request, whatever its text.
func (m *memory) Token(context.Context, string) (adapter.Token, error) {
	return adapter.Token{ID: 1, ConsumerID: 1, Type: adapter.AccessToken, AdminID: 1, Secret: m.secrets.Token}, nil
}

// Use finds every nonce new.
func (*memory) Use(context.Context, string, int64) (bool, error) { return true, nil }

// Used finds every nonce new.
func (*memory) Used(context.Context, string) (bool, error) { return false, nil }

// Begin stores nothing.
func (*memory) Begin(context.Context, int64, string) (adapter.Token, error) {
	return adapter.Token{}, nil
}

var errNoGrant = &adapter.Error{Kind: adapter.NotFound, Op: "find token"}

// Pending finds nothing.
func (*memory) Pending(context.Context, string) (adapter.Token, adapter.Consumer, error) {
	return adapter.Token{}, adapter.Consumer{}, errNoGrant
}

// Authorize finds nothing.
func (*memory) Authorize(context.Context, string, int64, int64) (adapter.Token, error) {
	return adapter.Token{}, errNoGrant
}

// Reject finds nothing.
func (*memory) Reject(context.Context, string) error { return errNoGrant }

// Exchange finds nothing.
func (*memory) Exchange(context.Context, string, string) (adapter.Token, error) {
	return adapter.Token{}, errNoGrant
}

// checkParameters examines the OAuth parameters.
func (r *Report) checkParameters(s *signed, o *Options) {
	for _, where := range s.ignoredSources() {
		r.fault("parameters_twice", "OAuth parameters are %s as well; only those %s count.", where, s.source)
	}
	known := []string{"oauth_consumer_key", "oauth_token", "oauth_signature_method", "oauth_signature", "oauth_timestamp", "oauth_nonce", "oauth_version", "oauth_callback", "oauth_verifier"}
	seen := map[string]bool{}
	for _, p := range s.oauth {
		switch name := shown(p.name); {
		case seen[p.name]:
			r.fault("duplicate", "The parameter %s is sent twice; the last one counts.", name)
		case !slices.Contains(known, p.name):
			r.hint("unknown_parameter", "The parameter %s is not one of OAuth 1.0a. It is signed, and has no effect.", name)
		}
		seen[p.name] = true
		r.checkEncoding(s, p)
	}
	required := []string{"oauth_consumer_key", "oauth_token", "oauth_signature_method", "oauth_signature", "oauth_timestamp", "oauth_nonce"}
	plaintext := s.oauth.value("oauth_signature_method") == "PLAINTEXT"
	for i, name := range required {
		if plaintext && i > 3 || o.NoToken && name == "oauth_token" {
			continue
		}
		if value := s.oauth.value(name); value == "" || value == "0" {
			r.fault("absent", "The parameter %s is missing or empty.", name)
		}
	}
	if version := s.oauth.value("oauth_version"); seen["oauth_version"] && version != "1.0" {
		r.fault("version", "oauth_version is %q; it must be 1.0, or be left out.", shown(version))
	}
	for _, name := range []string{"oauth_consumer_key", "oauth_token"} {
		if value := s.oauth.value(name); value != "" && len(value) != 32 {
			r.fault("length", "%s has %d characters; keys and tokens have 32.", name, len(value))
		}
	}
	switch method := s.oauth.value("oauth_signature_method"); {
	case plaintext && o.RefusePlaintext:
		r.fault("method", "The server refuses PLAINTEXT (auth.refuse_plaintext): sign with HMAC-SHA1.")
	case method == "" || plaintext || method == "HMAC-SHA1":
	default:
		r.fault("method", "The signature method %q is not supported: use HMAC-SHA1.", shown(method))
	}
	if !plaintext {
		r.checkTimestamp(s, o)
	}
	r.checkSignatureForm(s, plaintext)
}

// checkEncoding examines how a parameter was encoded.
func (r *Report) checkEncoding(s *signed, p parameter) {
	name := shown(p.name)
	switch {
	case hasBadEscape(p.raw):
		r.fault("encoding", "The value of %s has a percent sign without two hexadecimal digits.", name)
	case s.source == inHeader && p.name == "oauth_signature" && strings.ContainsAny(p.raw, "+/="), strings.ContainsAny(p.raw, " &"):
		r.hint("encoding", "The value of %s is not percent-encoded; encode everything but letters, digits and -._~.", name)
	case s.source != inHeader && strings.Contains(p.raw, "+"):
		r.fault("encoding", "The value of %s has a plus sign, which stands for a space there: send %%2B.", name)
	}
	if p.name != "oauth_callback" && strings.Contains(p.value, "%") && !hasBadEscape(p.value) {
		r.fault("double_encoded", "The value of %s is percent-encoded twice.", name)
	}
	if s.source == inHeader && !p.quoted {
		r.hint("quotes", "The value of %s is not in double quotes in the header.", name)
	}
}

// hasBadEscape reports whether a percent sign in s is not followed by two hexadecimal digits.
func hasBadEscape(s string) bool {
	_, err := url.PathUnescape(s)
	return err != nil
}

// checkTimestamp examines oauth_timestamp.
func (r *Report) checkTimestamp(s *signed, o *Options) {
	text := s.oauth.value("oauth_timestamp")
	if text == "" {
		return
	}
	at, err := strconv.ParseInt(text, 10, 64)
	now := o.Now().Unix()
	const ahead, thousand = 600, 1000
	switch {
	case err != nil || at <= 0:
		r.fault("timestamp", "oauth_timestamp is %q; it must be the time in whole seconds since 1970.", shown(text))
	case at > now+ahead && at/thousand < now+ahead && at/thousand > now/2:
		r.fault("timestamp", "oauth_timestamp is in milliseconds; it must be in seconds.")
	case at > now+ahead:
		r.fault("timestamp", "oauth_timestamp is %s ahead of the clock here; at most 10 minutes are accepted.", duration(at-now))
	case o.TimestampMaxAge > 0 && at < now-int64(o.TimestampMaxAge/time.Second):
		r.fault("timestamp", "oauth_timestamp is %s old; at most %s are accepted (auth.timestamp_max_age).", duration(now-at), o.TimestampMaxAge)
	}
}

// duration returns a number of seconds in words.
func duration(seconds int64) string {
	const day = 24 * 60 * 60
	if seconds > 10*day {
		return strconv.FormatInt(seconds/day, 10) + " days"
	}
	return (time.Duration(seconds) * time.Second).String()
}

// checkSignatureForm examines whether the signature can be one of its method.
func (r *Report) checkSignatureForm(s *signed, plaintext bool) {
	text := s.oauth.value("oauth_signature")
	if text == "" {
		return
	}
	if plaintext {
		if !strings.Contains(text, "&") {
			r.fault("ampersand", "The signature lacks the ampersand between the consumer secret and the token secret, which is there even if one of them is empty.")
		}
		return
	}
	if s.oauth.value("oauth_signature_method") != "HMAC-SHA1" {
		return
	}
	const sha1Size, sha256Size = 20, 32
	if sum, err := hex.DecodeString(text); err == nil && (len(sum) == sha1Size || len(sum) == sha256Size) {
		r.fault("signature_form", "The signature is in hexadecimal digits; it must be in base64.")
		return
	}
	sum, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(text, " ", "+"))
	switch {
	case err == nil && strings.Contains(text, " "):
		r.fault("signature_form", "The signature has spaces in the place of plus signs: encode each plus as %%2B.")
	case err == nil && len(sum) == sha1Size && !strings.ContainsAny(text, "\r\n"):
	case err == nil && len(sum) == sha256Size:
		r.fault("signature_form", "The signature has the length of HMAC-SHA256; it must be HMAC-SHA1.")
	default:
		r.fault("signature_form", "The signature is not the base64 of the %d bytes of an HMAC-SHA1.", sha1Size)
	}
}

// checkRequest examines the parts of the request that a signature covers, apart from the OAuth
// parameters.
func (r *Report) checkRequest(s *signed, o *Options) {
	if _, err := url.ParseRequestURI(s.path); err != nil || strings.ContainsAny(s.request.Target, " \"<>\\^`{|}") || strings.ContainsFunc(s.request.Target, func(r rune) bool { return r > unicode.MaxASCII }) {
		r.fault("url", "The URL has characters that must be percent-encoded.")
	}
	if u := o.PublicURL; u != nil && (!strings.EqualFold(u.Host, s.request.Host) || u.Scheme != s.scheme) {
		r.hint("public_url", "The request is for %s://%s, the shop's public URL is %s://%s; a signature for either is accepted.", s.scheme, shown(s.request.Host), u.Scheme, u.Host)
	}
}

// shown returns the beginning of a text of the request for a message.
func shown(text string) string {
	const most = 80
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
