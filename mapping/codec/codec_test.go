package codec

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// record returns a Struct of alternating keys and values.
func record(pairs ...any) Node {
	n := Node{Kind: Struct}
	for i := 0; i < len(pairs); i += 2 {
		n.Members = append(n.Members, Member{pairs[i].(string), value(pairs[i+1])})
	}
	return n
}

// list returns a Struct with the keys of a list.
func list(values ...any) Node {
	n := Node{Kind: Struct}
	for i, v := range values {
		n.Members = append(n.Members, Member{string(rune('0' + i)), value(v)})
	}
	return n
}

func value(v any) Node {
	switch v := v.(type) {
	case nil:
		return Node{}
	case bool:
		if v {
			return Node{Kind: True}
		}
		return Node{Kind: False}
	case string:
		return TextNode(v)
	default:
		return v.(Node)
	}
}

func checkTree(t *testing.T, got, want Node) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("tree differs (-want +got):\n%s", d)
	}
}

func TestNodeString(t *testing.T) {
	tests := []struct {
		name string
		node Node
		want string
	}{
		{"null", Node{}, ""},
		{"false", value(false), ""},
		{"true", value(true), "1"},
		{"text", TextNode(" a "), " a "},
		{"whole", NumberNode("12"), "12"},
		{"whole, 64 bits", NumberNode("-9223372036854775808"), "-9223372036854775808"},
		{"fraction", NumberNode("12.50"), "12.5"},
		{"integral fraction", NumberNode("1.0"), "1"},
		{"negative zero", NumberNode("-0.0"), "-0"},
		{"beyond 64 bits", NumberNode("12345678901234567890"), "1.2345678901235E+19"},
		{"beyond floats", NumberNode("1e400"), "INF"},
		{"large", NumberNode("100000000000000.0"), "1.0E+14"},
		{"list", list("a"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.node.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
