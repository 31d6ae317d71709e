package codec

import (
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/portico-commerce/portico/mapping/contract"
)

var update = flag.Bool("update", false, "write the golden files")

func TestGolden(t *testing.T) {
	tests := []struct {
		name     string
		numbered bool
		tree     Node
	}{
		{"record", false, record(
			"entity_id", "1",
			"email", "ada@example.com",
			"name", "a/b <c> & ' \" € \\ ß",
			"lines", "one\ntwo\ttab\rreturn",
			"controls", "\b\f\x01\x1f\x7f",
			"emoji", "😀",
			"tilde", "a~b-c_d.e+f g",
			"bad", "x\xffy",
			"noncharacter", "\uffff",
			"empty", "",
			"absent", nil,
			"yes", true,
			"no", false,
			"code", NumberNode("404"),
			"price", NumberNode("43.29"),
			"whole_price", NumberNode("90.0"),
			"sum", NumberNode("0.30000000000000004"),
			"large", NumberNode("1e20"),
			"exact", NumberNode("9223372036854775807"),
			"too_large", NumberNode("1e400"),
			"none", record(),
			"street", list("12 St James Sq", "Floor 2"),
			"nested", record("a", list(list("x"), record("b", nil, "c", "1"))),
		)},
		{"list", false, list(record("category_id", "3"), record("category_id", "5"), nil, list(), "x")},
		{"keyed", false, record("1", record("email", "a@example.com"), "7", record("email", "b@example.com"))},
		{"numbered", true, record("1", record("status", "new", "items", list(record("sku", "a"))), "7", record())},
		{"keys", false, record(
			"a b", "1", "x:y", "2", "_trim__", "3", "!\"#$%&'()*+,/;<=>?@[\\]^`{|}~a", "4",
			"1a", "5", "2", "6", "-m", "7", ".n", "8", "a-b.c_d", "9", "!!", "10", "", "11", "größe", "12", "\x01\xffk", "13", "_9", "14", "\u0301", "15")},
		{"empty", false, record()},
		{"empty_numbered", true, record()},
		{"error", false, record("messages", record("error", list(record("code", NumberNode("404"), "message", "Resource not found."))))},
	}
	for _, tt := range tests {
		for _, f := range contract.Formats() {
			t.Run(fmt.Sprintf("%s/%v", tt.name, f), func(t *testing.T) {
				got := string(Append(nil, f, "service_api", &tt.tree, tt.numbered))
				path := filepath.Join("testdata", "golden", tt.name+"."+f.String())
				if *update {
					if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if got != string(want) {
					t.Errorf("got:\n%s\nwant:\n%s", got, want)
				}
				checkRendering(t, &tt.tree)
			})
		}
	}
}

// checkRendering checks that every format renders n as a valid document, appended to existing
// content.
func checkRendering(t *testing.T, n *Node) {
	t.Helper()
	if body := Append(nil, contract.JSON, "r", n, false); !json.Valid(body) {
		t.Errorf("no JSON: %q", body)
	}
	if body := string(Append(nil, contract.Text, "r", n, false)); body != "" && (!inAlphabet(body) || body[0] == '&') {
		t.Errorf("not form-encoded: %q", body)
	}
	for _, numbered := range []bool{false, true} {
		if !hasASCIIKeys(n) {
			break // encoding/xml knows the names of an older edition of XML only
		}
		body := string(Append(nil, contract.XML, "r", n, numbered))
		dec := xml.NewDecoder(strings.NewReader(body))
		var err error
		for err == nil {
			_, err = dec.Token()
		}
		if err != io.EOF {
			t.Errorf("no XML: %v\n%s", err, body)
		}
	}
	for _, f := range contract.Formats() {
		alone := string(Append(nil, f, "r", n, false))
		if behind := string(Append([]byte("x&"), f, "r", n, false)); behind != "x&"+alone {
			t.Errorf("%v appends %q, but alone it is %q", f, behind, alone)
		}
	}
}

func hasASCIIKeys(n *Node) bool {
	for i := range n.Members {
		m := &n.Members[i]
		if strings.ContainsFunc(m.Key, func(r rune) bool { return r >= utf8.RuneSelf }) || !hasASCIIKeys(&m.Value) {
			return false
		}
	}
	return true
}

func TestAppendScalars(t *testing.T) {
	tests := []struct {
		name            string
		node            Node
		json, xml, text string
	}{
		{"null", Node{}, "null", "<r/>", ""},
		{"text", TextNode("a"), `"a"`, "<r>a</r>", ""},
		{"number", NumberNode("1"), "1", "<r>1</r>", ""},
		{"empty record", Node{Kind: EmptyRecord}, "{}", "<r/>", ""},
		{"list of an empty record", list(Node{Kind: EmptyRecord}), "[{}]", "<r>\n  <data_item_1/>\n</r>", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for f, want := range map[contract.Format]string{
				contract.JSON: tt.json, contract.XML: "<?xml version=\"1.0\"?>\n" + tt.xml + "\n", contract.Text: tt.text,
			} {
				if got := string(Append(nil, f, "r", &tt.node, true)); got != want {
					t.Errorf("%v: got %q, want %q", f, got, want)
				}
			}
		})
	}
}

// stockItem is a typical record: 25 texts.
func stockItem() Node {
	n := Node{Kind: Struct}
	for i := range 25 {
		n.Members = append(n.Members, Member{fmt.Sprintf("use_config_field_%d", i), TextNode("100.0000")})
	}
	return n
}

func TestAppendAllocatesNothing(t *testing.T) {
	n := stockItem()
	buf := make([]byte, 0, 4096)
	for _, f := range contract.Formats() {
		if got := testing.AllocsPerRun(100, func() { buf = Append(buf[:0], f, "service_api", &n, false) }); got != 0 {
			t.Errorf("%v: %v allocations", f, got)
		}
	}
}

// TestJSONEscapes checks every ASCII character, and one outside ASCII, at every place of texts of each length up to more
// than twice the eight bytes that the encoder looks at at once.
func TestJSONEscapes(t *testing.T) {
	for c := range rune(utf8.RuneSelf + 1) {
		want := string(c)
		switch {
		case strings.ContainsRune(`"\/`, c):
			want = `\` + want
		case strings.ContainsRune("\b\f\n\r\t", c):
			want = `\` + string("bfnrt"[strings.IndexRune("\b\f\n\r\t", c)])
		case c < ' ' || c >= utf8.RuneSelf:
			want = fmt.Sprintf(`\u%04x`, c)
		}
		for others := range 18 {
			for before := range others + 1 {
				a, b := strings.Repeat("~", before), strings.Repeat(" ", others-before)
				if got := string(appendJSONString(nil, a+string(c)+b)); got != `"`+a+want+b+`"` {
					t.Errorf("%q after %d characters and before %d: %s", c, before, others-before, got)
				}
			}
		}
	}
}

// TestAmounts checks that numbers which are taken for their own JSON text are so.
func TestAmounts(t *testing.T) {
	for text, want := range map[string]bool{
		"0": true, "7": true, "0.5": true, "0.01": true, "12.34": true, "999999999999.99": true, "100": true,
		"": false, ".5": false, "1.": false, "1.0": false, "1.50": false, "00": false, "01.5": false, "-1": false,
		"1e3": false, "1.005": false, "1000000000000": false,
	} {
		if got := isAmount(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
		if _, f, whole := ParseLiteral(text); want && !whole && JSONNumber(f) != text {
			t.Errorf("%q: %s", text, JSONNumber(f))
		} else if n := NumberNode(text); want && whole && n.String() != text {
			t.Errorf("%q: %s", text, n.String())
		}
	}
}
