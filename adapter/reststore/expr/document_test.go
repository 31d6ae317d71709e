package expr

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

const sharedText = `
fragment product on Product { id name ...price }
fragment price on Product { price(currency: $currency) { minor } }
fragment loop on Product { id ...loop }
fragment unused on Product { id }
`

func shared(t testing.TB) Fragments {
	t.Helper()
	f, err := ParseFragments(sharedText)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// words returns a text without the white space that has no meaning.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text, want, operation string
		query                       bool
	}{
		{"query", "query ($id: ID!) { product(id: $id) { id } }", "query ($id: ID!) { product(id: $id) { id } }", "query product", true},
		{"shorthand", "{ shop: store { id } }", "query { shop: store { id } }", "query store", true},
		{"mutation", "mutation Save($in: [In!]! = []) { save(in: $in) { ... on Fault { code } } }",
			"mutation Save ($in: [In!]! = []) { save(in: $in) { ... on Fault { code } } }", "mutation Save", false},
		{"indirect fragments", "query ($currency: C) { products { ...product } }",
			"query ($currency: C) { products { ... product } } fragment product on Product { id name ... price } fragment price on Product { price(currency: $currency) { minor } }", "query products", true},
		{"fragment that uses itself", "{ products { ...loop } }", "query { products { ... loop } } fragment loop on Product { id ... loop }", "query products", true},
		{"fragment of the document", "{ ...own } fragment own on Query { a }", "query { ... own } fragment own on Query { a }", "query", true},
		{"strings", `{ a(text: "a\"\\ü\n", block: """b"c""") }`, `query { a(text: "a\"\\ü\n", block: "b\"c") }`, "query a", true},
		{"directives", "query ($a: Boolean!) { a @include(if: $a) }", "query ($a: Boolean!) { a @include(if: $a) }", "query a", true},
		{"variables in lists and objects", "query ($a: A, $b: B) { a(x: [{y: $a}, $b]) }", "query ($a: A, $b: B) { a(x: [{y:$a},$b]) }", "query a", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := Parse(c.text, shared(t))
			if err != nil {
				t.Fatal(err)
			}
			if got := words(d.Text()); got != c.want {
				t.Errorf("text\n%s, want\n%s", got, c.want)
			}
			if d.Name() != c.operation || d.IsQuery() != c.query {
				t.Errorf("%q, query: %t", d.Name(), d.IsQuery())
			}
		})
	}
}

func TestVariables(t *testing.T) {
	d, err := Parse("query ($a: ID!, $b: ID, $c: [ID!]! = []) { a(a: $a, b: $b, c: $c) }", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := d.Variables(), []variable{{"a", true}, {"b", false}, {"c", false}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		name, text string
		line       int
		want       string
	}{
		{"syntax", "{\n a(\n }", 3, "Expected Name, found }"},
		{"no operation", "fragment f on T { id }", 1, "exactly one operation, not 0"},
		{"two operations", "query a { a }\nquery b { b }", 2, "exactly one operation, not 2"},
		{"subscription", "subscription { a }", 1, "must be a query or a mutation"},
		{"unknown fragment", "{\n ...other\n}", 2, "uses the fragment other, which is not defined"},
		{"fragment defined twice", "{ ...price }\nfragment price on P { id }", 2, "the fragment price is defined twice"},
		{"undeclared variable", "query ($b: ID) {\n a(id: $id, b: $b) }", 2, "uses $id, which the operation does not declare"},
		{"undeclared variable in a fragment", "{\n ...product }", 2, "uses $currency, which the operation does not declare"},
		{"variable declared twice", "query ($a: ID,\n $a: ID) { a(a: $a) }", 2, "declares $a twice"},
		{"unused variable", "query (\n$a: ID) { a }", 2, "declares $a, but does not use it"},
		{"too long", "{" + strings.Repeat(" a", maxTokens) + "}", 1, "limit"},
		{"too deep", strings.Repeat("{ a ", 5000) + strings.Repeat("}", 5000), 1, "nesting"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(c.text, shared(t))
			known, ok := errors.AsType[*Error](err)
			if !ok || known.Line != c.line || !strings.Contains(known.Problem, c.want) {
				t.Errorf("%v, want %q in line %d", known, c.want, c.line)
			}
		})
	}
	for _, text := range []string{"fragment", "{ a }", "fragment a on A { id } fragment a on A { id }"} {
		if _, err := ParseFragments(text); err == nil {
			t.Errorf("accepted the fragments %q", text)
		}
	}
}

func TestRepeat(t *testing.T) {
	const text = `query one($id: ID!, $c: C = EUR) { it: product(id: $id, in: [{c: $c}]) @f(c: $c) { ...p } } fragment p on P { id }`
	d, err := Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Repeat()
	if err != nil {
		t.Fatal(err)
	}
	const want = "query one($id_0: ID!, $c_0: C = EUR, $id_1: ID!, $c_1: C = EUR, ) { " +
		"r0: product(id: $id_0, in: [{c:$c_0}]) @f(c: $c_0) { ... p } r1: product(id: $id_1, in: [{c:$c_1}]) @f(c: $c_1) { ... p } } fragment p on P { id }"
	if got := words(r.Text(2)); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	if _, err := Parse(r.Text(2), nil); err != nil {
		t.Error(err)
	}
	if got := r.Variable("id", 1); got != "id_1" {
		t.Errorf("variable %s", got)
	}
	if got := words(d.Text()); !strings.HasPrefix(got, "query one ($id: ID!, $c: C = EUR) { it: product(id: $id,") {
		t.Errorf("the document became %s", got)
	}
	for name, text := range map[string]string{
		"mutation":               "mutation ($id: ID!) { product(id: $id) { id } }",
		"two fields":             "query ($id: ID!) { product(id: $id) { id } shop { id } }",
		"fragment":               "query ($id: ID!) { ...q } fragment q on Query { product(id: $id) { id } }",
		"no variable":            "{ product { id } }",
		"directive":              "query ($id: ID!) @d { product(id: $id) { id } }",
		"variable in a fragment": "query ($id: ID!) { product { ...p } } fragment p on P { price(id: $id) }",
	} {
		d, err := Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Repeat(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("query ($id: ID!) { product(id: $id) { ...product } }")
	f.Add("mutation A($a: [In!]! = [{b: \"\\u0000\"}]) @d(a: $a) { ... on B { c: d(e: $a, f: \"\"\"g\"\"\") } }")
	f.Add("{ ...own } fragment own on Query { a @skip(if: true) }")
	fragments := shared(f)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(text, fragments)
		if err != nil {
			if known, ok := errors.AsType[*Error](err); !ok || known.Line < 1 {
				t.Errorf("%#v has no line", err)
			}
			return
		}
		again, err := Parse(d.Text(), nil)
		if err != nil || again.Text() != d.Text() {
			t.Fatalf("%v for\n%q", err, d.Text())
		}
		if r, err := d.Repeat(); err == nil {
			if _, err := Parse(r.Text(3), nil); err != nil {
				t.Errorf("%v for\n%q", err, r.Text(3))
			}
		}
	})
}
