package httpapi

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
)

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	spanID  = "b7ad6b7169203331"
	sampled = "00-" + traceID + "-" + spanID + "-01"
)

func TestTraceOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		headers []string
		want    string
		sampled bool
	}{
		{"sampled", []string{sampled}, traceID, true},
		{"sampled, with a flag of the future", []string{"00-" + traceID + "-" + spanID + "-ff"}, traceID, true},
		{"a later version", []string{"01-" + traceID + "-" + spanID + "-01"}, traceID, true},
		{"a later version with more", []string{"01-" + traceID + "-" + spanID + "-01-what comes"}, traceID, true},
		{"none", nil, "", false},
		{"not sampled", []string{"00-" + traceID + "-" + spanID + "-00"}, traceID, false},
		{"not sampled, with another flag", []string{"00-" + traceID + "-" + spanID + "-02"}, traceID, false},
		{"twice", []string{sampled, sampled}, "", false},
		{"empty", []string{""}, "", false},
		{"cut off", []string{sampled[:len(sampled)-1]}, "", false},
		{"too long", []string{sampled + "-00"}, "", false},
		{"a later version that goes on at once", []string{"01-" + traceID + "-" + spanID + "-011"}, "", false},
		{"the version that is invalid", []string{"ff-" + traceID + "-" + spanID + "-01"}, "", false},
		{"no hexadecimal version", []string{"0x-" + traceID + "-" + spanID + "-01"}, "", false},
		{"no trace", []string{"00-00000000000000000000000000000000-" + spanID + "-01"}, "", false},
		{"no span", []string{"00-" + traceID + "-0000000000000000-01"}, "", false},
		{"capital letters", []string{"00-0AF7651916CD43DD8448EB211C80319C-" + spanID + "-01"}, "", false},
		{"other dashes", []string{"00_" + traceID + "_" + spanID + "_01"}, "", false},
		{"no hexadecimal flags", []string{"00-" + traceID + "-" + spanID + "-0g"}, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			for _, header := range tt.headers {
				r.Header.Add("traceparent", header)
			}
			if got, isSampled := traceOf(r); got != tt.want || isSampled != tt.sampled {
				t.Errorf("got %q, sampled: %t, want %q, %t", got, isSampled, tt.want, tt.sampled)
			}
		})
	}
}

// FuzzTraceOf checks that whatever a client sends, an id is one.
func FuzzTraceOf(f *testing.F) {
	f.Add(sampled)
	f.Add("01-" + traceID + "-" + spanID + "-01-more")
	f.Add("")
	id := regexp.MustCompile(`^[0-9a-f]{32}$`)
	f.Fuzz(func(t *testing.T, header string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["Traceparent"] = []string{header}
		if got, _ := traceOf(r); got != "" && !id.MatchString(got) {
			t.Errorf("%q: got %q", header, got)
		}
	})
}
