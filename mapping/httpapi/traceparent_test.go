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

func TestSampledTraceID(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		headers []string
		want    string
	}{
		{"sampled", []string{sampled}, traceID},
		{"sampled, with a flag of the future", []string{"00-" + traceID + "-" + spanID + "-ff"}, traceID},
		{"a later version", []string{"01-" + traceID + "-" + spanID + "-01"}, traceID},
		{"a later version with more", []string{"01-" + traceID + "-" + spanID + "-01-what comes"}, traceID},
		{"none", nil, ""},
		{"not sampled", []string{"00-" + traceID + "-" + spanID + "-00"}, ""},
		{"not sampled, with another flag", []string{"00-" + traceID + "-" + spanID + "-02"}, ""},
		{"twice", []string{sampled, sampled}, ""},
		{"empty", []string{""}, ""},
		{"cut off", []string{sampled[:len(sampled)-1]}, ""},
		{"too long", []string{sampled + "-00"}, ""},
		{"a later version that goes on at once", []string{"01-" + traceID + "-" + spanID + "-011"}, ""},
		{"the version that is invalid", []string{"ff-" + traceID + "-" + spanID + "-01"}, ""},
		{"no hexadecimal version", []string{"0x-" + traceID + "-" + spanID + "-01"}, ""},
		{"no trace", []string{"00-00000000000000000000000000000000-" + spanID + "-01"}, ""},
		{"no span", []string{"00-" + traceID + "-0000000000000000-01"}, ""},
		{"capital letters", []string{"00-0AF7651916CD43DD8448EB211C80319C-" + spanID + "-01"}, ""},
		{"other dashes", []string{"00_" + traceID + "_" + spanID + "_01"}, ""},
		{"no hexadecimal flags", []string{"00-" + traceID + "-" + spanID + "-0g"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			for _, header := range tt.headers {
				r.Header.Add("traceparent", header)
			}
			if got := sampledTraceID(r); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// FuzzSampledTraceID checks that whatever a client sends, an id is one.
func FuzzSampledTraceID(f *testing.F) {
	f.Add(sampled)
	f.Add("01-" + traceID + "-" + spanID + "-01-more")
	f.Add("")
	id := regexp.MustCompile(`^[0-9a-f]{32}$`)
	f.Fuzz(func(t *testing.T, header string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["Traceparent"] = []string{header}
		if got := sampledTraceID(r); got != "" && !id.MatchString(got) {
			t.Errorf("%q: got %q", header, got)
		}
	})
}
