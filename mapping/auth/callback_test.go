package auth

import (
	"net/url"
	"strings"
	"testing"
)

func TestCallback(t *testing.T) {
	tests := []struct {
		callback string
		want     string // with a parameter; "" when it is none
	}{
		{"http://client.example/cb", "http://client.example/cb?a=1"},
		{"https://client.example/cb?x=y", "https://client.example/cb?x=y&a=1"},
		{"HTTPS://client.example", "HTTPS://client.example?a=1"},
		{"http://localhost:3000/", "http://localhost:3000/?a=1"},
		{"http://user:secret@client.example:8443/cb", "http://user:secret@client.example:8443/cb?a=1"},
		{"http://client.example/cb#top", "http://client.example/cb?a=1#top"},
		{"http://[::1]:80/cb", "http://[::1]:80/cb?a=1"},
		{"", ""},
		{"oob", ""},
		{"foo", ""},
		{"ftp://x.example/", ""},
		{"myapp://cb", ""},
		{"javascript:alert(1)", ""},
		{"//client.example/cb", ""},
		{"/cb", ""},
		{"http:client.example", ""},
		{"http://", ""},
		{"http:///cb", ""},
		{"http://:80/cb", ""},
		{"http://client.example:99999/", ""},
		{"http://client.example:x/", ""},
		{" http://client.example/", ""},
		{"http://client.example/\r\nSet-Cookie: a=b", ""},
		{"http://client.example/a b", ""},
		{"http://client.example/%zz", ""},
		{"http://client.example/é", ""},
		{"http://client.example/" + strings.Repeat("a", 2048), ""},
	}
	for _, tt := range tests {
		if got := ValidCallback(tt.callback); got != (tt.want != "") {
			t.Errorf("%q: valid %t", tt.callback, got)
		}
		if got := Callback(tt.callback, "a=1"); tt.want != "" && got != tt.want {
			t.Errorf("%q: %q, want %q", tt.callback, got, tt.want)
		}
	}
}

// FuzzCallback: a callback with parameters has the same host, and the parameters.
func FuzzCallback(f *testing.F) {
	for _, seed := range []string{"http://client.example/cb?a=1#b", "https://u:p@h:1", "http://[::1]/", "http://a?b?c#d#e", "http://a\\@b/", "http://a#@b/?"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, callback string) {
		if !ValidCallback(callback) {
			return
		}
		before, err := url.Parse(callback)
		if err != nil {
			t.Fatal(err)
		}
		to := Callback(callback, "oauth_token=t", "oauth_verifier=v")
		if strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' || r == '"' }) {
			t.Fatalf("%q is not fit for a header", to)
		}
		after, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		if after.Host != before.Host || after.Scheme != before.Scheme || after.Path != before.Path || !strings.HasSuffix(after.RawQuery, "oauth_token=t&oauth_verifier=v") {
			t.Fatalf("%q leads to %q", callback, to)
		}
	})
}
