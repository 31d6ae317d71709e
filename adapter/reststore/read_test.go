package reststore

import (
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// memoryIDs is an ID map in memory.
type memoryIDs map[adapter.Resource]map[adapter.Key]string

func (p memoryIDs) BackendIDs(_ context.Context, r adapter.Resource, keys []adapter.Key) (map[adapter.Key]string, error) {
	found := map[adapter.Key]string{}
	for _, k := range keys {
		if id := p[r][k]; id != "" {
			found[k] = id
		}
	}
	return found, nil
}

func (p memoryIDs) Keys(_ context.Context, r adapter.Resource, ids []string) (map[string]adapter.Key, error) {
	found := map[string]adapter.Key{}
	for key, id := range p[r] {
		if slices.Contains(ids, id) {
			found[id] = key
		}
	}
	return found, nil
}

var groups = memoryIDs{adapter.CustomerGroups: {1: "g-one", 2: "g-two"}, adapter.Websites: {1: "w-one"}}

// documentIDs returns the ids of documents.
func documentIDs(documents []replica.Document) []string {
	ids := []string{}
	for _, d := range documents {
		ids = append(ids, d.ID)
	}
	return ids
}

func TestFetch(t *testing.T) {
	var mu sync.Mutex
	var requested []string
	b := serve(t, tinyMappingWith(""), groups, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requested = append(requested, r.URL.Query().Get("ids"))
		mu.Unlock()
		var list []string
		for id := range strings.SplitSeq(r.URL.Query().Get("ids"), ",") {
			if id != "gone" {
				list = append(list, fmt.Sprintf(`{"id": %q, "mail": "%s@example.com"}`, id, id))
			}
		}
		list = append(list, `{"id": "unasked"}`, `{"id": 7}`)
		respond(w, 200, `{"data": {"list": [`+strings.Join(list, ",")+`]}}`)
	})
	documents, err := b.Fetch(t.Context(), adapter.Customers, []string{"a", "gone", "7", "a", "", "b&c"})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "7", "b&c"} {
		if got := documentIDs(documents); !slices.Contains(got, id) {
			t.Errorf("documents %q, want %s", got, id)
		}
	}
	slices.Sort(requested)
	if !slices.Equal(requested, []string{"7,a", "b&c,gone"}) {
		t.Errorf("requested ids %q", requested)
	}
	if n := value(t, b.metrics.documents, "read"); n != 0 {
		t.Errorf("%v documents were decoded without a call of Read", n)
	}
	if none, err := b.Fetch(t.Context(), adapter.Customers, nil); err != nil || len(none) != 0 || len(requested) != 2 {
		t.Errorf("no ids: %v, %v", none, err)
	}
	if _, err := b.Fetch(t.Context(), adapter.Products, []string{"1"}); adapter.KindOf(err) != adapter.Unsupported {
		t.Errorf("a resource that is not mapped: %v", err)
	}
}

func TestTags(t *testing.T) {
	body := `{"id": "1", "mail": "a@example.com"}`
	answer := func(w http.ResponseWriter, _ *http.Request) {
		respond(w, 200, `{"data": {"list": [`+body+`]}, "at": "`+time.Now().String()+`"}`)
	}
	tag := func(b *Backend) string {
		t.Helper()
		d, err := b.Fetch(t.Context(), adapter.Customers, []string{"1"})
		if err != nil || len(d) != 1 || d[0].Version == "" {
			t.Fatalf("%v, %v", d, err)
		}
		return d[0].Version
	}
	b := serve(t, tinyMappingWith(""), nil, answer)
	first := tag(b)
	if tag(b) != first || tag(serve(t, tinyMappingWith(""), nil, answer)) != first {
		t.Error("the tag of an unchanged document changed")
	}
	if tag(serve(t, tinyMappingWith("  headers: {X-A: b}"), nil, answer)) == first {
		t.Error("the tag does not depend on the mapping")
	}
	body = `{"id": "1", "mail": "b@example.com"}`
	if tag(b) == first {
		t.Error("the tag does not depend on the document")
	}
}

