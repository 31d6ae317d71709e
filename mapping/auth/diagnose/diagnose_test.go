package diagnose_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/auth/diagnose"
)

const (
	key            = "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
	token          = "tttttttttttttttttttttttttttttttt"
	consumerSecret = "consumer/secret"
	tokenSecret    = "tok/en secret"
	now            = 1330000000
)

func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// oauth are the parameters that are signed, in their order.
const oauth = "oauth_consumer_key=" + key + "&oauth_nonce=n&oauth_signature_method=HMAC-SHA1&oauth_timestamp=1330000000&oauth_token=" + token + "&oauth_version=1.0"

// rightKey is the key of the HMAC.
func rightKey() string { return escape(consumerSecret) + "&" + escape(tokenSecret) }

func mac(base, key string) []byte {
	sum := hmac.New(sha1.New, []byte(key))
	sum.Write([]byte(base))
	return sum.Sum(nil)
}

func sign(base, key string) string { return base64.StdEncoding.EncodeToString(mac(base, key)) }

// header returns an Authorization header with a signature.
func header(signature string) string {
	parts := strings.Split(oauth+"&oauth_signature="+escape(signature), "&")
	for i, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		parts[i] = name + `="` + value + `"`
	}
	return `Authorization: OAuth realm="shop", ` + strings.Join(parts, ", ")
}

// request returns a raw request with a header line.
func request(line, headerLine string) string {
	return line + " HTTP/1.1\nHost: Shop.example:8080\n" + headerLine + "\n"
}

// codes diagnoses a text at the time of its timestamp and returns the report and the codes of
// its findings.
func codes(t testing.TB, text string, o diagnose.Options) (*diagnose.Report, []string) {
	t.Helper()
	r, err := diagnose.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	o.Now = func() time.Time { return time.Unix(now, 0) }
	report, err := diagnose.Diagnose(t.Context(), r, o)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range report.Findings {
		found = append(found, f.Code)
		if strings.Contains(f.Message, consumerSecret) || strings.Contains(f.Message, tokenSecret) {
			t.Errorf("a secret is shown: %s", f.Message)
		}
	}
	return report, found
}

func known() diagnose.Options {
	return diagnose.Options{Secrets: &diagnose.Secrets{Consumer: consumerSecret, Token: tokenSecret}}
}

// TestFindings needs no secrets.
func TestFindings(t *testing.T) {
	valid := header(strings.Repeat("A", 27) + "=")
	change := func(old, to string) string { return strings.Replace(valid, old, to, 1) }
	plaintext := func(signature string) string {
		return `Authorization: OAuth oauth_consumer_key="` + key + `", oauth_token="` + token + `", oauth_signature_method="PLAINTEXT", oauth_signature="` + signature + `"`
	}
	for _, tt := range []struct {
		name, target, header, verdict string
		want                          []string
	}{
		{"nothing", "/", valid, diagnose.Unknown, nil},
		{"no header", "/", "Accept: */*", diagnose.Guest, []string{"not_signed"}},
		{"only in the query", "/?oauth_token=1", "Accept: */*", diagnose.Guest, []string{"no_header"}},
		{"Basic", "/", "Authorization: Basic eDp5", diagnose.Guest, []string{"not_oauth"}},
		{"API key", "/", "Authorization: Bearer x", diagnose.Guest, []string{"not_oauth"}},
		{"absent", "/", change(`oauth_nonce="n", `, ""), diagnose.Refused, []string{"absent"}},
		{"all absent", "/", `Authorization: OAuth oauth_version="2.0"`, diagnose.Refused, []string{"absent", "absent", "absent", "absent", "absent", "absent", "version"}},
		{"twice", "/", change(`oauth_nonce="n"`, `oauth_nonce="n", oauth_nonce="n"`), diagnose.Unknown, []string{"duplicate"}},
		{"in two places", "/?oauth_nonce=n", valid, diagnose.Unknown, []string{"parameters_twice"}},
		{"unknown", "/", change(`oauth_nonce="n"`, `oauth_nonce="n", oauth_body_hash="x"`), diagnose.Unknown, []string{"unknown_parameter"}},
		{"key of another length", "/", change(key, "short"), diagnose.Refused, []string{"length"}},
		{"method", "/", change("HMAC-SHA1", "HMAC-SHA256"), diagnose.Refused, []string{"method"}},
		{"milliseconds", "/", change("1330000000", "1330000000000"), diagnose.Refused, []string{"timestamp"}},
		{"clock ahead", "/", change("1330000000", "1330000700"), diagnose.Refused, []string{"timestamp"}},
		{"clock behind", "/", change("1330000000", "1329990000"), diagnose.Refused, []string{"timestamp"}},
		{"no number", "/", change("1330000000", "noon"), diagnose.Refused, []string{"timestamp"}},
		{"not encoded", "/", change("%3D", "="), diagnose.Unknown, []string{"encoding"}},
		{"bad escape", "/", change(`="n"`, `="%n"`), diagnose.Unknown, []string{"encoding"}},
		{"encoded twice", "/", change("%3D", "%253D"), diagnose.Unknown, []string{"double_encoded", "signature_form"}},
		{"no quotes", "/", change(`"n"`, "n"), diagnose.Unknown, []string{"quotes"}},
		{"lost plus", "/", change("AAAA", "AA A"), diagnose.Unknown, []string{"encoding", "signature_form"}},
		{"SHA-256", "/", change(strings.Repeat("A", 27), strings.Repeat("A", 43)), diagnose.Unknown, []string{"signature_form"}},
		{"hexadecimal", "/", change(strings.Repeat("A", 27)+"%3D", strings.Repeat("a1", 20)), diagnose.Unknown, []string{"signature_form"}},
		{"truncated", "/", change("AAAA", ""), diagnose.Unknown, []string{"signature_form"}},
		{"invalid URL", "/a|b", valid, diagnose.Refused, []string{"url"}},
		{"plain text without an ampersand", "/", plaintext("x"), diagnose.Unknown, []string{"ampersand"}},
		{"plain text", "/", plaintext("x%26y"), diagnose.Unknown, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			report, found := codes(t, request("GET "+tt.target, tt.header), diagnose.Options{TimestampMaxAge: time.Hour})
			if !slices.Equal(found, tt.want) || report.Verdict != tt.verdict {
				t.Errorf("%s (%s): %v, want %s: %v: %+v", report.Verdict, report.Problem, found, tt.verdict, tt.want, report.Findings)
			}
		})
	}
	t.Run("plain text refused", func(t *testing.T) {
		report, found := codes(t, request("GET /", plaintext("x%26y")), diagnose.Options{RefusePlaintext: true})
		if report.Verdict != diagnose.Refused || !slices.Equal(found, []string{"method"}) {
			t.Error(report.Verdict, found)
		}
	})
}

