package mapping_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/contract"
)

// batchErrors sends one entry in JSON and returns its errors, each as "400 text".
func batchErrors(t *testing.T, s *shop, entry string) []string {
	t.Helper()
	r := s.put("/stockitems", "application/json", "["+entry+"]")
	var reply struct {
		Success, Error []struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal(r.Body, &reply); err != nil || r.Status != 207 {
		t.Fatalf("got %d %s", r.Status, r.Body)
	}
	if len(reply.Success) != 0 == (len(reply.Error) != 0) || len(reply.Success) > 1 {
		t.Fatalf("one entry gives %s", r.Body)
	}
	var list []string
	for _, e := range reply.Error {
		list = append(list, fmt.Sprintf("%d %s", e.Code, e.Message))
	}
	return list
}

// updated returns the success entry of a batch reply in JSON.
func updated(id string) string {
	return `{"item_id":"` + id + `","message":"Resource updated successful.","code":200}`
}

func failed(id, fault string) string {
	code, message, _ := strings.Cut(fault, " ")
	text, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	return `{"item_id":` + id + `,"message":` + string(text) + `,"code":` + code + `}`
}

func success(entries ...string) string  { return `{"success":[` + strings.Join(entries, ",") + `]}` }
func failures(entries ...string) string { return `{"error":[` + strings.Join(entries, ",") + `]}` }

// TestBatchItems checks the table of stock_orders 2.4 row by row: one entry, its echo and
// its messages.
func TestBatchItems(t *testing.T) {
	const (
		invalid  = `400 Invalid value for "item_id" in request.`
		missing  = "400 Missing item_id in request."
		empty    = "400 Empty value for item_id in request."
		notFound = "404 Resource not found."
	)
	both := func(s string) [2]string { return [2]string{s, s} }
	unknown := func(id, number string) [2]string {
		return [2]string{failures(failed(id, notFound)), failures(failed(id, "400 StockItem #"+number+" not found."))}
	}
	bad := func(id string) [2]string { return both(failures(failed(id, invalid))) }
	tests := []struct {
		entry string
		want  [2]string // documented, magento
	}{
		{`{"item_id":1,"qty":7}`, both(success(updated("1")))},
		{`{"item_id":"1","qty":7}`, both(success(updated("1")))},
		{`{"qty":7,"item_id":"01"}`, both(success(updated("1")))},
		{`{"item_id":" 1","qty":7}`, both(success(updated("1")))},
		{`{"item_id":"1 ","qty":7}`, both(success(updated("1")))},
		{`{"item_id":"1\n","qty":7}`, both(success(updated("1")))},
		{`{"item_id":"+1","qty":7}`, both(success(updated("1")))},
		{`{"item_id":"1.","qty":7}`, both(success(updated("1")))},
		{`{"item_id":"1.5","qty":7}`, both(success(updated("1")))},
		{`{"item_id":1.5,"qty":7}`, both(success(updated("1")))},
		{`{"item_id":"1e0","qty":7}`, both(success(updated("1")))},
		{`{"item_id":1e0,"qty":7}`, both(success(updated("1")))},
		{`{"item_id":".1e1","qty":7}`, both(success(updated("1")))},

		{`{"qty":7}`, [2]string{failures(failed("null", missing)), failures(failed("null", invalid))}},
		{`{"item_id":null,"qty":7}`, [2]string{failures(failed("null", missing)), failures(failed("null", invalid))}},
		{`{"ITEM_ID":1,"qty":7}`, [2]string{failures(failed("null", missing)), failures(failed("null", invalid))}},
		{`{"item_id":"","qty":7}`, [2]string{failures(failed(`""`, empty)), failures(failed(`""`, invalid))}},
		{`{"item_id":"","qty":"abc"}`, [2]string{failures(failed(`""`, empty)), failures(failed(`""`, invalid))}},

		{`{"item_id":"abc","qty":7}`, bad(`"abc"`)},
		{`{"item_id":"1abc","qty":7}`, bad(`"1abc"`)},
		{`{"item_id":"0x1","qty":7}`, bad(`"0x1"`)},
		{`{"item_id":" ","qty":7}`, bad(`" "`)},
		{`{"item_id":"1,0","qty":7}`, bad(`"1,0"`)},
		{`{"item_id":true,"qty":7}`, bad("true")},
		{`{"item_id":false,"qty":7}`, bad("false")},
		{`{"item_id":[1],"qty":7}`, bad("[1]")},
		{`{"item_id":[],"qty":7}`, bad("[]")},
		{`{"item_id":{"a":[1.50,null,"x"]},"qty":7}`, bad(`{"a":[1.5,null,"x"]}`)},

		{`{"item_id":99,"qty":7}`, unknown("99", "99")},
		{`{"item_id":"99","qty":"abc"}`, unknown(`"99"`, "99")},
		{`{"item_id":0,"qty":7}`, unknown("0", "0")},
		{`{"item_id":"0.5","qty":7}`, unknown(`"0.5"`, "0")},
		{`{"item_id":-1,"qty":7}`, unknown("-1", "-1")},
		{`{"item_id":"-1.5","qty":7}`, unknown(`"-1.5"`, "-1")},
		{`{"item_id":99.9,"qty":7}`, unknown("99.9", "99")},
		{`{"item_id":"1e2","qty":7}`, unknown(`"1e2"`, "100")},
		{`{"item_id":9223372036854775807,"qty":7}`, unknown("9223372036854775807", "9223372036854775807")},
		{`{"item_id":"9223372036854775808","qty":7}`, unknown(`"9223372036854775808"`, "9223372036854775807")},
		{`{"item_id":1e300,"qty":7}`, unknown("1.0e+300", "9223372036854775807")},
		{`{"item_id":"1e400","qty":7}`, unknown(`"1e400"`, "9223372036854775807")},

		{`{"item_id":1,"qty":7,"product_id":""}`, [2]string{failures(failed("1", "400 Empty value for product_id in request.")), success(updated("1"))}},
		{`{"item_id":1,"qty":7,"product_id":null}`, [2]string{failures(failed("1", "400 Empty value for product_id in request.")), success(updated("1"))}},
		{`{"item_id":1,"qty":7,"product_id":99}`, both(success(updated("1")))},
		{`{"item_id":1,"qty":7,"product_id":false}`, both(success(updated("1")))},
		{`{"item_id":1,"qty":7,"stock_id":"","low_stock_date":null,"created_at":"","nope":""}`, both(success(updated("1")))},
		{`{"item_id":"1","qty":"abc","product_id":"","is_in_stock":"x"}`, [2]string{
			failures(failed(`"1"`, "400 qty: "+shown(qtyRange, "abc")), failed(`"1"`, "400 Empty value for product_id in request."), failed(`"1"`, "400 is_in_stock: "+shown(noFlag, "is_in_stock"))),
			failures(failed(`"1"`, "400 qty: "+shown(qtyRange, "abc")), failed(`"1"`, "400 is_in_stock: "+shown(noFlag, "is_in_stock"))),
		}},
		{`{"item_id":1,"qty":""}`, [2]string{
			failures(failed("1", "400 Empty value for qty in request.")),
			failures(failed("1", qtyRequired), failed("1", "400 qty: "+shown(qtyRange, ""))),
		}},
		{`{"item_id":1,"qty":7,"min_qty":null}`, [2]string{
			failures(failed("1", "400 Empty value for min_qty in request.")),
			failures(failed("1", "400 min_qty: "+shown(noNumber, "min_qty")), failed("1", "400 min_qty: "+shown(minQtyRange, ""))),
		}},
		{`{"item_id":1,"min_qty":5}`, [2]string{success(updated("1")), failures(failed("1", qtyRequired))}},
		{`{"item_id":1}`, [2]string{success(updated("1")), failures(failed("1", qtyRequired))}},
		{`{"item_id":1,"nope":5,"product_id":3}`, [2]string{success(updated("1")), failures(failed("1", qtyRequired))}},
	}
	inBothDialects(t, func(t *testing.T, s *shop) {
		for _, test := range tests {
			t.Run(test.entry, func(t *testing.T) {
				s.storeItem(t, 1, nil)
				want := s.text(test.want[0], test.want[1])
				checkReply(t, s.put("/stockitems", "application/json", "["+test.entry+"]"), 207, typeJSON, want)
				qty := "100.0000"
				if strings.HasPrefix(want, `{"success"`) && strings.Contains(test.entry, `"qty":7`) {
					qty = "7.0000"
				}
				s.checkItem(t, 1, "qty", qty, "product_id", "1")
			})
		}
		t.Run("item_id beyond all numbers", func(t *testing.T) {
			r := s.put("/stockitems", "application/json", `[{"item_id":1e400,"qty":7},{"item_id":1,"qty":8}]`)
			if s.documented() {
				checkReply(t, r, 207, typeJSON, `{"success":[`+updated("1")+`],"error":[`+failed("1e400", invalid)+`]}`)
			} else if r.Status != 207 || len(r.Body) > 0 {
				t.Errorf("got %d %s, want 207 with an empty body", r.Status, r.Body)
			}
			s.checkItem(t, 1, "qty", "8.0000")
		})
	})
}

// TestEmptyBatchItemSavesNothing checks that an entry without a writable field succeeds
// and leaves the item unchanged, without side effects.
func TestEmptyBatchItemSavesNothing(t *testing.T) {
	s := openShop(t, contract.Documented())
	s.storeItem(t, 1, itemValues{"qty": "0.0000", "is_in_stock": 1})
	before := s.item(t, 1)
	checkReply(t, s.put("/stockitems", "application/json", `[{"item_id":1,"nope":1}]`), 207, typeJSON, success(updated("1")))
	if after := s.item(t, 1); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("the refused item changed from %v to %v", before, after)
	}
}

