package auth

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
)

// refuse authenticates r, which must be refused, and returns the line of the log at a level.
func refuse(t testing.TB, r *Request, level slog.Level) (line map[string]any, text string) {
	t.Helper()
	var log bytes.Buffer
	a, _, _ := newAuthenticator(Options{Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: level}))})
	if _, err := a.Authenticate(t.Context(), r); err == nil {
		t.Fatal("the request is not refused")
	}
	if log.Len() == 0 {
		return nil, ""
	}
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	return line, log.String()
}

func TestLoggedRefusals(t *testing.T) {
	const nonce = "0123456789abcdefgh"
	base := "GET&http%3A%2F%2Fstore.example%2Fapi%2Frest%2Forders%2F7&limit%3D10%26" +
		"oauth_consumer_key%3D" + consumerKey[:8] + "…%26oauth_nonce%3D0123…%26oauth_signature_method%3DHMAC-SHA1%26" +
		"oauth_timestamp%3D1330000000%26oauth_token%3D" + adminToken[:8] + "…%26oauth_version%3D1.0%26page%3D2"
	for _, tt := range []struct {
		name, target, header string
		want                 map[string]any
	}{
		{"signature", "/api/rest/orders/7?page=2&limit=10", nonced(nonce).header(), map[string]any{
			"msg": "credentials refused", "method": "GET", "problem": "signature_invalid", "base_string": base,
			"parameters": "limit,oauth_consumer_key,oauth_nonce,oauth_signature_method,oauth_timestamp,oauth_token,oauth_version,page",
			"origins":    []any{"http://store.example"},
		}},
		{"values that may be personal", "/api/rest/customers/hush?filter[1][hush]=hush&filter[2][eq]=hush&hush=1&order=Hush", nonced(nonce).header(), map[string]any{
			"base_string": "GET&http%3A%2F%2Fstore.example%2Fapi%2Frest%2Fcustomers%2F*&filter%255B*%255D%3D*%26filter%255B2%255D%255Beq%255D%3D*%26*%3D*%26" +
				base[strings.Index(base, "oauth_consumer"):strings.Index(base, "page")] + "order%3D*",
		}},
		{"token", "/", nonced(nonce).with("token", unknown).header(), map[string]any{"problem": "token_rejected"}},
		{"absent", "/", nonced(nonce).without("nonce").header(), map[string]any{"problem": "parameter_absent", "absent": "oauth_nonce"}},
		{"plain text", "/", plaintext().with("signature", "hush&hush").header(), map[string]any{"problem": "signature_invalid", "base_string": nil}},
		{"invalid URI", "/hush|", nonced(nonce).header(), map[string]any{"problem": "internal_error", "parameters": nil}},
		{"rejected name", "/?oauth_hush[]=1&oauth_consumer_key=1&oauth_signature_method=1&oauth_signature=1", "OAuth", map[string]any{"problem": "parameter_rejected"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			line, text := refuse(t, get(tt.target, tt.header), slog.LevelDebug)
			for name, want := range tt.want {
				if list, ok := want.([]any); ok {
					got, _ := line[name].([]any)
					if len(got) != 1 || got[0] != list[0] {
						t.Errorf("%s is %v, want %v", name, line[name], want)
					}
				} else if line[name] != want {
					t.Errorf("%s is\n%v, want\n%v", name, line[name], want)
				}
			}
			for _, secret := range []string{"hush", "Hush", consumerSecret, adminSecret, nonce, consumerKey, adminToken, unknown} {
				if strings.Contains(text, secret) {
					t.Errorf("%s is logged:\n%s", secret, text)
				}
			}
		})
	}
	t.Run("not above the debug level", func(t *testing.T) {
		if _, text := refuse(t, get("/", nonced(nonce).header()), slog.LevelInfo); text != "" {
			t.Error(text)
		}
	})
	t.Run("bounded", func(t *testing.T) {
		r := get("/api/rest/orders?"+strings.Repeat("page=1&", 5000), nonced(nonce).header())
		r.Host, r.Method = strings.Repeat("h", 5000), strings.Repeat("M", 5000)
		if _, text := refuse(t, r, slog.LevelDebug); len(text) > 4500 {
			t.Errorf("%d bytes", len(text))
		}
	})
}

// FuzzLoggedRefusal looks for a value that every part of a request carries.
func FuzzLoggedRefusal(f *testing.F) {
	f.Add("attrs", "ada@example.com", true)
	f.Add("page", "Ada", false)
	f.Add("filter[1][eq]", "a*b", true)
	f.Fuzz(func(t *testing.T, name, secret string, inBody bool) {
		secret = "x-" + secret + "-X"
		pair := escapeReference(name) + "=" + escapeReference(secret) + "&" + escapeReference(secret) + "=" + escapeReference(secret)
		r := get("/api/rest/customers/"+escapeReference(secret)+"?"+pair, nonced(secret).with("verifier", secret, "callback", secret).header())
		if inBody {
			r.ContentType, r.Form = "application/x-www-form-urlencoded", func() ([]byte, error) { return []byte(pair), nil }
		}
		if _, text := refuse(t, r, slog.LevelDebug); strings.Contains(text, secret) || strings.Contains(text, escapeReference(secret)) {
			t.Errorf("%q is logged:\n%s", secret, text)
		}
	})
}
