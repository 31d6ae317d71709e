package reststore

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// shelfArticle is a document as testdata/fakeshop.yaml reads it.
const shelfArticle = `{"number":1001,"legacy":"12","code":"kettle-steel","titles":{"main":"Steel Kettle","slug":"steel-kettle","page":"Steel Kettle | Shop"},` +
	`"texts":{"long":"A kettle of brushed steel. It whistles. It holds a litre and a half, and boils in four minutes.","short":"Steel Kettle short"},` +
	`"live":true,"gift":null,"mass":1.2,"origin":"US","pricing":{"list":{"minor":3999,"currency":"USD"},"reduced":{"minor":2999,"currency":"USD"},` +
	`"reduced_from":"2012-03-01T00:00:00Z","reduced_to":null,"groups":[{"group":"1abe1000-0000-4000-8000-000000000002","cust_group":2,"minor":350000,"from":null}],` +
	`"steps":[{"group":null,"cust_group":32000,"minor":380000,"from":"5.0000"},{"group":"1abe1000-0000-4000-8000-000000000001","cust_group":1,"minor":370000,"from":"10.0000"}]},` +
	`"sold_in":["c0ffee00-0000-4000-8000-000000000001"],"boards":[77003,77005],"pictures":[],"stock":{"on_hand":100,"policy":"deny","tracked":true}}`

// BenchmarkDocument measures the steps of reading one document of a list of 100.
//
// Findings:
//   - For an unchanged document, Portico extracts it from the response, reads its id and
//     hashes it. Reading it costs fifteen times as much, so reading is deferred until
//     replica.Document.Read is called.
//   - An any_status rule that was applied to every response decoded every response, which
//     doubled the cost of a list of unchanged documents. For reads, these rules now apply
//     only to responses without documents.
//   - jq takes nearly half of the time of reading: not its compilation, which happens once,
//     but its execution, and a stack for each of the eight expressions. Decoding takes a
//     sixth, the same as encoding/json; records and decimals take the rest.
//   - jq checks the context between two steps. This costs a seventh of its time, and is what
//     stops an expression that loops forever on some document.
func BenchmarkDocument(b *testing.B) {
	content, err := os.ReadFile("testdata/fakeshop.yaml")
	if err != nil {
		b.Fatal(err)
	}
	ids := memoryIDs{adapter.CustomerGroups: {1: "1abe1000-0000-4000-8000-000000000001", 2: "1abe1000-0000-4000-8000-000000000002"},
		adapter.Websites: {1: "c0ffee00-0000-4000-8000-000000000001"}, adapter.Categories: {3: "77003", 5: "77005"}}
	backend := openAt(b, string(content), ids, "http://shelf.example")
	r := backend.mapping.Resources[adapter.Products]
	const count = 100
	body := []byte(`{"result":{"articles":[` + strings.Repeat(shelfArticle+",", count-1) + shelfArticle + `]},"meta":{"next":null}}`)
	k := call{"products", "fetch"}
	decoded, err := decode([]byte(shelfArticle), 64)
	if err != nil {
		b.Fatal(err)
	}
	each := func(name string, f func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("known", func(b *testing.B) {
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			if n%count != 0 {
				continue // a response is parsed once for all its documents
			}
			found, err := backend.parseDocuments(b.Context(), r, k, r.Fetch, &response{request: &preparedRequest{}, status: 200, body: body})
			if err != nil || len(found) != count {
				b.Fatal(err)
			}
		}
	})
	each("read", func() error {
		_, _, err := backend.read(b.Context(), r, document{id: "1001", raw: []byte(shelfArticle)}, &keyCache{})
		return err
	})
	each("decode", func() error { _, err := decode([]byte(shelfArticle), 64); return err })
	each("decode with encoding-json", func() error {
		d := json.NewDecoder(strings.NewReader(shelfArticle))
		d.UseNumber()
		var v any
		return d.Decode(&v)
	})
	each("jq", func() error { _, err := r.Read.eval(b.Context(), decoded); return err })
	each("jq without a context", func() error { _, err := r.Read.eval(context.Background(), decoded); return err })
}
