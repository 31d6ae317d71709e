package reststore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/itchyny/gojq"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/reststore/expr"
	"go.yaml.in/yaml/v3"
)

var schemas = adapter.NewSchemas()

// compileTest compiles an expression located in line 1.
func compileTest(t testing.TB, text string, variables ...string) *expression {
	t.Helper()
	e := &expression{at: "test.yaml:1"}
	if err := (&compiler{}).compile(e, text, variables); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestFunctions(t *testing.T) {
	for _, c := range []struct{ expression, input, want string }{
		{"number", `"19.9900"`, "19.99"},
		{"number", `"-0.0001"`, "-0.0001"},
		{"number", `"100.0000"`, "100"},
		{"number", `"0.0000"`, "0"},
		{"number", `"-0.0000"`, "0"},
		{"number", `"12345678901234567890.1234"`, "12345678901234567890.1234"},
		{"number", `0.1`, "0.1"},
		{"number", `1e3`, "1000"},
		{"number", `null`, "null"},
		{"number", `"x"`, "error"},
		{"number", `""`, "error"},
		{"number", `[1]`, "error"},
		{"number(2)", `"19.9900"`, "1999"},
		{"number(2)", `"19.9950"`, "2000"},
		{"number(2)", `"-19.9950"`, "-2000"},
		{"number(19)", `"1"`, "error"},
		{"number(0)", `"7.0000"`, "7"},
		{"decimal", `19.99`, `"19.9900"`},
		{"decimal", `"19.99995"`, `"20.0000"`},
		{"decimal", `12345678901234567890.12345`, `"12345678901234567890.1235"`},
		{"decimal", `1E2`, `"100.0000"`},
		// A value that is no number is returned unchanged, and left out when it is converted to a
		// value.
		{"decimal", `1e999999999`, `1e999999999`},
		{"decimal", `"1e65"`, `"1e65"`},
		{"decimal", `"1e-9223372036854775808"`, `"1e-9223372036854775808"`},
		{"decimal", `"15E-1"`, `"1.5000"`},
		{"decimal", `"-0.00005"`, `"-0.0001"`},
		{"decimal", `"-0.00004"`, `"0.0000"`},
		{"decimal", `"007"`, `"7.0000"`},
		{"decimal", `"+5"`, `"+5"`},
		{"decimal", `".5"`, `".5"`},
		{"decimal", `"5."`, `"5."`},
		{"decimal", `"1.2.3"`, `"1.2.3"`},
		{"decimal", `"-"`, `"-"`},
		{"decimal", `""`, `""`},
		{"decimal", `"NaN"`, `"NaN"`},
		{"decimal", `true`, `true`},
		{"decimal", `null`, "null"},
		{"decimal(2)", `1999`, `"19.9900"`},
		{"decimal(2)", `5`, `"0.0500"`},
		{"decimal(2)", `-5`, `"-0.0500"`},
		{"(. / 100) | decimal", `1999`, `"19.9900"`},
		{"(. * 3) | decimal", `0.1`, `"0.3000"`},
		{"rfc3339", `"2012-02-29 23:59:58"`, `"2012-02-29T23:59:58Z"`},
		{"rfc3339", `"2012-02-30 00:00:00"`, "error"},
		{"rfc3339", `7`, "error"},
		{"rfc3339", `null`, "null"},
		{"slug", `"  Crème brûlée & Co. 2 "`, `"creme-brulee-co-2"`},
		{"slug", `"中"`, `""`},
		{"sha256", `"abc"`, `"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"`},
		{"sha256", `"é"`, `"4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"`},
		{"sha256", `3`, "error"},
		{"sha256", `null`, `null`},
		{"slug", `3`, "error"},
		// Numbers that are passed through keep their text.
		{".", `12345678901234567890.1234567890`, "12345678901234567890.1234567890"},
		{"{a: .}", `1.10`, `{"a":1.10}`},
	} {
		t.Run(c.expression+" "+c.input, func(t *testing.T) {
			input, err := expr.Decode([]byte(c.input), 4)
			if err != nil {
				t.Fatal(err)
			}
			v, err := compileTest(t, c.expression).eval(t.Context(), input)
			got := "error"
			if err == nil {
				text, err := gojq.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				got = string(text)
			}
			if got != c.want {
				t.Errorf("%s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestExpressionErrors(t *testing.T) {
	input := map[string]any{"mail": "someone@example.com", "list": []any{1, 2}}
	for _, c := range []struct{ name, expression, want string }{
		{"a value of another kind", ".mail | keys", "test.yaml:1: keys cannot be applied to: string"},
		{"two values", ".list[]", "test.yaml:1: returns more than one value"},
		{"its own error", `error("no stock place")`, `test.yaml:1: error("no stock place")`},
		{"another's member", ".mail.x", "test.yaml:1: expected an object but got: string"},
		{"too many", "[limit(3; repeat(1))] | .[]", "more than one value"},
		{"halt", "halt", "test.yaml:1: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := compileTest(t, c.expression).eval(t.Context(), input)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "someone") {
				t.Errorf("%v, want %q without the value", err, c.want)
			}
		})
	}
	t.Run("endless loop", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := compileTest(t, "last(repeat(1))").eval(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
	t.Run("endless values", func(t *testing.T) {
		if _, err := compileTest(t, "repeat(1)").evalAll(t.Context(), maxEach, nil); err == nil {
			t.Error("accepted")
		}
	})
	t.Run("refusal", func(t *testing.T) {
		_, err := compileTest(t, `error({invalid: "email"})`).eval(t.Context(), nil)
		var r *refusal
		if !errors.As(err, &r) || r.kind.ErrorKind != adapter.Invalid || r.field != "email" {
			t.Errorf("%v", err)
		}
	})
	t.Run("empty environment", func(t *testing.T) {
		t.Setenv("PORTICO_HIDDEN", "x")
		if v, err := compileTest(t, "env | length").eval(t.Context(), nil); err != nil || v != 0 {
			t.Errorf("%v, %v", v, err)
		}
	})
}

func TestPath(t *testing.T) {
	for _, c := range []struct{ name, template, input, want string }{
		{"a text", "/a/{.id}/b", `{"id": "x"}`, "/a/x/b"},
		{"a number", "/a/{.id}", `{"id": 7}`, "/a/7"},
		{"an object in it", `/a/{{id: .id} | .id}`, `{"id": "x"}`, "/a/x"},
		{"a brace in a text", `/a/{"}" + .id}`, `{"id": "x"}`, "/a/%7Dx"},
		{"a plus sign", "/a/{.id}", `{"id": "a+b"}`, "/a/a%2Bb"},
		{"a slash", "/a/{.id}", `{"id": "../b"}`, "/a/..%2Fb"},
		{"what ends a path", "/a/{.id}", `{"id": "?x=1#y z"}`, "/a/%3Fx=1%23y%20z"},
		{"dots", "/a/{.id}/b", `{"id": ".."}`, "error"},
		{"dots from two", "/a/{.id}{.id}/b", `{"id": "."}`, "error"},
		{"nothing", "/a/{.id}", `{"id": ""}`, "error"},
		{"null", "/a/{.id}", `{}`, "error"},
		{"a list", "/a/{.id}", `{"id": []}`, "error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			input, err := expr.Decode([]byte(c.input), 4)
			if err != nil {
				t.Fatal(err)
			}
			got, err := requestOf(t, c.template).urlPath(t.Context(), input)
			if err != nil {
				got = "error"
			}
			if got != c.want {
				t.Errorf("%s, %v; want %s", got, err, c.want)
			}
		})
	}
}

// FuzzDecimal compares the conversion of decimals with rational arithmetic.
func FuzzDecimal(f *testing.F) {
	for _, seed := range []string{"0", "-0.00005", "1e3", "1E-3", "12345678901234567890.12345", "1.", ".1", "+1", "0x1", "1_000", "1e65", " 1", "١"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := expr.Decimal(json.Number(text), 0)
		if err != nil {
			return
		}
		want, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%q is not a number, but is converted to %s", text, got)
		}
		is, ok := new(big.Rat).SetString(got)
		if !ok || len(got) < 6 || got[len(got)-5] != '.' {
			t.Fatalf("%q is converted to %s, which is not a decimal", text, got)
		}
		half := big.NewRat(1, 20000)
		if want.Sub(want, is).Abs(want).Cmp(half) > 0 {
			t.Errorf("%q is converted to %s: wrong rounding", text, got)
		}
		if i, err := expr.Integer(json.Number(text)); err == nil {
			if want, _ := new(big.Rat).SetString(text); !want.IsInt() || want.Num().Int64() != i || !want.Num().IsInt64() {
				t.Errorf("%q is converted to the integer %d", text, i)
			}
		}
	})
}

// FuzzDecode compares the decoder and the splitting of lists with encoding/json.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"items": [{"id": 1}, null, "x"], "n": 1.10}`, `[[[]]]`, `{"a": {"items": []}}`, `{"items": 1} x`, `{"items": [1}`, `"\u0000"`, `{"items":[],"items":[]}`} {
		f.Add([]byte(seed))
	}
	f.Add([]byte(`{"items": [{"id": 1, "id": 2}], "n": {"a": 1, "a": 2}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := expr.Decode(body, 8)
		list, cutErr := (&documentRequest{Items: jsonPath{"items"}}).split(body)
		if err != nil {
			// Documents may have two members of one name before they are decoded.
			if cutErr == nil && !errors.Is(err, expr.ErrDepth) && !strings.Contains(err.Error(), "characters") && !errors.Is(err, jsontext.ErrDuplicateName) {
				t.Errorf("split invalid JSON (%v)", err)
			}
			return
		}
		var std any
		d := json.NewDecoder(strings.NewReader(string(body)))
		d.UseNumber()
		if err := d.Decode(&std); err != nil {
			t.Fatalf("decoded invalid JSON: %v", err)
		}
		if fmt.Sprint(v) != fmt.Sprint(std) {
			t.Errorf("%v, want %v", v, std)
		}
		top, _ := v.(map[string]any)
		items, is := top["items"].([]any)
		if is != (cutErr == nil && top["items"] != nil) || len(items) != len(list) {
			t.Fatalf("split into %d elements (%v), want %d", len(list), cutErr, len(items))
		}
		for i, raw := range list {
			one, err := expr.Decode(raw, 8)
			if err != nil || fmt.Sprint(one) != fmt.Sprint(items[i]) {
				t.Errorf("%s, %v; want %v", raw, err, items[i])
			}
		}
	})
}

// requestOf returns a request with this path.
func requestOf(t *testing.T, path string) *request {
	t.Helper()
	l, r := newLoader(&Options{}), &request{Path: &template{expression{text: path}}}
	r.Path.check(l, place{Node: &yaml.Node{Line: 1}})
	if err := l.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}