// TestBatchBodies checks which entries a body holds (stock_orders 2.4, wire 6.4 and 11).
// Each body names item 1, which exists. want is the JSON reply.
func TestBatchBodies(t *testing.T) {
	const (
		asJSON = "application/json"
		asXML  = "text/xml"
		asForm = "text/plain"
	)
	noID := [2]string{failed("null", "400 Missing item_id in request."), failed("null", `400 Invalid value for "item_id" in request.`)}
	times := func(n int) [2]string {
		var list [2][]string
		for range n {
			list[0], list[1] = append(list[0], noID[0]), append(list[1], noID[1])
		}
		return [2]string{failures(list[0]...), failures(list[1]...)}
	}
	both := func(s string) [2]string { return [2]string{s, s} }
	one := both(success(updated("1")))
	oneAndTwo := both(success(updated("1"), updated("2")))
	badList := both(failures(failed(`["1","2"]`, `400 Invalid value for "item_id" in request.`)))
	tests := []struct {
		name, contentType, body string
		want                    [2]string // documented, magento
	}{
		{"keyed objects", asJSON, `{"x":{"item_id":1,"qty":7},"7":{"item_id":2,"qty":7}}`, oneAndTwo},
		{"one bare record", asJSON, `{"item_id":1,"qty":"5"}`, times(2)},
		{"bare scalars", asJSON, `[1,"x",null,[]]`, times(4)},
		{"a list as an entry", asJSON, `[[{"item_id":1,"qty":7}]]`, times(1)},
		{"an item twice", asJSON, `[{"item_id":1,"qty":6},{"item_id":1,"qty":7}]`, both(success(updated("1"), updated("1")))},
		{"JSON sent as text/xml", asXML, ` [{"item_id":1,"qty":7}]`, [2]string{one[0], ""}},

		{"attribute", asXML, `<r><data_item item_id="1"><qty>7</qty></data_item></r>`, one},
		{"all attributes", asXML, `<r><data_item item_id="1" qty="7"/></r>`, one},
		{"child", asXML, `<r><data_item><item_id>1</item_id><qty>7</qty></data_item></r>`, one},
		{"both", asXML, `<r><data_item item_id="1"><item_id>2</item_id><qty>7</qty></data_item></r>`, badList},
		{"two entries", asXML, `<r><data_item item_id="1"><qty>7</qty></data_item><data_item item_id="2"><qty>7</qty></data_item></r>`, oneAndTwo},
		{"other names", asXML, `<r><a item_id="1"><qty>7</qty></a><b item_id="2"><qty>7</qty></b></r>`, oneAndTwo},
		{"another name twice", asXML, `<r><a item_id="1"><qty>7</qty></a><a item_id="2"><qty>7</qty></a></r>`, times(1)},
		{"fields in the root", asXML, `<r><item_id>1</item_id><qty>7</qty></r>`, times(2)},
		{"attributes of the root", asXML, `<r item_id="1"><data_item item_id="1"><qty>7</qty></data_item></r>`,
			[2]string{`{"success":[` + updated("1") + `],"error":[` + noID[0] + `]}`, `{"error":[` + noID[1] + `],"success":[` + updated("1") + `]}`}},
		{"empty entry", asXML, `<r><data_item/></r>`, times(1)},
		{"entry of text", asXML, `<r><data_item>1</data_item></r>`, times(1)},
		{"empty item_id", asXML, `<r><data_item item_id=""><qty>7</qty></data_item></r>`,
			[2]string{failures(failed(`""`, "400 Empty value for item_id in request.")), failures(failed(`""`, `400 Invalid value for "item_id" in request.`))}},
		{"an attribute named value", asXML, `<r><data_item item_id="1" value="7"/></r>`, times(1)},

		{"form", asForm, "0[item_id]=1&0[qty]=7", one},
		{"form, fields in the root", asForm, "item_id=1&qty=7", times(2)},
	}
	inBothDialects(t, func(t *testing.T, s *shop) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				s.storeItem(t, 1, nil)
				s.storeItem(t, 2, nil)
				r := s.put("/stockitems", test.contentType, test.body)
				want := s.text(test.want[0], test.want[1])
				if want == "" {
					checkRefused(t, r, "400 Decoding error.")
					return
				}
				checkReply(t, r, 207, typeJSON, want)
				qty := "100.0000"
				if strings.Contains(want, updated("1")) {
					qty = "7.0000"
				}
				s.checkItem(t, 1, "qty", qty)
			})
		}
		t.Run("bodies with nothing", func(t *testing.T) {
			for contentType, body := range map[string]string{asJSON: "{}", asXML: "<r/>", asForm: ""} {
				checkRefused(t, s.put("/stockitems", contentType, body), "400 The request data is invalid.")
			}
		})
	})
}

