package mapping_test

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// idSpellings returns id in all spellings that the store takes for the same number, and
// in others that it does not take for a number (wire 2.3).
func idSpellings(id string) []string {
	var escaped strings.Builder
	for _, digit := range []byte(id) {
		fmt.Fprintf(&escaped, "%%%02X", digit)
	}
	return []string{
		"0" + id, "000" + id, "+" + id, "%2B" + id, "%20" + id, id + "%20", id + "+", "%09" + id, id + "%0A", id + ".0", id + ".", id + "e0", id + "E%2B0",
		escaped.String(), id + "abc", id + "%00", id + "'", id + "%20OR%201=1", id + "--", id + "%2F", id + "%2F..", id + ",", "%C2%A0" + id, id + "%FF",
		"-" + id, "0x" + id, "%EF%BC%91" + id, "%25" + id, id + "%25", "_" + id, "marked" + id + "x", id + "-sku",
	}
}

// TestForeignIDSpellings requests the records of others in odd spellings of their ids.
// They must not be found in any spelling, and the caller's own id in another spelling, or
// in front of a foreign one, must not lead to another record.
func TestForeignIDSpellings(t *testing.T) {
	t.Parallel()
	for _, d := range contract.Dialects() {
		m := openLabeledShop(t, d)
		for _, rule := range m.readCases() {
			if !rule.isOwned() {
				continue
			}
			for _, c := range m.callers {
				if c.role != contract.Admin {
					t.Run(d.Name+" "+c.name+" "+rule.path, func(t *testing.T) { m.checkSpellings(t, &rule, c) })
				}
			}
		}
	}
}

func (m *labeledShop) checkSpellings(t *testing.T, rule *readCase, c caller) {
	t.Helper()
	for _, p := range combinations(rule.parameters) {
		if len(p) == 0 {
			continue // a list of all records has no id
		}
		plain := m.expectedStatus(rule, c, p)
		ask := func(id string) (status int, path string) {
			path = fillPath(rule.path, append([]string{id}, p[1:]...))
			got := m.get(c, path, "application/json")
			if leak := m.leaks(c, got.Body, ""); leak != "" {
				t.Errorf("%s: %s", path, leak)
			}
			return got.Status, path
		}
		for _, id := range idSpellings(p[0]) {
			if status, path := ask(id); status != plain && (plain != 200 || status != 404) {
				t.Errorf("%s: %d, want %d", path, status, plain)
			}
		}
		for _, between := range []string{",", "%2F", "%00", ";", "%20", "&id="} {
			ask(strconv.FormatInt(c.customer, 10) + between + p[0])
		}
	}
}

// wideningQueries returns query strings that would show more than the path allows if they
// reached the store without its bounds.
func wideningQueries() []string {
	var queries []string
	add := func(parameters ...string) {
		q := make([]string, 0, len(parameters)/2)
		for pair := range slices.Chunk(parameters, 2) {
			q = append(q, url.QueryEscape(pair[0])+"="+url.QueryEscape(pair[1]))
		}
		queries = append(queries, strings.Join(q, "&"))
	}
	schemas := adapter.NewSchemas()
	names := []string{"owner", "owner_id", "customer", "id", "1", "*", "", "1=1", "customer_id OR 1=1", "entity_id,customer_id"}
	for _, resource := range []adapter.Resource{adapter.Customers, adapter.CustomerAddresses, adapter.Orders, adapter.OrderItems, adapter.OrderAddresses, adapter.OrderComments, adapter.Products} {
		for _, a := range schemas.Of(resource).Attributes {
			if !slices.Contains(names, a.Name) {
				names = append(names, a.Name)
			}
		}
	}
	every := strings.Join(names, ",")
	// attributes that reveal an owner, a text, and one that no caller may request
	telling := []string{"customer_id", "entity_id", "parent_id", "order_id", "item_id", "email", "firstname", "increment_id", "created_at", "grand_total", "comment", "sku", "cost", "password_hash"}
	add("attrs", every)
	add("attrs", "*")
	for _, name := range names {
		attribute := "filter[1][attribute]"
		add("attrs", name)
		add(name, "2")
		add(name+"[]", "2")
		add("order", name, "dir", "asc", "limit", "0")
		add("order", name, "dir", "desc", "limit", "1")
		add(attribute, name, "filter[1][neq]", "-")
		if !slices.Contains(telling, name) {
			continue
		}
		for _, test := range [][]string{
			{"eq", "2"}, {"eq", "marked2x2"}, {"neq", "0"}, {"like", "%"}, {"like", "%marked2%"}, {"nlike", "x"}, {"gt", "-1"}, {"gteq", ""},
			{"lt", "99999999"}, {"lt", "~"}, {"null", "1"}, {"notnull", "1"}, {"regexp", ".*"}, {"regexp", "marked[^1]"}, {"from", "0"}, {"to", "9999-12-31"},
			{"finset", "2"}, {"in][", "2"}, {"nin][", "0"}, {"0][eq", "2"}, {"moreq", "2"}, {"", "2"},
		} {
			add(attribute, name, "filter[1]["+test[0]+"]", test[1])
		}
		// One of the two conditions holds for every record, and so does one of the two
		// alternatives.
		add(attribute, name, "filter[1][0][eq]", "2", "filter[1][1][neq]", "2")
		add(attribute, name, "filter[1][eq]", "2", "filter[2][attribute]", "entity_id", "filter[2][gt]", "0")
	}
	for _, page := range []string{"0", "1", "2", "3", "999", "1e9", "1.5", "0.5"} {
		for _, limit := range []string{"0", "1", "2", "100", "0.0", "1.5"} {
			add("page", page, "limit", limit, "attrs", every)
		}
	}
	for _, parameter := range []string{"store", "category_id", "model", "action_type", "api_type", "role", "user", "admin", "oauth_token", "_method", "type"} {
		for _, value := range []string{"0", "1", "2", "admin", "3", "all"} {
			add(parameter, value)
		}
	}
	return queries
}

