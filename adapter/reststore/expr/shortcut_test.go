package expr

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/itchyny/gojq"
)

// TestShortcut compares shortcuts with the interpreter.
func TestShortcut(t *testing.T) {
	for _, c := range []struct {
		expression string
		want       bool // whether there is a shortcut
	}{
		{".", true},
		{".a", true},
		{".a.b", true},
		{"$x", true},
		{"$x.a", true},
		{"$y.a.b.c", true},
		{`"text"`, true},
		{`"a\"b\u00e4"`, true},
		{`"text".a`, true},
		{"(.a)", false},
		{".a?", false},
		{".a.b?", false},
		{`."a"`, false},
		{".[0]", false},
		{".a[0]", false},
		{".a[]", false},
		{".[\"a\"]", false},
		{".a | .b", false},
		{".a // .b", false},
		{"-.a", false},
		{`"a \(.a)"`, false},
		{`@base64 "a"`, false},
		{"$ENV", false},
		{"$__loc__", false},
		{"length", false},
		{"def f: 1; .a", false},
		{". as $x | $x", false},
		{"1", false},
		{"{a}", false},
		{"..", false},
	} {
		names := []string{"$x", "$y"}
		q, err := gojq.Parse(c.expression)
		if err != nil {
			t.Fatal(err)
		}
		shortcut := ShortcutOf(q, names)
		if (shortcut != nil) != c.want {
			t.Errorf("%s: has a shortcut: %v", c.expression, shortcut != nil)
		}
		if shortcut == nil {
			continue
		}
		code, err := gojq.Compile(q, gojq.WithVariables(names))
		if err != nil {
			t.Fatal(err)
		}
		values := []any{map[string]any{"a": "x"}, map[string]any{"a": map[string]any{"b": map[string]any{"c": nil}}}}
		for _, input := range []any{
			nil, "a", json.Number("1.50"), true, []any{map[string]any{"a": 1}}, map[string]any{}, map[string]any{"a": nil}, map[string]any{"a": false},
			map[string]any{"a": map[string]any{"b": []any{json.Number("7")}}}, map[string]any{"a": []any{}},
		} {
			want, _ := code.Run(input, values...).Next()
			_, fails := want.(error)
			got, ok := shortcut(input, values)
			if ok == fails || ok && !reflect.DeepEqual(got, want) {
				t.Errorf("%s of %v: %v, %v; want %v", c.expression, input, got, ok, want)
			}
		}
	}
}