// TestBatchOrder checks which of the two lists comes first, in every format.
func TestBatchOrder(t *testing.T) {
	const body = `[{"item_id":"x","qty":7},{"item_id":1,"qty":7},{"item_id":"y<&","qty":7}]`
	inBothDialects(t, func(t *testing.T, s *shop) {
		const invalid = `400 Invalid value for "item_id" in request.`
		good := `"success":[` + updated("1") + `]`
		bad := `"error":[` + failed(`"x"`, invalid) + "," + failed(`"y<&"`, invalid) + `]`
		checkReply(t, s.put("/stockitems", "application/json", body), 207, typeJSON,
			"{"+s.text(good+","+bad, bad+","+good)+"}")
		checkReply(t, s.put("/stockitems", "application/json", `[{"item_id":1,"qty":7},{"item_id":"x"},{"item_id":"y<&"}]`), 207, typeJSON,
			"{"+good+","+bad+"}")

		entry := func(id, message, code string) string {
			return "    <data_item>\n      <item_id>" + id + "</item_id>\n      <message>" + message + "</message>\n      <code>" + code + "</code>\n    </data_item>\n"
		}
		goodXML := "  <success>\n" + entry("1", "Resource updated successful.", "200") + "  </success>\n"
		badXML := "  <error>\n" + entry("x", `Invalid value for "item_id" in request.`, "400") + entry("y&lt;&amp;", `Invalid value for "item_id" in request.`, "400") + "  </error>\n"
		r := s.serve(contract.Admin, "PUT", "/stockitems", body, "Accept", "text/xml", "Content-Type", "application/json")
		root := s.text("service_api", "magento_api")
		checkReply(t, r, 207, typeXML, "<?xml version=\"1.0\"?>\n<"+root+">\n"+s.text(goodXML+badXML, badXML+goodXML)+"</"+root+">\n")
	})
}