// TestModifiersDoNotWidenAccess sends every modifier to every route. No reply may show
// data that its caller may not see, no list may be longer than the caller's own, and
// foreign records must stay hidden.
func TestModifiersDoNotWidenAccess(t *testing.T) {
	t.Parallel()
	queries := testenv.Rows(t, wideningQueries(), 10) // the same code with other names
	sample := testenv.NewSample(t)
	for _, d := range testenv.Rows(t, contract.Dialects(), 2) {
		m := openSQLiteLabeledShop(t, d)
		for _, rule := range m.readCases() {
			for _, c := range m.callers {
				if c.role != contract.Admin {
					t.Run(d.Name+" "+c.name+" "+rule.path, func(t *testing.T) { m.checkWidening(t, sample, &rule, c, queries) })
				}
			}
		}
	}
}

func (m *labeledShop) checkWidening(t *testing.T, sample *testenv.Sample, rule *readCase, c caller, queries []string) {
	t.Helper()
	// One record of each kind is enough; TestReadOwnership requests all.
	asked := map[string]bool{}
	for _, p := range combinations(rule.parameters) {
		status := m.expectedStatus(rule, c, p)
		kind := fmt.Sprint(status)
		if rule.label != nil {
			kind += fmt.Sprint(rule.label(c, p))
		}
		if asked[kind] {
			continue
		}
		asked[kind] = true
		for _, query := range queries {
			// Refused calls rarely read modifiers, and products have no owner.
			if status != 200 && !sample.Takes(10) || !rule.isOwned() && !sample.Takes(4) {
				continue
			}
			path := fillPath(rule.path, p) + "?" + query
			got := m.get(c, path, "application/json")
			view := rule.view(p)
			if values, err := url.ParseQuery(query); err == nil && view == "" {
				view = values.Get("store")
			}
			if leak := m.leaks(c, got.Body, view); leak != "" {
				t.Errorf("%s: %s", path, leak)
			}
			// The parameter type names a web service. The original answers any call that names one
			// which does not exist with this text, and so tells nothing.
			unknownService := strings.HasPrefix(query, "type=") && string(got.Body) == "Invalid webservice adapter specified."
			if !rule.isOwned() || unknownService {
				continue
			}
			m.checkStatus(t, path, status, got)
			if got.Status == 200 && rule.entries != nil {
				if n, most := entries(t, got), rule.entries(c, p); n > most {
					t.Errorf("%s has %d entries of %d: %.300s", path, n, most, got.Body)
				}
			}
		}
	}
}

// checkStatus checks that a modifier does not decide whether a record is found. It may be
// refused or be one on which the original crashes, and a filter may leave an order
// without addresses, whose list is then not found (stock_orders 5).
func (m *labeledShop) checkStatus(t *testing.T, path string, plain int, got resource.Response) {
	t.Helper()
	crash := !m.documented() && got.Status == 500 && len(got.Body) == 0
	looked := plain == 200 || plain == 404
	filtered := plain == 200 && got.Status == 404 && strings.Contains(path, "/addresses?filter")
	if got.Status != plain && !filtered && (!looked || got.Status != 400 && !crash) {
		t.Errorf("%s: %d %.200s, %d without modifiers", path, got.Status, got.Body, plain)
	}
}
