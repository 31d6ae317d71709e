package codec

import (
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
)

// TestCost decodes the bodies that take the most memory for their size. The result never takes
// more than Cost estimates.
func TestCost(t *testing.T) {
	n := 40_000
	if testenv.Nightly() {
		n = 200_000
	}
	for _, tt := range []struct {
		name   string
		format contract.Format
		body   string
	}{
		{"JSON numbers", contract.JSON, "[" + strings.Repeat("1,", n) + "1]"},
		{"JSON empty lists", contract.JSON, "[" + strings.Repeat("[],", n) + "1]"},
		{"JSON empty records", contract.JSON, "[" + strings.Repeat("{},", n) + "1]"},
		{"JSON records of one field", contract.JSON, "[" + strings.Repeat(`{"":1},`, n/2) + "1]"},
		{"JSON names", contract.JSON, "{" + many(`"%d":1,`, n) + `"a":1}`},
		{"JSON text", contract.JSON, `"` + strings.Repeat("x", 8<<20) + `"`},
		{"JSON escapes", contract.JSON, `"` + strings.Repeat(`\u00e9`, 1<<20) + `"`},
		{"XML elements", contract.XML, "<r>" + many("<a%d/>", n) + "</r>"},
		{"XML elements of one name", contract.XML, "<r>" + strings.Repeat("<a/>", n) + "</r>"},
		{"XML entries of a list", contract.XML, "<r>" + strings.Repeat("<data_item/>", n) + "</r>"},
		{"XML records", contract.XML, "<r>" + strings.Repeat("<a><b/></a>", n/2) + "</r>"},
		{"XML attributes", contract.XML, "<r" + many(" a%d=''", n) + "/>"},
		{"XML records of attributes", contract.XML, "<r>" + strings.Repeat("<a b=''/>", n/2) + "</r>"},
		{"XML text of one byte each", contract.XML, `<?xml version="1.0" encoding="ISO-8859-1"?><r><a>` + strings.Repeat("\xe9", 4<<20) + "</a></r>"},
		{"form pairs", contract.Text, many("%d&", n)},
		{"form entries", contract.Text, strings.Repeat("a[]&", n/2)},
		{"form records", contract.Text, strings.Repeat("a[][b]&", n/3)},
		{"form levels", contract.Text, strings.Repeat("a"+strings.Repeat("[]", 60)+"&", n/61)},
		{"form levels of many names", contract.Text, many("%d[][]&", n/3)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := []byte(tt.body)
			cost, left, took := Cost(tt.format, body), int64(math.MaxInt64), int64(math.MaxInt64)
			for range 3 { // the least counts: the runtime may allocate for itself in between
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				node, err := Decode(tt.format, body)
				runtime.GC()
				runtime.ReadMemStats(&after)
				if err != nil || node.Kind == Null {
					t.Fatalf("%v, %v: the row shows nothing", node.Kind, err)
				}
				runtime.KeepAlive(node)
				left = min(left, int64(after.HeapAlloc)-int64(before.HeapAlloc))
				took = min(took, int64(after.TotalAlloc-before.TotalAlloc))
			}
			t.Logf("%d bytes: cost %d, left %d, allocated %d", len(body), cost, left, took)
			if left > cost {
				t.Errorf("%d bytes are left of decoding %d, more than the %d that Cost says", left, len(body), cost)
			}
			runtime.KeepAlive(body)
		})
	}
}