// A registry has one consumer and one token.
type registry struct {
	consumer adapter.Consumer
	token    adapter.Token
}

// Consumer returns the consumer if the key is its own.
func (r registry) Consumer(_ context.Context, key string) (adapter.Consumer, error) {
	if key != r.consumer.Key {
		return adapter.Consumer{}, &adapter.Error{Kind: adapter.NotFound, Op: "find consumer"}
	}
	return r.consumer, nil
}

// Token returns the token if the text is its own.
func (r registry) Token(_ context.Context, text string) (adapter.Token, error) {
	if text != r.token.Token {
		return adapter.Token{}, &adapter.Error{Kind: adapter.NotFound, Op: "find token"}
	}
	return r.token, nil
}

// TestCredentials looks the secrets up.
func TestCredentials(t *testing.T) {
	signature := sign("GET&"+escape("http://shop.example:8080/")+"&"+escape(oauth), rightKey())
	for _, tt := range []struct {
		name   string
		change func(*registry)
		want   []string
	}{
		{"right", func(*registry) {}, nil},
		{"unknown consumer", func(r *registry) { r.consumer.Key = "x" }, []string{"unknown_consumer"}},
		{"unknown token", func(r *registry) { r.token.Token = "x" }, []string{"unknown_token"}},
		{"revoked", func(r *registry) { r.token.Revoked = true }, []string{"revoked_token"}},
		{"request token", func(r *registry) { r.token.Type = adapter.RequestToken }, []string{"request_token"}},
		{"of another consumer", func(r *registry) { r.token.ConsumerID = 2 }, []string{"foreign_token"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := registry{adapter.Consumer{ID: 1, Key: key, Secret: consumerSecret}, adapter.Token{ConsumerID: 1, Type: adapter.AccessToken, Token: token, Secret: tokenSecret, AdminID: 1}}
			tt.change(&r)
			report, found := codes(t, request("GET /", header(signature)), diagnose.Options{Credentials: r})
			if !slices.Equal(found, tt.want) || (report.Verdict == diagnose.Accepted) != (tt.want == nil) {
				t.Errorf("%s: %v, want %v", report.Verdict, found, tt.want)
			}
		})
	}
}

func FuzzDiagnose(f *testing.F) {
	f.Add(request("GET /api/rest/products?page=1", header("x")))
	f.Add(`curl -d a=b -H 'Authorization: OAuth oauth_token="%zz", oauth_nonce=1' http://h:80/x`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := diagnose.Parse(text)
		if err != nil {
			return
		}
		o := known()
		o.Now = func() time.Time { return time.Unix(now, 0) }
		report, err := diagnose.Diagnose(t.Context(), r, o)
		if err != nil {
			t.Fatal(err)
		}
		if report.Verdict == diagnose.Refused && report.Problem == "" || report.Verdict == diagnose.Accepted && r.Header.Get("Authorization") == "" {
			t.Errorf("%+v", report)
		}
	})
}
