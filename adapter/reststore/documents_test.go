package reststore

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
)

// pairsMapping has documents that are pairs of a rule and one of its rates. The list of rates is joined.
const pairsMapping = `name: pairs
connection:
  limits: {response_bytes: 1KiB}
functions: |
  def pairs: [.rules[] as $rule | $rule.rates[] | {id: "\($rule.id)-\(.)", rate: ., class: $rule.class}];
resources:
  customer_groups:
    attributes: [name]
    fetch: {path: /rules, query: {ids: '$ids | map(split("-")[0]) | unique | join(",")'}, documents: pairs, batch: 1}
    scan: {path: /rules, documents: pairs, pages: {page: page}}
    joins:
    - {from: rate, as: of, path: /countries, documents: '[.countries[].rates[]]', id: id, batch: 9}
    id: id
    read: '{name: "\(.class) \(.of.name) \(.of.percent)"}'
`

// ruleServer serves two rules to pairsMapping, one on each page, and their rates, which stand inside countries.
func ruleServer(w http.ResponseWriter, r *http.Request) {
	rules := map[string]string{"1": `{"id": 1, "class": "food", "rates": [7, 8]}`, "2": `{"id": 2, "class": "all", "rates": [7]}`, "3": `{"id": 3, "class": "none", "rates": []}`}
	switch q := r.URL.Query(); {
	case r.URL.Path == "/countries":
		respond(w, 200, `{"countries": [{"rates": [{"id": 7, "name": "A", "percent": 7}]}, {"rates": [{"id": 8, "name": "B", "percent": 8.5}]}]}`)
	case q.Has("page"):
		respond(w, 200, `{"rules": [`+rules[q.Get("page")]+`]}`)
	default:
		var list []string
		for id := range strings.SplitSeq(q.Get("ids"), ",") {
			list = append(list, rules[id])
		}
		respond(w, 200, `{"rules": [`+strings.Join(list, ",")+`]}`)
	}
}

// TestDocuments checks documents that an expression makes of responses: that they have the same tags in a scan
// and in a fetch, and that a scan ends at a page without any.
func TestDocuments(t *testing.T) {
	b := serve(t, pairsMapping, nil, ruleServer)
	scanned, fetched, names := map[string]string{}, map[string]string{}, []string{}
	err := b.Scan(t.Context(), adapter.CustomerGroups, time.Time{}, func(documents []replica.Document) error {
		for _, d := range documents {
			item, _, err := d.Read(t.Context())
			if err != nil {
				return err
			}
			scanned[d.ID] = d.Version
			names = append(names, item.ID+" "+item.Record.Get("name").Text())
		}
		return nil
	})
	if want := []string{"1-7 food A 7", "1-8 food B 8.5", "2-7 all A 7"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("scanned %q (%v), want %q", names, err, want)
	}
	documents, err := b.Fetch(t.Context(), adapter.CustomerGroups, []string{"1-8", "2-7", "2-9"})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range documents {
		fetched[d.ID] = d.Version
	}
	if !maps.Equal(fetched, scanned) {
		t.Errorf("fetched %v, scanned %v", fetched, scanned)
	}
}

func TestDocumentsErrors(t *testing.T) {
	const list = "documents: pairs, batch"
	for _, c := range []struct{ name, documents, answer, want string }{
		{"null is no document", "'null'", `{}`, ""},
		{"not a list", ".rules", `{"rules": {}}`, "test.yaml:9: the result is not a list"},
		{"an error of the expression", "pairs", `{"rules": null}`, "test.yaml:9: cannot iterate over: null"},
		{"no id", ".rules", `{"rules": [{}]}`, "a document has no id at id"},
		{"an id of another kind", ".rules", `{"rules": [{"id": []}]}`, "id is neither a string nor a number"},
		{"not JSON", "pairs", `{"rules": [`, "unexpected EOF"},
		{"larger than a response", "'[range(100) | {id: ., text: \"0123456789\"}]'", `{}`, "test.yaml:9: the documents are larger than response_bytes, 1024"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := serve(t, strings.Replace(pairsMapping, list, "documents: "+c.documents+", batch", 1), nil, func(w http.ResponseWriter, _ *http.Request) { respond(w, 200, c.answer) })
			documents, err := b.Fetch(t.Context(), adapter.CustomerGroups, []string{"1-7"})
			if c.want == "" && (err != nil || len(documents) > 0) || c.want != "" && (err == nil || adapter.KindOf(err) != adapter.Unavailable || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%d documents, %v; want %q", len(documents), err, c.want)
			}
		})
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"with items", list, "items: rules, " + list, "fetch needs items, the path of the list in a response, or item for a single document, or documents, an expression for the list"},
		{"with offset", "{page: page}", "{offset: offset}", "scan.pages.offset must not be used together with documents"},
		{"with after", "{page: page}", "{after: after}", "scan.pages.after must not be used together with documents"},
		{"with total", "{page: page}", "{page: page, total: n}", "scan.pages.total must not be used together with documents"},
		{"with a variable", list, "documents: '$ids', batch", "fetch.documents is not a valid jq expression: variable not defined: $ids; available: none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := openSmall(strings.Replace(pairsMapping, c.old, c.new, 1)); err == nil || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
