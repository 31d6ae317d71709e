package codec

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
)

// laughs returns a document whose entities expand to 10^levels times text.
func laughs(levels int, text, root string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE r [<!ENTITY e0 %q>", text)
	for i := 1; i <= levels; i++ {
		fmt.Fprintf(&b, "<!ENTITY e%d %q>", i, strings.Repeat(fmt.Sprintf("&e%d;", i-1), 10))
	}
	return b.String() + "]>" + strings.ReplaceAll(root, "&e;", fmt.Sprintf("&e%d;", levels))
}

// many returns n parts, each formatted with its number.
func many(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestBombs decodes inputs that are designed to take disproportionate time or memory. Without
// the limit that it targets, a row takes minutes or gigabytes.
func TestBombs(t *testing.T) {
	large := 2 << 20
	if testenv.Nightly() {
		large = 16 << 20 // the largest body that is read
	}
	quadratic := `<!DOCTYPE r [<!ENTITY e "` + strings.Repeat("x", 100_000) + `">]><r>` + strings.Repeat("&e;", 100_000) + "</r>"
	chain := func(n int) string {
		var b strings.Builder
		b.WriteString("<!DOCTYPE r [<!ENTITY e0 'x'>")
		for i := range n {
			fmt.Fprintf(&b, "<!ENTITY e%d '&e%d;'>", i+1, i)
		}
		return fmt.Sprintf("%s]><r>&e%d;</r>", b.String(), n)
	}
	tests := []struct {
		name   string
		format contract.Format
		body   string
		err    error
	}{
		{"billion laughs", contract.XML, laughs(9, "lol", "<r>&e;</r>"), ErrSyntax},
		{"billion laughs in an attribute", contract.XML, laughs(9, "lol", `<r a="&e;"/>`), ErrSyntax},
		{"billion laughs of nothing", contract.XML, laughs(9, "", "<r>&e;</r>"), ErrSyntax},
		{"billion laughs of nothing in an attribute", contract.XML, laughs(9, "", `<r a="&e;"/>`), ErrSyntax},
		{"billion laughs of elements", contract.XML, laughs(9, "<a/>", "<r>&e;</r>"), ErrSyntax},
		{"thousand laughs", contract.XML, laughs(3, "lol", "<r>&e;</r>"), nil},
		{"quadratic blow-up", contract.XML, quadratic, ErrSyntax},
		{"chain of 40 entities", contract.XML, chain(39), nil},
		{"chain of 41 entities", contract.XML, chain(40), ErrSyntax},
		{"chain of 100,000 entities", contract.XML, chain(100_000), ErrSyntax},
		{"references that are none", contract.XML, "<!DOCTYPE r [<!ENTITY e ''>]><r a='" + strings.Repeat("&amp;", 200_000) + "'>" + strings.Repeat("&amp;", 200_000) + "</r>", nil},
		{"ampersands without end", contract.XML, `<!DOCTYPE r [<!ENTITY e "` + strings.Repeat("&#38;", 100_000) + `">]><r a="&e;"/>`, ErrSyntax},
		{"256 levels of XML", contract.XML, nested(256), nil},
		{"511 levels of JSON", contract.JSON, strings.Repeat("[", 511) + "1" + strings.Repeat("]", 511), nil},
		{"10,000 levels of XML", contract.XML, strings.Repeat("<a>", 10_000), ErrSyntax},
		{"10,000 levels of JSON", contract.JSON, strings.Repeat("[", 10_000), ErrSyntax},
		{"10,000 levels of form", contract.Text, "a" + strings.Repeat("[b]", 10_000) + "=1", nil},
		{"megabytes of one JSON text", contract.JSON, `"` + strings.Repeat("x", large) + `"`, nil},
		{"megabytes of one XML text", contract.XML, "<r><a>" + strings.Repeat("x", large) + "</a></r>", nil},
		{"megabytes of one XML attribute", contract.XML, `<r a="` + strings.Repeat("x", large) + `"/>`, nil},
		{"megabytes of one form value", contract.Text, "a=" + strings.Repeat("x", large), nil},
		{"megabytes of one JSON number", contract.JSON, strings.Repeat("1", large), nil},
		{"megabytes of JSON values", contract.JSON, "[" + strings.Repeat("1,", large/2) + "1]", ErrSyntax},
		{"megabytes of XML elements", contract.XML, "<r>" + strings.Repeat("<a/>", large/4) + "</r>", ErrSyntax},
		{"megabytes of form pairs", contract.Text, strings.Repeat("a[]&", large/4), ErrSyntax},
		{"100,000 names in JSON", contract.JSON, "{" + many(`"name%d":1,`, 100_000) + `"a":1}`, nil},
		{"100,000 names in XML", contract.XML, "<r>" + many("<name%d/>", 100_000) + "</r>", nil},
		{"100,000 attributes", contract.XML, "<r" + many(" name%d=''", 100_000) + "/>", nil},
		{"100,000 prefixes", contract.XML, "<r" + many(" xmlns:name%[1]d='urn:x%[1]d' name%[1]d:a=''", 100_000) + "/>", nil},
		{"100,000 of one name in XML", contract.XML, "<r><s>" + many("<a%d/>", 1000) + "<data_item/></s>" + strings.Repeat("<s/>", 100_000) + "</r>", nil},
		{"100,000 names in a form", contract.Text, many("name%d&", 100_000), nil},
		{"100,000 appended in a form", contract.Text, strings.Repeat("a[]=1&", 100_000), nil},
		{"brackets without end", contract.Text, strings.Repeat("a[", 500_000), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			n, err := Decode(tt.format, []byte(tt.body))
			runtime.ReadMemStats(&after)
			if !errors.Is(err, tt.err) {
				t.Errorf("got error %v, want %v", err, tt.err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > uint64(200<<20+10*len(tt.body)) {
				t.Errorf("allocated %d MB for a body of %d KB", used>>20, len(tt.body)>>10)
			}
			runtime.KeepAlive(n)
		})
	}
}

// TestParseFormLarge checks the limits for query strings.
func TestParseFormLarge(t *testing.T) {
	n := ParseForm(strings.Repeat("a[]=1&", maxValues))
	if got := len(n.Members[0].Value.Members); got != maxValues/2 {
		t.Errorf("%d values, want %d", got, maxValues/2)
	}
}
