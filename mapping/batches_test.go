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
