package diagnose_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
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
	return codesAt(t, text, o, now)
}

// codesAt is codes at another time, in seconds since 1970.
func codesAt(t testing.TB, text string, o diagnose.Options, at int64) (*diagnose.Report, []string) {
	t.Helper()
	r, err := diagnose.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	o.Now = func() time.Time { return time.Unix(at, 0) }
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

// TestMistakes signs a request with each mistake.
func TestMistakes(t *testing.T) {
	const (
		origin = "http://shop.example:8080"
		path   = "/api/rest/orders/a%2Fb"
		line   = "GET " + path + "?b=x%20y&a=1"
		params = "a=1&b=x%20y&" + oauth
	)
	base := func(method, address, normalized string) string {
		return method + "&" + escape(address) + "&" + escape(normalized)
	}
	right := base("GET", origin+path, params)
	for _, tt := range []struct {
		name, signature string
		want            []string
	}{
		{"none", sign(right, rightKey()), nil},
		{"none, without the port", sign(base("GET", "http://shop.example"+path, params), rightKey()), nil},
		{"query left out", sign(base("GET", origin+path, oauth), rightKey()), []string{"query_left_out"}},
		{"query in the URL", sign(base("GET", origin+path+"?b=x%20y&a=1", oauth), rightKey()), []string{"query_in_url"}},
		{"https", sign(base("GET", "https://shop.example:8080"+path, params), rightKey()), []string{"scheme"}},
		{"default port", sign(base("GET", origin+":80"+path, params), rightKey()), []string{"default_port"}},
		{"host in upper case", sign(base("GET", "http://Shop.example:8080"+path, params), rightKey()), []string{"host_case"}},
		{"decoded path", sign(base("GET", origin+"/api/rest/orders/a/b", params), rightKey()), []string{"path_decoded"}},
		{"slash added", sign(base("GET", origin+path+"/", params), rightKey()), []string{"slash_added"}},
		{"no /api/rest", sign(base("GET", origin+"/orders/a%2Fb", params), rightKey()), []string{"api_left_out"}},
		{"no ampersand", sign(right, escape(consumerSecret)+escape(tokenSecret)), []string{"ampersand"}},
		{"no token secret", sign(right, escape(consumerSecret)+"&"), []string{"token_secret_left_out"}},
		{"consumer secret alone", sign(right, escape(consumerSecret)), []string{"consumer_secret_alone"}},
		{"token secret alone", sign(right, "&"+escape(tokenSecret)), []string{"token_secret_alone"}},
		{"swapped", sign(right, escape(tokenSecret)+"&"+escape(consumerSecret)), []string{"secrets_swapped"}},
		{"secrets not encoded", sign(right, consumerSecret+"&"+tokenSecret), []string{"secrets_not_encoded"}},
		{"key for secret", sign(right, key+"&"+escape(tokenSecret)), []string{"key_for_secret"}},
		{"token for secret", sign(right, escape(consumerSecret)+"&"+token), []string{"token_for_secret"}},
		{"values not encoded", sign(base("GET", origin+path, strings.Replace(params, "%20", " ", 1)), rightKey()), []string{"values_not_encoded"}},
		{"values encoded twice", sign(base("GET", origin+path, strings.Replace(params, "%20", "%2520", 1)), rightKey()), []string{"values_encoded_twice"}},
		{"space as plus", sign(base("GET", origin+path, strings.Replace(params, "%20", "+", 1)), rightKey()), []string{"space_as_plus"}},
		{"parameters not encoded", sign("GET&"+escape(origin+path)+"&"+params, rightKey()), []string{"parameters_not_encoded"}},
		{"URL not encoded", sign("GET&"+origin+path+"&"+escape(params), rightKey()), []string{"url_not_encoded"}},
		{"not sorted", sign(base("GET", origin+path, "b=x%20y&a=1&"+oauth), rightKey()), []string{"not_sorted"}},
		{"lower-case escapes", sign(regexp.MustCompile("%[0-9A-F]{2}").ReplaceAllStringFunc(right, strings.ToLower), rightKey()), []string{"lower_case_escapes"}},
		{"lower-case method", sign(base("get", origin+path, params), rightKey()), []string{"method_case"}},
		{"other method", sign(base("POST", origin+path, params), rightKey()), []string{"method"}},
		{"token not signed", sign(base("GET", origin+path, strings.Replace(params, "oauth_token="+token+"&", "", 1)), rightKey()), []string{"token_left_out"}},
		{"version not signed", sign(base("GET", origin+path, strings.TrimSuffix(params, "&oauth_version=1.0")), rightKey()), []string{"version_left_out"}},
		{"realm signed", sign(base("GET", origin+path, params+"&realm=shop"), rightKey()), []string{"realm_signed"}},
		{"two: no query, no token secret", sign(base("GET", origin+path, oauth), escape(consumerSecret)+"&"), []string{"query_left_out", "token_secret_left_out"}},
		{"two: https, lower-case method", sign(base("get", "https://shop.example:8080"+path, params), rightKey()), []string{"scheme", "method_case"}},
		{"hexadecimal", hex.EncodeToString(mac(right, rightKey())), []string{"signature_form", "signature"}},
		{"other secrets", sign(right, "other&secrets"), []string{"signature"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			report, found := codes(t, request(line, header(tt.signature)), known())
			if !slices.Equal(found, tt.want) || (report.Verdict == diagnose.Accepted) != (tt.want == nil) {
				t.Errorf("%s: %v, want %v: %+v", report.Verdict, found, tt.want, report.Findings)
			}
			if report.BaseString != right {
				t.Errorf("base string\n%s, want\n%s", report.BaseString, right)
			}
		})
	}
	t.Run("form left out", func(t *testing.T) {
		text := request("POST /api/rest/x", header(sign(base("POST", origin+"/api/rest/x", oauth), rightKey()))+"\nContent-Type: application/x-www-form-urlencoded\n\nq=1")
		if _, found := codes(t, text, known()); !slices.Equal(found, []string{"form_left_out"}) {
			t.Error(found)
		}
	})
	t.Run("JSON signed", func(t *testing.T) {
		text := request("POST /api/rest/x", header(sign(base("POST", origin+"/api/rest/x", oauth+"&q=1"), rightKey()))+"\nContent-Type: application/json\n\nq=1")
		if _, found := codes(t, text, known()); !slices.Equal(found, []string{"body_signed"}) {
			t.Error(found)
		}
	})
	t.Run("public URL", func(t *testing.T) {
		o := known()
		o.PublicURL, _ = url.Parse("https://www.example/shop")
		text := request("GET /shop/api/rest/x", header(sign(base("GET", "https://www.example/api/rest/x", oauth), rightKey())))
		if _, found := codes(t, text, o); !slices.Equal(found, []string{"public_url", "base_path_left_out"}) && !slices.Equal(found, []string{"public_url", "signature"}) {
			t.Error(found)
		}
		text = request("GET /shop/api/rest/x", header(sign(base("GET", "https://www.example/shop/api/rest/x", oauth), rightKey())))
		if report, found := codes(t, text, o); report.Verdict != diagnose.Accepted || !slices.Equal(found, []string{"public_url"}) {
			t.Error(report.Verdict, found)
		}
	})
	t.Run("request token", func(t *testing.T) {
		o := known()
		o.NoToken = true
		params := strings.Replace(oauth, "oauth_token="+token+"&", "", 1) + "&oauth_callback=oob"
		signature := sign(base("POST", origin+"/oauth/initiate", "oauth_callback=oob&"+strings.TrimSuffix(params, "&oauth_callback=oob")), escape(consumerSecret)+"&")
		text := request("POST /oauth/initiate", "Authorization: OAuth "+strings.ReplaceAll(params+"&oauth_signature="+escape(signature), "&", ","))
		if report, found := codes(t, text, o); report.Verdict != diagnose.Accepted || slices.ContainsFunc(found, func(c string) bool { return c != "quotes" }) {
			t.Error(report.Problem, found)
		}
	})
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
	for signature, want := range map[string]string{
		consumerSecret + "&": "token_secret_left_out", consumerSecret: "consumer_secret_alone", consumerSecret + tokenSecret: "ampersand",
		tokenSecret + "&" + consumerSecret: "secrets_swapped", key + "&" + tokenSecret: "key_for_secret", consumerSecret + "&" + token: "token_for_secret",
		escape(consumerSecret + "&" + tokenSecret): "encoded_once_too_often", "x&y": "secrets", consumerSecret + "&" + tokenSecret: "",
	} {
		t.Run("plain text "+want, func(t *testing.T) {
			report, found := codes(t, request("GET /", plaintext(escape(signature))), known())
			if want == "" && report.Verdict != diagnose.Accepted || want != "" && !slices.Contains(found, want) {
				t.Error(report.Verdict, found)
			}
		})
	}
}

// TestCredentials looks the secrets up.
func TestCredentials(t *testing.T) {
	signature := sign("GET&"+escape("http://shop.example:8080/")+"&"+escape(oauth), rightKey())
	for _, tt := range []struct {
		name   string
		change func(*adapter.Consumer, *adapter.Token)
		want   []string
	}{
		{"right", func(*adapter.Consumer, *adapter.Token) {}, nil},
		{"unknown consumer", func(c *adapter.Consumer, _ *adapter.Token) { c.Key = "x" }, []string{"unknown_consumer"}},
		{"unknown token", func(_ *adapter.Consumer, t *adapter.Token) { t.Token = "x" }, []string{"unknown_token"}},
		{"revoked", func(_ *adapter.Consumer, t *adapter.Token) { t.Revoked = true }, []string{"revoked_token"}},
		{"request token", func(_ *adapter.Consumer, t *adapter.Token) { t.Type = adapter.RequestToken }, []string{"request_token"}},
		{"of another consumer", func(_ *adapter.Consumer, t *adapter.Token) { t.ConsumerID = 2 }, []string{"foreign_token"}},
		{"other secret", func(_ *adapter.Consumer, t *adapter.Token) { t.Secret = "x" }, []string{"signature"}},
		{"no secret", func(c *adapter.Consumer, _ *adapter.Token) { c.Secret = "" }, []string{"no_secret", "signature"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client := adapter.Consumer{ID: 1, Key: key, Secret: consumerSecret}
			access := adapter.Token{ConsumerID: 1, Type: adapter.AccessToken, Token: token, Secret: tokenSecret, AdminID: 1}
			tt.change(&client, &access)
			report, found := codes(t, request("GET /", header(signature)), diagnose.Options{Credentials: adaptertest.New(client, access)})
			if !slices.Equal(found, tt.want) || (report.Verdict == diagnose.Accepted) != (tt.want == nil) {
				t.Errorf("%s: %v, want %v", report.Verdict, found, tt.want)
			}
		})
	}
}

func FuzzDiagnose(f *testing.F) {
	f.Add(request("GET /api/rest/products?page=1", header("x")))
	f.Add("http://h:80/x\nAuthorization: OAuth oauth_token=\"%zz\", oauth_nonce=1")
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
