package diagnose_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/auth/diagnose"
)

// TestAcceptedWays signs in natural order and with plus signs read as spaces, rightly and with
// mistakes. The parameters are literals, as a client would sort them.
func TestAcceptedWays(t *testing.T) {
	const (
		origin    = "http://shop.example:8080"
		otherKey  = "another&key"
		urlencode = "\nContent-Type: application/x-www-form-urlencoded\n\n"
	)
	noTokenSecret := escape(consumerSecret) + "&"
	tests := []struct {
		name, query, form, signed, origin, key string
		plusAsSpace, publicURL                 bool
		accepted                               bool
		want                                   []string
	}{
		{name: "by bytes", query: "f[2]=a&f[10]=b", signed: "f%5B10%5D=b&f%5B2%5D=a&", accepted: true},
		{name: "natural", query: "f[2]=a&f[10]=b", signed: "f%5B2%5D=a&f%5B10%5D=b&", accepted: true, want: []string{"natural_order"}},
		{name: "natural without the port", query: "f[2]=a&f[10]=b", signed: "f%5B2%5D=a&f%5B10%5D=b&", origin: "http://shop.example", accepted: true, want: []string{"natural_order"}},
		{name: "natural for the public URL", query: "f[2]=a&f[10]=b", signed: "f%5B2%5D=a&f%5B10%5D=b&", origin: "https://www.example", publicURL: true, accepted: true, want: []string{"public_url", "natural_order"}},
		{name: "natural, the last value alone", query: "f[2]=a&f[10]=x&f[10]=b&y", signed: "f%5B2%5D=a&f%5B10%5D=b&", accepted: true, want: []string{"natural_order"}},
		{name: "the orders do not differ", query: "f[1]=a&f[2]=b", signed: "f%5B1%5D=a&f%5B2%5D=b&", accepted: true},
		{name: "natural without the token secret", query: "f[2]=a&f[10]=b", signed: "f%5B2%5D=a&f%5B10%5D=b&", key: noTokenSecret, want: []string{"token_secret_left_out", "natural_order"}},
		{name: "natural with two mistakes", query: "f[2]=a&f[10]=b", signed: "f%5B2%5D=a&f%5B10%5D=b&", origin: "https://shop.example:8080", key: noTokenSecret, want: []string{"scheme", "token_secret_left_out", "natural_order"}},
		{name: "as sent", query: "f[9]=c&f[10]=b&f[2]=a", signed: "f%5B9%5D=c&f%5B10%5D=b&f%5B2%5D=a&", want: []string{"not_sorted"}},
		{name: "another key", query: "f[2]=a&f[10]=b", signed: "f%5B2%5D=a&f%5B10%5D=b&", key: otherKey, want: []string{"signature"}},
		{name: "plus as a space", query: "a=c+d&b=x%20y", signed: "a=c%20d&b=x%20y&", want: []string{"plus_as_space"}},
		{name: "plus as a space in a name", query: "a+b=c", signed: "a%20b=c&", want: []string{"plus_as_space"}},
		{name: "plus as a space, accepted", query: "a=c+d&b=x%20y", signed: "a=c%20d&b=x%20y&", plusAsSpace: true, accepted: true, want: []string{"plus_as_space"}},
		{name: "plus as a space, natural, accepted", query: "f[2]=a+b&f[10]=b", signed: "f%5B2%5D=a%20b&f%5B10%5D=b&", plusAsSpace: true, accepted: true, want: []string{"natural_order", "plus_as_space"}},
		{name: "plus as a space, accepted, no token secret", query: "a=c+d", signed: "a=c%20d&", plusAsSpace: true, key: noTokenSecret, want: []string{"token_secret_left_out", "plus_as_space"}},
		{name: "plus as itself", query: "a=c+d", signed: "a=c%2Bd&", plusAsSpace: true, accepted: true},
		{name: "plus of a form as a space", form: "a=b+c", signed: "a=b%20c&", accepted: true},
		{name: "plus of a form as itself", form: "a=b+c", signed: "a=b%2Bc&", want: []string{"plus_kept"}},
		{name: "a repeated name, unsorted", query: "a=2&a=1", signed: "a=2&a=1&", want: []string{"values_not_sorted", "library"}},
		{name: "names not encoded", query: "filter%5B1%5D%5Battribute%5D=x", signed: "filter[1][attribute]=x&", want: []string{"names_not_encoded", "library"}},
		{name: "names encoded twice", query: "filter%5B1%5D%5Battribute%5D=x", signed: "filter%255B1%255D%255Battribute%255D=x&", want: []string{"names_encoded_twice", "library"}},
		{name: "https and no port", query: "a=1", signed: "a=1&", origin: "https://shop.example", want: []string{"scheme", "port_left_out"}},
		{name: "plus of a form as a space, no token secret", form: "a=b+c", signed: "a=b%20c&", key: noTokenSecret, want: []string{"token_secret_left_out"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.origin == "" {
				tt.origin = origin
			}
			if tt.key == "" {
				tt.key = rightKey()
			}
			signature := sign("POST&"+escape(tt.origin+"/x")+"&"+escape(tt.signed+oauth), tt.key)
			o := known()
			o.PlusAsSpace = tt.plusAsSpace
			if tt.publicURL {
				o.PublicURL, _ = url.Parse("https://www.example/")
			}
			report, found := codes(t, request("POST /x?"+tt.query, header(signature)+urlencode+tt.form), o)
			if !slices.Equal(found, tt.want) || (report.Verdict == diagnose.Accepted) != tt.accepted {
				t.Errorf("%s: %v, want %v: %+v", report.Verdict, found, tt.want, report.Findings)
			}
			for _, f := range report.Findings {
				if f.Code == "natural_order" && (!f.Hint || !strings.Contains(f.Message, "accepted")) {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}
