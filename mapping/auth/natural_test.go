package auth

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestNaturalOrder sorts the names of requests that PHP has sorted.
func TestNaturalOrder(t *testing.T) {
	table, err := os.ReadFile("testdata/natural.txt")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(37, 37))
	requests := 0
	for line := range strings.Lines(string(table)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		requests++
		want := strings.Fields(line)
		got := slices.Clone(want)
		random.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		if slices.SortFunc(got, CompareNatural); !slices.Equal(got, want) {
			t.Errorf("sorted\n%q, want\n%q", got, want)
		}
		for i, a := range want {
			for j, b := range want {
				if order := CompareNatural(a, b); order != -CompareNatural(b, a) || (order == 0) != (i == j) {
					t.Errorf("%q and %q: %d", a, b, order)
				}
			}
		}
	}
	if requests < 80 {
		t.Errorf("the table has %d requests", requests)
	}
	for _, same := range [][2]string{{"01", "1"}, {"00", "0"}, {"", ""}} {
		if order := CompareNatural(same[0], same[1]); order != 0 {
			t.Errorf("%q and %q: %d", same[0], same[1], order)
		}
	}
}

// twelveFilters is the target of a list with so many filters, and signatures of it made with PHP for
// the administrator, with the nonce n1: in natural order, as the original's PHP client makes them,
// and by bytes, as RFC 5849 says.
func twelveFilters() (target, natural, byBytes string) {
	var filters strings.Builder
	for i := 1; i <= 12; i++ {
		fmt.Fprintf(&filters, "filter%%5B%d%%5D%%5Battribute%%5D=sku&filter%%5B%d%%5D%%5Beq%%5D=a%d&", i, i, i)
	}
	return "/api/rest/products?" + filters.String() + "page=1", "O+AvbUDzlGLYrSX6QVdkY/bVefw=", "3ZBLVza7F+GHB9DE26KJcZepP14="
}

// TestSignedFilters: from ten filters on, the two orders differ. Both are accepted, and Portico
// signs in the order of the original.
func TestSignedFilters(t *testing.T) {
	target, natural, byBytes := twelveFilters()
	for name, signature := range map[string]string{"natural": natural, "by bytes": byBytes} {
		a, _, _ := newAuthenticator(Options{})
		if _, err := a.Authenticate(t.Context(), get(target, nonced("n1").with("signature", signature).header())); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	signer := NewSigner(consumerKey, consumerSecret, adminToken, adminSecret)
	header, err := signer.sign(get(target, ""), time.Unix(1330000000, 0), "n1")
	if want := `oauth_signature="` + escapeReference(natural) + `"`; err != nil || !strings.HasSuffix(header, want) {
		t.Errorf("%s, %v, want it to end in\n%s", header, err, want)
	}
}

// TestSignedInOrder signs parameters in natural order, with each value of a name that is repeated and
// with its last one. The normalized parameters are literals, not computed.
func TestSignedInOrder(t *testing.T) {
	const invalid = "signature_invalid"
	tests := []struct {
		name, target, body, before, want string
		plusAsSpace                      bool
	}{
		{name: "natural", target: "/a?b10=1&b9=2", before: "b9=2&b10=1&"},
		{name: "by bytes", target: "/a?b10=1&b9=2", before: "b10=1&b9=2&"},
		{name: "as sent is neither", target: "/a?b9=2&b10=1&b8=3", before: "b9=2&b10=1&b8=3&", want: invalid},
		{name: "in a form", target: "/a?b10=1", body: "b9=2", before: "b9=2&b10=1&"},
		{name: "in a form, by bytes", target: "/a?b10=1", body: "b9=2", before: "b10=1&b9=2&"},
		{name: "the last value", target: "/a?b10=2&b9=x&b10=1", before: "b9=x&b10=1&"},
		{name: "each value", target: "/a?b10=2&b9=x&b10=10", before: "b9=x&b10=2&b10=10&"},
		{name: "each value by bytes", target: "/a?b10=2&b9=x&b10=10", before: "b10=10&b10=2&b9=x&"},
		{name: "names naturally, values by bytes", target: "/a?b10=2&b9=x&b10=10", before: "b9=x&b10=10&b10=2&", want: invalid},
		{name: "escapes are digits", target: "/a?b%20=1&b%5B=2", before: "b%5B=2&b%20=1&"},
		{name: "equal in natural order", target: "/a?01=1&1=2&01=3", before: "01=3&1=2&"},
		{name: "equal in natural order, each value", target: "/a?01=1&1=2&01=3", before: "01=1&01=3&1=2&"},
		{name: "a plus as a space is refused", target: "/a?b=1+2", before: "b=1%202&", want: invalid},
		{name: "a plus as a space", target: "/a?b=1+2", before: "b=1%202&", plusAsSpace: true},
		{name: "a plus in a name as a space", target: "/a?b+c=1", before: "b%20c=1&", plusAsSpace: true},
		{name: "a plus as itself still", target: "/a?b=1+2", before: "b=1%2B2&", plusAsSpace: true},
		{name: "an escaped plus is no space", target: "/a?b=1%2B2", before: "b=1%202&", plusAsSpace: true, want: invalid},
		{name: "a plus as a space, in natural order", target: "/a?b10=1+2&b9=1", before: "b9=1&b10=1%202&", plusAsSpace: true},
		{name: "a plus as a space, each value", target: "/a?b=1+2&b=1", before: "b=1&b=1%202&", plusAsSpace: true},
		{name: "one plus as a space and one as itself", target: "/a?b=1+2&c=1+2", before: "b=1%202&c=1%2B2&", plusAsSpace: true, want: invalid},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, _, _ := newAuthenticator(Options{PlusAsSpace: test.plusAsSpace})
			if _, err := a.Authenticate(t.Context(), signedPut(test.target, test.body, test.before, "")); problemOf(t, err) != test.want {
				t.Errorf("problem %q, want %q", problemOf(t, err), test.want)
			}
		})
	}
}

// TestRulesAreFew: the rules by which a call is compared are few, whatever it contains.
func TestRulesAreFew(t *testing.T) {
	for _, tt := range []struct {
		name, query string
		plusAsSpace bool
		want        int
	}{
		{"no plus accepted", "a=1+2", false, 4},
		{"no plus sent", "a=1", true, 4},
		{"plus", "a=1+2", true, 8},
	} {
		a, _, _ := newAuthenticator(Options{PlusAsSpace: tt.plusAsSpace})
		rules := a.rules(&call{query: tt.query})
		seen := map[rule]bool{}
		for _, r := range rules {
			seen[r] = true
		}
		if len(rules) != tt.want || len(seen) != tt.want {
			t.Errorf("%s: %d rules, %d different ones, want %d", tt.name, len(rules), len(seen), tt.want)
		}
	}
}
