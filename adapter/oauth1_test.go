package adapter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

func TestOAuthCredentialsAreHidden(t *testing.T) {
	c := adapter.OAuthCredentials{ConsumerKey: "hush", ConsumerSecret: "hush", Token: "hush", TokenSecret: "hush"}
	if text := fmt.Sprintf("%s %v %+v %#v %v", c, c, c, c, &c); strings.Contains(text, "hush") {
		t.Errorf("formatted %s", text)
	}
}

func TestOAuthMethod(t *testing.T) {
	for name, valid := range map[string]bool{"HMAC-SHA1": true, "HMAC-SHA256": true, "PLAINTEXT": false, "hmac-sha1": false, "": false} {
		var m adapter.OAuthMethod
		if err := m.UnmarshalText([]byte(name)); (err == nil) != valid || valid && string(m) != name {
			t.Errorf("%q: %v", name, err)
		}
	}
}
