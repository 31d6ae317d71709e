package config

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseHeaders(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       http.Header // nil: refused
	}{
		{"none", " ", http.Header{}},
		{"one", "Authorization=Bearer%20a,b", nil},
		{"escaped", "authorization=Bearer%20a%2Cb", http.Header{"Authorization": {"Bearer a,b"}}},
		{"several with blanks", " api-key = k , x-scope=a=b", http.Header{"Api-Key": {"k"}, "X-Scope": {"a=b"}}},
		{"repeated", "a=1,a=2", http.Header{"A": {"1", "2"}}},
		{"empty value", "a=", http.Header{"A": {""}}},
		{"no value", "a", nil},
		{"no name", "=a", nil},
		{"line break", "a=b%0d%0aHost:%20x", nil},
		{"line break in the name", "a\nb=c", nil},
		{"wrong escape", "a=%zz", nil},
		{"too long", "a=" + string(make([]byte, maxHeaders)), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseHeaders(tt.text)
			if diff := cmp.Diff(tt.want, got); diff != "" || (err != nil) != (tt.want == nil) {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// FuzzHeaders checks that accepted headers can be sent, and read again from their encoding.
func FuzzHeaders(f *testing.F) {
	for _, seed := range []string{"", "a=b", "Authorization=Bearer%20k,x=%2C", "a=%0a", "=,="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		header, err := parseHeaders(text)
		if err != nil {
			return
		}
		for name, values := range header {
			for _, value := range values {
				if !isToken(name) || !isPrintable(value) {
					t.Errorf("%q: %q", name, value)
				}
			}
		}
	})
}

func TestTracingEndpoint(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		"":                                 "",
		"http://127.0.0.1:4318":            "http://127.0.0.1:4318/v1/traces",
		"http://127.0.0.1:4318/":           "http://127.0.0.1:4318/v1/traces",
		"https://otlp.example/otlp/traces": "https://otlp.example/otlp/traces",
	} {
		c, err := Load(Sources{Sections: []Section{{Name: "sql"}}, Environ: []string{"PORTICO_TRACING_ENDPOINT=" + endpoint}})
		if err != nil {
			t.Fatal(err)
		}
		if c.Tracing.SpansURL() != want {
			t.Errorf("%q: %q, want %q", endpoint, c.Tracing.SpansURL(), want)
		}
	}
}