// TestRead checks the conversion of documents to records.
func TestRead(t *testing.T) {
	const mapping = `name: reading
resources:
  products:
    attributes: [sku, name, price, status, news_from_date, weight, tier_price]
    references: {tier_price.cust_group: customer_groups}
    fetch: {path: '/p/{$id}', item: .}
    scan: {path: /p, items: ., pages: {page: page}}
    id: id
    key: .legacy
    read: .says
    rest: '{visibility: 4, type_id: .type}'
    without: {create: no, update: no, delete: no}
  product_websites:
    part_of: products
    attributes: [website_id]
    references: {website_id: websites}
    match: [website_id]
    items: .sold
    without: {create: no, delete: no}
  product_images:
    part_of: products
    attributes: [label, types]
    identified: true
    items: .images
    without: {create: no, update: no, delete: no}
`
	for _, c := range []struct {
		name, document string
		want           string // the record's values, the values that are left out after "without", or part of the error
		parts          string
	}{
		{"decimals", `{"says": {"price": 19.99, "weight": "0.00005"}}`, "price=19.9900 weight=0.0001", ""},
		{"a long decimal", `{"says": {"price": 123456789012.34565}}`, "price=123456789012.3457", ""},
		{"an exponent", `{"says": {"price": 1.5e2}}`, "price=150.0000", ""},
		{"null", `{"says": {"price": null, "name": null, "status": null}}`, "name=null price=null status=null", ""},
		{"empty object", `{"says": {}}`, "", ""},
		{"null instead of object", `{"says": null}`, "", ""},
		{"flags", `{"says": {"status": true}}`, "status=1", ""},
		{"digits", `{"says": {"status": "2"}}`, "status=2", ""},
		{"a whole number", `{"says": {"status": 2.0}}`, "status=2", ""},
		{"a number as a text", `{"says": {"name": 1.10}}`, "name=1.10", ""},
		{"a time", `{"says": {"news_from_date": "2012-03-01T23:30:00.9-02:00"}}`, "news_from_date=2012-03-02 01:30:00", ""},
		{"a time of the contract", `{"says": {"news_from_date": "2012-03-01 23:30:00"}}`, "news_from_date=2012-03-01 23:30:00", ""},
		{"a day", `{"says": {"news_from_date": "2012-03-01"}}`, "news_from_date=2012-03-01 00:00:00", ""},
		{"references", `{"says": {"tier_price": [{"cust_group_ref": "g-two", "price": 1}, {"cust_group_ref": null, "cust_group": 32000, "price": 2}, {"cust_group_ref": "unknown", "price": 3}]}}`,
			"tier_price=[cust_group=2 price=1.0000][cust_group=32000 price=2.0000]", ""},
		{"parts", `{"says": {}, "sold": [{"website_id_ref": "w-one"}, {"website_id_ref": "unknown"}], "images": [{"id": "i", "key": "7", "label": "x", "types": ["image"], "file": "a.png"}]}`, "",
			"product_images i/7 label=x types=image rest file=a.png product_websites /0 website_id=1"},
		{"no parts", `{"says": {}, "sold": [], "images": null}`, "", "product_websites none"},

		{"more than four places", `{"says": {"weight": 1.2345679, "price": "0.00004999"}}`, "price=0.0000 weight=1.2346", ""},
		{"the greatest decimal", `{"says": {"price": 450359962737.0496}}`, "price=450359962737.0496", ""},
		{"not a number", `{"says": {"price": "secret", "sku": "x"}}`, "sku=x without test.yaml:10: price of products is not a number", ""},
		{"a list as a number", `{"says": {"price": [], "sku": "x"}}`, "sku=x without test.yaml:10: price of products is not a number", ""},
		{"a decimal that is too great", `{"says": {"weight": 3.3e30, "sku": "x"}}`, "sku=x without test.yaml:10: weight of products is a number that is too great", ""},
		{"a decimal above the greatest", `{"says": {"weight": 450359962737.0497, "sku": "x"}}`, "sku=x without test.yaml:10: weight of products is a number that is too great", ""},
		{"a decimal with a great exponent", `{"says": {"weight": 1e400, "sku": "x"}}`, "sku=x without test.yaml:10: weight of products is not a number", ""},
		{"a fraction as integer", `{"says": {"status": 2.5, "sku": "x"}}`, "sku=x without test.yaml:10: status of products is not a whole number", ""},
		{"integer overflow", `{"says": {"status": 9223372036854775808}}`, " without test.yaml:10: status of products is not a whole number", ""},
		{"not a time", `{"says": {"news_from_date": "secret", "sku": "x"}}`, "sku=x without test.yaml:10: news_from_date of products is not a time", ""},
		{"a time before the year 1", `{"says": {"news_from_date": "0000-12-31T00:00:00Z"}}`, " without test.yaml:10: news_from_date of products is a time before the year 1", ""},
		{"a list as a string", `{"says": {"name": [], "sku": "x"}}`, "sku=x without test.yaml:10: name of products is not a string", ""},
		{"a zero byte", `{"says": {"name": "a\u0000b", "sku": "x"}}`, "sku=x without test.yaml:10: name of products is not valid UTF-8", ""},
		{"a nested decimal that is too great", `{"says": {"sku": "x", "tier_price": [{"price": 1}, {"price": 3.3e30}]}}`, "sku=x without test.yaml:10: tier_price of products price is a number that is too great", ""},
		{"a value of a part", `{"says": {"sku": "x"}, "images": [{"id": "i", "label": {}, "types": ["image"]}]}`, "sku=x without test.yaml:24: label of product_images is not a string",
			"product_images i/0 types=image"},
		{"a list of texts with another element", `{"says": {}, "images": [{"id": "i", "label": "x", "types": [{}]}]}`, " without test.yaml:24: types of product_images has an element that is not a string",
			"product_images i/0 label=x"},
		{"a part with a long id", `{"says": {}, "images": [{"id": "` + strings.Repeat("ä", 256) + `"}, {"id": "` + strings.Repeat("ä", 255) + `"}]}`, " without test.yaml:24: one of product_images has an id that is longer than 255 characters",
			"product_images " + strings.Repeat("ä", 255) + "/0 "},
		{"an unknown attribute", `{"says": {"colour": "secret"}}`, `error: unavailable test.yaml:10: "colour" is not an attribute`, ""},
		{"an attribute that is not mapped", `{"says": {"visibility": 1}}`, `error: unavailable test.yaml:10: "visibility" is not an attribute`, ""},
		{"not an object", `{"says": ["secret"]}`, "error: unavailable test.yaml:10: does not return an object", ""},
		{"not a list", `{"says": {"tier_price": {"a": 1}}}`, " without test.yaml:10: tier_price of products is not a list", ""},
		{"unknown nested attribute", `{"says": {"tier_price": [{"value": 1}]}}`, " without test.yaml:10: tier_price of products value is not an attribute", ""},
		{"invalid legacy id", `{"says": {}, "legacy": "secret"}`, "error: unavailable test.yaml:9: the legacy id is not a number", ""},
		{"a legacy id below one", `{"says": {}, "legacy": 0}`, "error: unavailable test.yaml:9: the legacy id is not positive", ""},
		{"too deep", `{"says": ` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`, "error: unavailable is nested too deep", ""},
		{"two parts with the same identity", `{"says": {}, "sold": [{"website_id_ref": "w-one"}, {"website_id": 1}]}`, "error: unavailable test.yaml:18: returns two parts", ""},
		{"a part without a match attribute", `{"says": {}, "sold": [{}]}`, "error: unavailable", ""},
		{"a part without an id", `{"says": {}, "images": [{"label": "x"}]}`, "error: unavailable test.yaml:24: a part has no id", ""},
		{"parts that are not a list", `{"says": {}, "images": "secret"}`, "error: unavailable test.yaml:24: does not return a list", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			document := `{"id": 7, "type": "simple", ` + c.document[1:]
			b := serve(t, mapping, groups, func(w http.ResponseWriter, _ *http.Request) { respond(w, 200, document) })
			found, err := b.Fetch(t.Context(), adapter.Products, []string{"7"})
			if err != nil || len(found) != 1 || found[0].ID != "7" {
				t.Fatalf("%v, %v", found, err)
			}
			item, parts, err := found[0].Read(t.Context())
			if err != nil {
				if strings.Contains(err.Error(), "secret") {
					t.Errorf("the error reveals a value: %v", err)
				}
				if want, is := strings.CutPrefix(c.want, "error: unavailable"); !is || !strings.Contains(err.Error(), strings.TrimSpace(want)) || adapter.KindOf(err) != adapter.Unavailable {
					t.Errorf("%v, want %s", err, c.want)
				}
				return
			}
			want, without, _ := strings.Cut(c.want, " without ")
			if got := formatRecord(item.Record); got != want || item.ID != "7" {
				t.Errorf("record %q, want %q", got, want)
			}
			if got := strings.Join(item.LeftOut, "; "); (got == "") != (without == "") || !strings.HasPrefix(got, without) || strings.Contains(got, "secret") {
				t.Errorf("left out: %q, want %q", got, without)
			}
			if got := formatRecord(item.Initial); got != "type_id=simple visibility=4" {
				t.Errorf("rest %q", got)
			}
			again, _, err := found[0].Read(t.Context()) // its keys are cached
			for _, i := range []replica.Item{item, again} {
				if got := fmt.Sprint(i.Unresolved); err != nil || strings.Contains(got, ":[unknown]") != strings.Contains(c.document, `"unknown"`) {
					t.Errorf("unresolved references %s, %v", got, err)
				}
			}
			if got := formatParts(parts); got != c.parts {
				t.Errorf("parts %q, want %q", got, c.parts)
			}
		})
	}
}

// formatRecord returns the values of a record that are not absent.
func formatRecord(r adapter.Record) string {
	var all []string
	for i, v := range r.Values {
		text := v.Text()
		switch v.Kind() {
		case adapter.Absent:
			continue
		case adapter.Null:
			text = "null"
		case adapter.Texts:
			text = strings.Join(v.Texts(), ",")
		case adapter.Records:
			text = ""
			for _, nested := range v.Records() {
				text += "[" + formatRecord(nested) + "]"
			}
		}
		all = append(all, r.Schema.Attributes[i].Name+"="+text)
	}
	return strings.Join(all, " ")
}

func formatParts(parts map[adapter.Resource][]replica.Item) string {
	var all []string
	for r, items := range parts {
		text := string(r)
		if len(items) == 0 {
			text += " none"
		}
		for _, item := range items {
			text += fmt.Sprintf(" %s/%d %s", item.ID, item.Key, formatRecord(item.Record))
			if rest := formatRecord(item.Initial); rest != "" {
				text += " rest " + rest
			}
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestUnknownReferences checks that references without a legacy id are counted, and no others.
func TestUnknownReferences(t *testing.T) {
	mapping := strings.NewReplacer("[email, group_id]", "[tier_price]", "{group_id: customer_groups}", "{tier_price.cust_group: customer_groups}",
		"customers:\n", "products:\n", "'{email: .mail, group_id_ref: .group}'", "'{tier_price: [.groups[] | {cust_group_ref: .}]}'").Replace(tinyMappingWith(""))
	mapping = mapping[:strings.Index(mapping, "    create:")] + "    without: {create: x, update: x, delete: x}\n"
	b := serve(t, mapping, groups, func(w http.ResponseWriter, _ *http.Request) {
		respond(w, 200, `{"data": {"list": [{"id": "1", "groups": ["g-one", "g-two", "g-one", "lost"]}, {"id": "2", "groups": ["g-two", "g-one", "g-one"]}]}}`)
	})
	found, err := b.Fetch(t.Context(), adapter.Products, []string{"1", "2"})
	if err != nil || len(found) != 2 {
		t.Fatal(found, err)
	}
	for _, d := range found {
		if _, _, err := d.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := value(t, b.metrics.unknownReferences); got != 1 {
		t.Errorf("%v unknown references counted, want 1", got)
	}
}

// TestReferencesWithoutIDs checks that a mapping with references needs an ID map when it reads.
func TestReferencesWithoutIDs(t *testing.T) {
	b := serve(t, tinyMappingWith(""), nil, func(w http.ResponseWriter, _ *http.Request) {
		respond(w, 200, `{"data": {"list": [{"id": "1", "mail": "a@example.com", "group": "g-one"}]}}`)
	})
	found, err := b.Fetch(t.Context(), adapter.Customers, []string{"1"})
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if _, _, err := found[0].Read(t.Context()); !errors.Is(err, errNoIDs) {
		t.Errorf("%v, want %v", err, errNoIDs)
	}
}

func TestScan(t *testing.T) {
	all := []string{"a", "b", "c", "d", "e"}
	list := func(from, to int) string {
		var text []string
		for _, id := range all[min(from, len(all)):min(to, len(all))] {
			text = append(text, fmt.Sprintf(`{"id": %q}`, id))
		}
		return `[` + strings.Join(text, ",") + `]`
	}
	atoi := func(s string) (n int) { _, _ = fmt.Sscan(s, &n); return n }
	for _, c := range []struct {
		name, pages string
		answer      func(q map[string]string) string
		sent        int
		err         adapter.ErrorKind
		fails       bool
	}{
		{name: "offsets", pages: "{offset: o, limit: l, size: 2}", answer: func(q map[string]string) string {
			return `{"list": ` + list(atoi(q["o"]), atoi(q["o"])+atoi(q["l"])) + `}`
		}, sent: 4},
		{name: "offsets with a limit of its own", pages: "{offset: o, limit: l, size: 100}", answer: func(q map[string]string) string {
			return `{"list": ` + list(atoi(q["o"]), atoi(q["o"])+2) + `}`
		}, sent: 4},
		{name: "a total", pages: "{offset: o, limit: l, size: 3, total: meta.total}", answer: func(q map[string]string) string {
			return `{"list": ` + list(atoi(q["o"]), atoi(q["o"])+3) + `, "meta": {"total": 5}}`
		}, sent: 2},
		{name: "an invalid total", pages: "{offset: o, total: meta.total}", answer: func(map[string]string) string {
			return `{"list": ` + list(0, 5) + `, "meta": {"total": "many"}}`
		}, sent: 1, fails: true, err: adapter.Unavailable},
		{name: "a total of pages", pages: "{page: p, limit: l, size: 2, total: pages}", answer: func(map[string]string) string {
			return `{"list": ` + list(0, 5) + `, "pages": 3}`
		}, sent: 1, fails: true, err: adapter.Unavailable},
		{name: "after the last id", pages: "{after: a, limit: l, size: 2}", answer: func(q map[string]string) string {
			from := slices.Index(all, q["a"]) + 1
			return `{"list": ` + list(from, from+2) + `}`
		}, sent: 4},
		{name: "pages", pages: "{page: p, limit: l, size: 2}", answer: func(q map[string]string) string {
			return `{"list": ` + list(2*atoi(q["p"])-2, 2*atoi(q["p"])) + `}`
		}, sent: 4},
		{name: "pages from 0", pages: "{page: p, limit: l, size: 2, first: 0}", answer: func(q map[string]string) string {
			return `{"list": ` + list(2*atoi(q["p"]), 2*atoi(q["p"])+2) + `}`
		}, sent: 4},
		{name: "the last page repeated", pages: "{page: p, limit: l, size: 2}", answer: func(q map[string]string) string {
			p := min(atoi(q["p"]), 3)
			return `{"list": ` + list(2*p-2, 2*p) + `}`
		}, sent: 4},
		{name: "cursors", pages: "{cursor: {query: after, next: meta.next}, limit: l, size: 2}", answer: func(q map[string]string) string {
			next := atoi(q["after"]) + 2
			cursor := fmt.Sprint(next)
			if next >= len(all) {
				cursor = "null"
			}
			return `{"list": ` + list(atoi(q["after"]), next) + `, "meta": {"next": ` + cursor + `}}`
		}, sent: 3},
		{name: "a repeated cursor", pages: "{cursor: {query: after, next: meta.next}}", answer: func(map[string]string) string {
			return `{"list": ` + list(0, 5) + `, "meta": {"next": "x"}}`
		}, sent: 2, fails: true, err: adapter.Unavailable},
		{name: "an invalid cursor", pages: "{cursor: {query: after, next: meta.next}}", answer: func(map[string]string) string {
			return `{"list": [], "meta": {"next": {}}}`
		}, sent: 1, fails: true, err: adapter.Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			mapping := strings.Replace(strings.ReplaceAll(tinyMappingWith(""), "data.list", "list"), "{offset: offset, limit: limit, size: 2}", c.pages, 1)
			sent := 0
			b := serve(t, mapping, nil, func(w http.ResponseWriter, r *http.Request) {
				sent++
				q := map[string]string{}
				for name, v := range r.URL.Query() {
					q[name] = v[0]
				}
				if q["all"] != "yes" || q["since"] != "2012-03-01T00:00:00Z" {
					t.Errorf("query %v", q)
				}
				respond(w, 200, c.answer(q))
			})
			var got []string
			err := b.Scan(t.Context(), adapter.Customers, time.Date(2012, 3, 1, 0, 0, 0, 0, time.UTC), func(d []replica.Document) error {
				got = append(got, documentIDs(d)...)
				return nil
			})
			switch {
			case c.fails && (err == nil || adapter.KindOf(err) != c.err):
				t.Errorf("%v, want %s", err, c.err)
			case !c.fails && (err != nil || !slices.Equal(got, all)):
				t.Errorf("%q, %v", got, err)
			}
			if sent != c.sent {
				t.Errorf("%d requests, want %d", sent, c.sent)
			}
		})
	}
	t.Run("all of them", func(t *testing.T) {
		b := serve(t, tinyMappingWith(""), nil, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery != "all=yes&limit=2&offset=0" {
				t.Errorf("request %s", r.URL.RawQuery)
			}
			respond(w, 200, noCustomers)
		})
		if err := b.Scan(t.Context(), adapter.Customers, time.Time{}, func([]replica.Document) error { t.Error("found"); return nil }); err != nil {
			t.Error(err)
		}
	})
	t.Run("an error of the caller", func(t *testing.T) {
		own := errors.New("its own")
		b := serve(t, tinyMappingWith(""), nil, func(w http.ResponseWriter, _ *http.Request) { respond(w, 200, `{"data": {"list": [{"id": 1}]}}`) })
		if err := b.Scan(t.Context(), adapter.Customers, time.Time{}, func([]replica.Document) error { return own }); !errors.Is(err, own) {
			t.Error(err)
		}
	})
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name, list string
		id         string
		kind       adapter.ErrorKind
	}{
		{"one", `[{"id": "x", "legacy": 7}]`, "x", 0},
		{"legacy id as a string", `[{"id": "x", "legacy": "7"}]`, "x", 0},
		{"among others", `[{"id": "w"}, {"id": "x", "legacy": 7}]`, "x", 0},
		{"none", `[]`, "", adapter.NotFound},
		{"two", `[{"id": "x", "legacy": 7}, {"id": "y", "legacy": 7}]`, "", adapter.Internal},
		{"only others", `[{"id": "x", "legacy": 8}]`, "", adapter.Internal},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := serve(t, tinyMappingWith(""), nil, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.RawQuery != "legacy=7" {
					t.Errorf("request %s", r.URL.RawQuery)
				}
				respond(w, 200, `{"data": {"list": `+c.list+`}}`)
			})
			d, err := b.Find(t.Context(), adapter.Customers, 7, adapter.Record{})
			if d.ID != c.id || (err == nil) != (c.id != "") || err != nil && adapter.KindOf(err) != c.kind {
				t.Errorf("%q, %v", d.ID, err)
			}
		})
	}
}

// TestFindUnique finds documents without a legacy id by values of the record.
func TestFindUnique(t *testing.T) {
	unique := strings.Replace(tinyMappingWith(""), "query: {legacy: $key}", "query: {email: .new.email, of: '\"\\(.key)\"'}, unique: true", 1)
	for _, c := range []struct {
		name, list string
		record     adapter.Record
		id         string
		kind       adapter.ErrorKind
	}{
		{"without a legacy id", `[{"id": "x"}]`, customer("a@b"), "x", 0},
		{"with the legacy id", `[{"id": "x", "legacy": 7}]`, customer("a@b"), "x", 0},
		{"with another legacy id", `[{"id": "x", "legacy": 8}]`, customer("a@b"), "", adapter.NotFound},
		{"none", `[]`, customer("a@b"), "", adapter.NotFound},
		{"two", `[{"id": "x"}, {"id": "y"}]`, customer("a@b"), "", adapter.Internal},
		{"of an unknown record", `[{"id": "x"}]`, adapter.Record{}, "", adapter.Unsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := serve(t, unique, nil, func(w http.ResponseWriter, r *http.Request) {
				if r.FormValue("email") != "a@b" || r.FormValue("of") != "7" {
					t.Errorf("request %s", r.URL.RawQuery)
				}
				respond(w, 200, `{"data": {"list": `+c.list+`}}`)
			})
			d, err := b.Find(t.Context(), adapter.Customers, 7, c.record)
			if d.ID != c.id || (err == nil) != (c.id != "") || err != nil && adapter.KindOf(err) != c.kind {
				t.Errorf("%q, %v", d.ID, err)
			}
		})
	}
}

// TestFindPages finds documents on any page of a list, reads no page after that, and reports when it
// has given up.
func TestFindPages(t *testing.T) {
	content := `name: paged
resources:
  customers:
    attributes: [email]
    fetch: {path: '/c/{$id}', item: .}
    scan: {path: /c, items: ., pages: {page: page}}
    find: {path: /c, query: {sort: '"-id"'}, items: ., among: true, pages: {offset: from, limit: n, size: 2}}
    key: .legacy
    id: id
    read: '{}'
    create: [{method: POST, path: /c, body: '{}', id: .id}]
    without: {update: no, delete: no}
`
	for _, c := range []struct {
		name     string
		key      adapter.Key
		endless  bool
		id       string
		kind     adapter.ErrorKind
		requests int
	}{
		{"first page", 5, false, "c5", 0, 1},
		{"last page", 1, false, "c1", 0, 3},
		{"nowhere", 9, false, "", adapter.NotFound, 4},
		{"endless list", 9, true, "", adapter.Unsupported, maxFindPages},
	} {
		t.Run(c.name, func(t *testing.T) {
			requests := 0
			b := serve(t, content, nil, func(w http.ResponseWriter, r *http.Request) {
				requests++
				from, err := strconv.Atoi(r.FormValue("from"))
				if err != nil || r.FormValue("n") != "2" || r.FormValue("sort") != "-id" {
					t.Errorf("request %s", r.URL)
				}
				if c.endless {
					respond(w, 200, fmt.Sprintf(`[{"id": "e%d"}]`, from))
					return
				}
				var page []string
				for n := 5 - from; n > 0 && n > 3-from; n-- {
					page = append(page, fmt.Sprintf(`{"id": "c%d", "legacy": %d}`, n, n))
				}
				respond(w, 200, "["+strings.Join(page, ",")+"]")
			})
			d, err := b.Find(t.Context(), adapter.Customers, c.key, adapter.Record{})
			if d.ID != c.id || (err == nil) != (c.id != "") || err != nil && adapter.KindOf(err) != c.kind || requests != c.requests {
				t.Errorf("%q, %v after %d requests, want %d", d.ID, err, requests, c.requests)
			}
		})
	}
}