// nest wraps value in n lists.
func nest(n int, value string) string {
	return strings.Repeat("[", n) + value + strings.Repeat("]", n)
}

// TestEchoIsBounded checks that an error entry repeats the id as sent, unless a small
// request would get a large reply.
func TestEchoIsBounded(t *testing.T) {
	const message = `400 Invalid value for "item_id" in request.`
	leaves := "1" + strings.Repeat(",1", 99999)
	key := strings.Repeat("k", 2000)
	tests := []struct{ name, id, want string }{
		{"text", `"` + strings.Repeat("x", 4096) + `"`, ""},
		{"nested", nest(32, `{"a":[1,"x",null]}`), ""},
		{"many values", "[" + strings.Repeat("1,", 500) + "1]", ""},
		{"long text", `"` + strings.Repeat("x", 4097) + `"`, "null"},
		{"deep, with many leaves", nest(500, leaves), "null"},
		{"deep", nest(509, ""), "null"},
		{"many leaves", "[" + leaves + "]", "null"},
		{"long keys above many values", `{"` + key + `":{"` + key + `":[1,2,3,4,5,6,7,8,9]}}`, "null"},
		{"many empty records", "[" + strings.TrimSuffix(strings.Repeat("{},", 50000), ",") + "]", "null"},
	}
	s := openShop(t, contract.Magento())
	for _, test := range tests {
		for format, accept := range map[string]string{typeJSON: "application/json", typeXML: "text/xml", typeText: "text/plain"} {
			t.Run(test.name+" "+accept, func(t *testing.T) {
				body := `[{"item_id":` + test.id + `,"qty":7}]`
				r := s.serve(contract.Admin, "PUT", "/stockitems", body, "Accept", accept, "Content-Type", "application/json")
				if r.Status != 207 || r.ContentType != format {
					t.Fatalf("got %d %s", r.Status, r.ContentType)
				}
				if most := 1000 + 8*4096; len(r.Body) > most {
					t.Errorf("a body of %d bytes got a reply of %d, want at most %d", len(body), len(r.Body), most)
				}
				if format == typeJSON {
					want := test.want
					if want == "" {
						want = test.id
					}
					checkReply(t, r, 207, typeJSON, failures(failed(want, message)))
				}
			})
		}
	}
	t.Run("an id in many messages", func(t *testing.T) {
		body := `[{"item_id":"1` + strings.Repeat(" ", 100000) + `"`
		for _, name := range flags() {
			body += `,"` + name + `":"x"`
		}
		r := s.put("/stockitems", "application/json", body+"}]")
		if r.Status != 207 || len(r.Body) > 10000 || !strings.Contains(string(r.Body), `{"item_id":null,`) {
			t.Errorf("got %d and %d bytes", r.Status, len(r.Body))
		}
	})
}
