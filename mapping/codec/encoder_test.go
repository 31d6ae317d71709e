package codec

import (
	"fmt"
	"testing"

	"github.com/portico-commerce/portico/mapping/contract"
)

// renderInPieces renders n member by member, and starts a new piece before each member for which cut
// returns true.
func renderInPieces(f contract.Format, n *Node, numbered bool, cut func(place int) bool) string {
	var whole string
	var piece []byte
	e := NewEncoder(f, "r", n.Shape(), numbered)
	for i := range n.Members {
		if cut(i) {
			whole += string(piece)
			piece = piece[:0]
		}
		piece = e.Append(piece, &n.Members[i])
	}
	return whole + string(piece) + string(e.End(nil))
}

// checkPieces checks that an Encoder renders n to the bytes of Append, however the output is
// divided.
func checkPieces(t *testing.T, n *Node, cut func(place int) bool) {
	t.Helper()
	for _, f := range contract.Formats() {
		for _, numbered := range []bool{false, true} {
			want := string(Append(nil, f, "r", n, numbered))
			if got := renderInPieces(f, n, numbered, cut); got != want {
				t.Errorf("%v, numbered %t:\ngot  %q\nwant %q", f, numbered, got, want)
			}
		}
	}
}

func TestEncoder(t *testing.T) {
	entry := record("a b", "x", "types", list("1", nil), "none", nil)
	for _, tt := range []struct {
		name            string
		node            Node
		shape           Shape
		json, xml, text string
	}{
		{"nothing", record(), Array, `[]`, "<r/>\n", ""},
		{"list", list("x", entry), Array, `["x",{"a b":"x","types":["1",null],"none":null}]`,
			"<r>\n  <data_item>x</data_item>\n  <data_item>\n    <a_b>x</a_b>\n    <types>\n      <data_item>1</data_item>\n      <data_item/>\n    </types>\n    <none/>\n  </data_item>\n</r>\n",
			"0=x&1%5Ba+b%5D=x&1%5Btypes%5D%5B0%5D=1"},
		{"by id", record("7", "x", "1", "y"), Keyed, `{"7":"x","1":"y"}`,
			"<r>\n  <data_item>x</data_item>\n  <data_item>y</data_item>\n</r>\n", "7=x&1=y"},
		{"a list with a hole", record("0", "x", "2", "y"), Keyed, `{"0":"x","2":"y"}`,
			"<r>\n  <data_item>x</data_item>\n  <data_item>y</data_item>\n</r>\n", "0=x&2=y"},
		{"a list with a name", record("0", "x", "1", "y", "z", nil), Named, `{"0":"x","1":"y","z":null}`,
			"<r>\n  <data_item_0>x</data_item_0>\n  <data_item_1>y</data_item_1>\n  <z/>\n</r>\n", "0=x&1=y"},
		{"nothing to name at first", list(nil, nil, "x"), Array, `[null,null,"x"]`,
			"<r>\n  <data_item/>\n  <data_item/>\n  <data_item>x</data_item>\n</r>\n", "2=x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.node.Shape(); got != tt.shape {
				t.Errorf("shape %d, want %d", got, tt.shape)
			}
			every := func(int) bool { return true }
			for f, want := range map[contract.Format]string{contract.JSON: tt.json, contract.XML: prolog + tt.xml, contract.Text: tt.text} {
				if got := renderInPieces(f, &tt.node, false, every); got != want {
					t.Errorf("%v:\ngot  %q\nwant %q", f, got, want)
				}
			}
			checkPieces(t, &tt.node, every)
		})
	}
}

// FuzzEncoder divides the rendering of parsed trees at arbitrary members.
func FuzzEncoder(f *testing.F) {
	for i, seed := range []string{
		`{"1":{"email":"a"},"7":{"email":"b"}}`, `[{"a":1},null,[[],{}],"x",true,false]`, `{"a b":[null],"":"","0":0}`, `[]`, `[null,null,1]`,
	} {
		f.Add([]byte(seed), uint64(i*5))
	}
	f.Fuzz(func(t *testing.T, body []byte, cuts uint64) {
		for _, format := range contract.Formats() {
			n, err := Decode(format, body)
			if err != nil || n.Kind != Struct {
				continue
			}
			checkPieces(t, &n, func(place int) bool { return cuts>>(place%64)&1 == 1 })
		}
	})
}

func ExampleEncoder() {
	e := NewEncoder(contract.JSON, "", Keyed, false)
	body := e.Append(nil, &Member{"7", TextNode("first")})
	body = e.Append(body, &Member{"1", TextNode("second")})
	fmt.Printf("%s", e.End(body))
	// Output: {"7":"first","1":"second"}
}
