package auth

import (
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"testing"
)

// TestEmptySecret: anyone can compute a signature under an empty secret, so no such signature
// is valid, with any method and for any call.
func TestEmptySecret(t *testing.T) {
	for _, c := range []struct{ name, consumer, token, want string }{
		{"both secrets", consumerSecret, adminSecret, ""},
		{"no consumer secret", "", adminSecret, "signature_invalid"},
		{"no token secret", consumerSecret, "", "signature_invalid"},
		{"no secrets", "", "", "signature_invalid"},
	} {
		address, target := "http://store.example"+customerPath, customerPath
		signatures := map[string]fields{
			"PLAINTEXT": plaintext().with("signature", c.consumer+"&"+c.token),
			"HMAC-SHA1": nonced("n").signedBy("GET", address, "", c.consumer, c.token),
		}
		for method, f := range signatures {
			t.Run(c.name+", "+method, func(t *testing.T) {
				a, credentials, _ := newAuthenticator(Options{})
				setSecrets(credentials, c.consumer, c.token)
				_, err := a.Authenticate(t.Context(), get(target, f.header()))
				if got := problemOf(t, err); got != c.want {
					t.Errorf("problem %q, want %q", got, c.want)
				}
			})
		}
	}
	for _, secret := range []string{consumerSecret, ""} {
		want := map[bool]string{true: "signature_invalid"}[secret == ""]
		initiate := map[string]fields{
			"PLAINTEXT": programs("callback", "oob", "signature", secret+"&"),
			"HMAC-SHA1": nonced("n").without("token").with("callback", "oob").signedBy("GET", "http://store.example/oauth/initiate", "", secret, ""),
		}
		for method, f := range initiate {
			t.Run("initiate, consumer secret "+secret+", "+method, func(t *testing.T) {
				g, grants := newGranting(false)
				setSecrets(grants, secret, adminSecret)
				_, err := g.Initiate(t.Context(), get("/oauth/initiate", f.header()))
				if got := problemOf(t, err); got != want {
					t.Errorf("problem %q, want %q", got, want)
				}
			})
		}
	}
}

const customerPath = "/api/rest/customers/1"

// setSecrets replaces the secrets of the client and of the administrator's token.
func setSecrets(s *adaptertest.Store, client, token string) {
	t := s.Tokens[adminToken]
	s.Client.Secret, t.Secret = client, token
	s.Tokens[adminToken] = t
}
