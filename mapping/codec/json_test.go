package codec

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/contract"
)

func TestDecodeJSON(t *testing.T) {
	tests := []struct {
		name, body string
		want       Node
	}{
		{"null", "null", Node{}},
		{"true", "true", value(true)},
		{"false", "false", value(false)},
		{"number as sent", "12.50", NumberNode("12.50")},
		{"text", `"x"`, TextNode("x")},
		{"white space around", " \t\r\n{} \n", record()},
		{"empty list", "[]", record()},
		{"list", `["a",null]`, list("a", nil)},
		{"order kept", `{"b":"1","a":"2"}`, record("b", "1", "a", "2")},
		{"nested", `{"a":[{"b":true}]}`, record("a", list(record("b", true)))},
		{"duplicate: the last value at the first place", `{"a":"1","b":"2","a":"3"}`, record("a", "3", "b", "2")},
		{"duplicate spelt with an escape", `{"a":"1","\u0061":"2"}`, record("a", "2")},
		{"empty key", `{"":"1"}`, record("", "1")},
		{"escapes", `"\u00e9\u20ac\ud83d\ude00\/\"\\\b\f\n\r\t"`, TextNode("é€😀/\"\\\b\f\n\r\t")},
		{"NUL by escape", `"\u0000"`, TextNode("\x00")},
		{"1e400", "1e400", NumberNode("1e400")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Decode(contract.JSON, []byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			checkTree(t, got, tt.want)
		})
	}
}

func TestDecodeJSONRefuses(t *testing.T) {
	tests := []struct{ name, body string }{
		{"empty", ""},
		{"blanks", "   "},
		{"unfinished", `{"firstname":"J"`},
		{"trailing text", `{"firstname":"J"} x`},
		{"two values", `{}{}`},
		{"trailing comma in an object", `{"a":1,}`},
		{"trailing comma in a list", `[1,]`},
		{"single quotes", `{'firstname':'B'}`},
		{"byte order mark", "\ufeff{}"},
		{"NULL", "NULL"},
		{"True", "True"},
		{"FALSE in a record", `{"a":FALSE}`},
		{"bad UTF-8", "\"\xff\""},
		{"bad UTF-8 in a key", "{\"\xff\":1}"},
		{"surrogate in UTF-8", "\"\xed\xa0\x80\""},
		{"high surrogate alone", `"\ud800"`},
		{"low surrogate alone", `"\udc00"`},
		{"high surrogate twice", `"\ud800\ud800"`},
		{"line feed in a text", "\"a\nb\""},
		{"NUL in a text", "\"a\x00b\""},
		{"leading zero", "01"},
		{"plus", "+1"},
		{"point without digits", "1."},
		{"infinity", "Infinity"},
		{"hexadecimal", "0x1"},
		{"unknown escape", `"\x41"`},
		{"comment", "/**/{}"},
		{"form feed around", "\f{}"},
		{"key without quotes", `{a:1}`},
		{"closed by the wrong bracket", `[1}`},
		{"512 lists", strings.Repeat("[", 512) + strings.Repeat("]", 512)},
		{"512 objects", strings.Repeat(`{"a":`, 512) + "1" + strings.Repeat("}", 512)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if n, err := Decode(contract.JSON, []byte(tt.body)); !errors.Is(err, ErrSyntax) {
				t.Errorf("got %v, %v, want ErrSyntax", n, err)
			}
		})
	}
}

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"firstname":"A","firstname":"B"}`, `{"firstname":"\u00e9\u20ac/\"<>&'"}`, `{"firstname":true,"lastname":12.50}`,
		`[{"item_id":1,"qty":6}]`, `{"1":{"item_id":1,"qty":8}}`, `{"a":TRUE}`, "\ufeff{}", `"\ud800"`, "1e400", `{"a":[[],{},null]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		n, err := Decode(contract.JSON, body)
		if err != nil {
			return
		}
		if !json.Valid(body) {
			t.Fatalf("accepted, but no JSON: %q", body)
		}
		checkRendering(t, &n)
		first := Append(nil, contract.JSON, "", &n, false)
		again, err := Decode(contract.JSON, first)
		if err != nil {
			t.Fatalf("rendered as %q: %v", first, err)
		}
		if second := Append(nil, contract.JSON, "", &again, false); string(second) != string(first) {
			t.Errorf("rendered as %q, then as %q", first, second)
		}
	})
}
