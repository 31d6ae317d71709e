package codec

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/mapping/contract"
)

func TestParseForm(t *testing.T) {
	deep := func(brackets int) string { return "a" + strings.Repeat("[b]", brackets) + "=1" }
	tests := []struct {
		name, form string
		want       Node
	}{
		{"pairs", "b=1&a=2", record("b", "1", "a", "2")},
		{"blanks", "a=T%202+x", record("a", "T 2 x")},
		{"last value, first place", "a=1&b=2&a=3", record("a", "3", "b", "2")},
		{"no value", "a&b=", record("a", "", "b", "")},
		{"empty names and parts", "&&=x&a=1&", record("a", "1")},
		{"equal sign in the value", "a=b=c", record("a", "b=c")},
		{"letter case counts", "a=1&A=2", record("a", "1", "A", "2")},
		{"bad escapes stay", "a=%&b=%4&c=%zz&d=100%", record("a", "%", "b", "%4", "c", "%zz", "d", "100%")},
		{"escapes in either case", "a=%c3%9F", record("a", "ß")},
		{"not UTF-8", "a=%FF", record("a", "\xff")},
		{"nested", "a[b]=1&a[c]=2", record("a", record("b", "1", "c", "2"))},
		{"brackets escaped", "a%5Bb%5D=1", record("a", record("b", "1"))},
		{"appended", "a[]=x&a[]=y", record("a", list("x", "y"))},
		{"appended below", "a[b][]=1", record("a", record("b", list("1")))},
		{"append: a blank is an empty key", "a[+]=x&a[%09]=y", record("a", list("x", "y"))},
		{"append behind the greatest index", "a[5]=x&a[]=y&a[k]=z&a[]=w", record("a", record("5", "x", "6", "y", "k", "z", "7", "w"))},
		{"append: no index is 05", "a[05]=x&a[]=y", record("a", record("05", "x", "0", "y"))},
		{"append: no index left", "a[9223372036854775807]=x&a[]=y&a[][b]=z", record("a", record("9223372036854775807", "x"))},
		{"structures appended", "0[item_id]=1&0[qty]=5&f[][a]=1&f[][a]=2",
			record("0", record("item_id", "1", "qty", "5"), "f", list(record("a", "1"), record("a", "2")))},
		{"text, then structure", "a=1&b=2&a[c]=3", record("a", record("c", "3"), "b", "2")},
		{"structure, then text", "a[c]=3&a=1", record("a", "1")},
		{"structure, text, structure", "a[7]=3&a=1&a[]=x", record("a", list("x"))},
		{"name: leading blanks", "++a=1", record("a", "1")},
		{"name: points and blanks", "a.b+c=1", record("a_b_c", "1")},
		{"name: points in brackets", "a.b[c.d+e]=1", record("a_b", record("c.d e", "1"))},
		{"name: bad UTF-8", "%FF.=1", record("\xff_", "1")},
		{"name: ends at NUL", "a%00b=1", record("a", "1")},
		{"name: begins with a bracket", "[a]=1&[=2&b=3", record("b", "3")},
		{"name: blanks only", "+=1&b=3", record("b", "3")},
		{"name: closing bracket alone", "a]=1", record("a]", "1")},
		{"bracket left open", "a[b=1", record("a_b", "1")},
		{"brackets left open", "a[b.c[d=1", record("a_b_c_d", "1")},
		{"bracket left open at the end", "a[=1", record("a_", "1")},
		{"bracket left open behind a closed one", "a[b][c=1", record("a", record("b", "1"))},
		{"text behind a bracket", "a[b]c=1&a[d]e[f]=2", record("a", record("b", "1", "d", "2"))},
		{"bracket in brackets", "a[b[c]=1", record("a", record("b[c", "1"))},
		{"65 brackets", deep(65) + "&b=1", record("b", "1")},
		{"empty", "", record()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { checkTree(t, ParseForm(tt.form), tt.want) })
	}
	t.Run("64 brackets", func(t *testing.T) {
		n := ParseForm(deep(64))
		for p := &n; p.Kind == Struct; p = &p.Members[0].Value {
			if len(p.Members) != 1 {
				t.Fatalf("%d members", len(p.Members))
			}
		}
	})
}

func TestDecodeForm(t *testing.T) {
	tests := []struct {
		name, body string
		want       Node
		err        error
	}{
		{"pairs", "firstname=1&firstname=2&&x", record("firstname", "2", "x", ""), nil},
		{"whole alphabet", "a=%2F-_.!~*'()[];/?:@$,", record("a", "/-_.!~*'()[];/?:@$,"), nil},
		{"final line feed", "a=1\n", record("a", "1\n"), nil},
		{"empty", "", record(), nil},
		{"white space", " \t\r\n\v\f", record(), nil},
		{"no name", "=x", record(), nil},
		{"blank", "a=b c", Node{}, ErrAlphabet},
		{"two line feeds", "a=1\n\n", Node{}, ErrAlphabet},
		{"not ASCII", "a=é", Node{}, ErrAlphabet},
		{"quote", `a="`, Node{}, ErrAlphabet},
		{"angle bracket", "a=<b>", Node{}, ErrAlphabet},
		{"hash", "a=#", Node{}, ErrAlphabet},
		{"bar", "a=|", Node{}, ErrAlphabet},
		{"brace", "{}", Node{}, ErrAlphabet},
		{"bad escape", "a=%g0", Node{}, ErrAlphabet},
		{"cut escape", "a=%4", Node{}, ErrAlphabet},
		{"NUL", "a=\x00", Node{}, ErrAlphabet},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Decode(contract.Text, []byte(tt.body))
			if !errors.Is(err, tt.err) {
				t.Fatalf("got error %v, want %v", err, tt.err)
			}
			checkTree(t, got, tt.want)
		})
	}
}

func FuzzForm(f *testing.F) {
	for _, seed := range []string{
		"firstname=1&firstname=2&&x", "a[b][]=1", "filter[1][attribute]=sku&filter[1][like]=b%25", "a[b=1&a[b][c=2", "a[5]=x&a[]=y",
		"[a]=1&.b=2&+c=3", "a=%FF&b=%", "a[9223372036854775807]=x&a[]=y", "0[item_id]=1&0[qty]=5",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := ParseForm(s)
		checkRendering(t, &n)
		rendered := Append(nil, contract.Text, "", &n, false)
		again, err := Decode(contract.Text, rendered)
		if err != nil {
			t.Fatalf("rendered as %q: %v", rendered, err)
		}
		if d := cmp.Diff(n, again); d != "" {
			t.Errorf("rendered as %q, which is another tree (-first +second):\n%s", rendered, d)
		}
	})
}
