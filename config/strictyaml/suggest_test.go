package strictyaml_test

import (
	"github.com/portico-commerce/portico/config/strictyaml"
	"strings"
	"testing"
)

func TestDidYouMean(t *testing.T) {
	names := []string{"websites", "stores", "customer_groups"}
	for _, c := range []struct{ name, written, want string }{
		{"letters swapped", "websties", "; did you mean websites?"},
		{"letter missing", "store", "; did you mean stores?"},
		{"long name, more faults", "custmer_grups", "; did you mean customer_groups?"},
		{"nothing similar", "shoes_of_blue", ""},
		{"too long", strings.Repeat("websites", 10), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strictyaml.DidYouMean(c.written, names); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
