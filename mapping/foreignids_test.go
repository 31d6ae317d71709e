package mapping_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A watchedShop is a labeled shop whose stored rows and files are compared after each
// call.
type watchedShop struct {
	*labeledShop
	watcher *storeWatcher
	before  snapshot
	sample  *testenv.Sample
}

func watchShop(t *testing.T, d *contract.Dialect) *watchedShop {
	t.Helper()
	w := &watchedShop{labeledShop: openSQLiteLabeledShop(t, d), sample: testenv.NewSample(t)}
	removeFiles(t, engine.MediaDir(w.direct.path)) // as reset does
	w.watcher = w.watchStore(t)
	w.before = w.watcher.snapshot(t)
	return w
}

// checkAndUndo checks that a successful call changed only records of owners, and that a
// refused one changed nothing. It returns the changes, and reverts them.
func (w *watchedShop) checkAndUndo(t *testing.T, what string, r resource.Response, owners []string) []change {
	t.Helper()
	if !w.watcher.mayHaveChanged(t) {
		return nil
	}
	after := w.watcher.snapshot(t)
	changes := after.changesSince(w.before)
	if r.Status/100 == 2 {
		checkChangesOnly(t, what, w.before, after, owners...)
	} else {
		for _, c := range changes {
			t.Errorf("%s: status %d, but %s", what, r.Status, c)
		}
	}
	w.reset(t)
	w.watcher.mayHaveChanged(t)
	return changes
}

// newID returns the id of the record that a call created, or "".
func newID(r resource.Response) string { return r.Location[strings.LastIndex(r.Location, "/")+1:] }

// TestForeignIDSpellingsInWrites sends writes with odd spellings of all ids in their
// paths. The records of others must not be found in any spelling, and the caller's own id
// in another spelling, or in front of a foreign one, must not lead to a write of another
// record.
func TestForeignIDSpellingsInWrites(t *testing.T) {
	t.Parallel()
	for _, d := range testenv.Rows(t, contract.Dialects(), 2) {
		m := watchShop(t, d)
		m.forEachWrite(t, func(t *testing.T, rule *readCase, method contract.Method, w *writeCase, c caller) {
			if c.role != contract.Customer || !rule.isOwned() || rule.route.Access(d, c.role, method) != contract.Serve {
				return
			}
			for _, p := range combinations(rule.parameters) {
				if len(p) > 0 {
					m.checkSpelledWrites(t, rule, method, w, c, p)
				}
			}
		})
	}
}

func (w *watchedShop) checkSpelledWrites(t *testing.T, rule *readCase, method contract.Method, call *writeCase, c caller, p []string) {
	t.Helper()
	refusal := w.expectedRefusal(rule.route, method, c, p, call)
	ask := func(id string) (status string, path string) {
		path = fillPath(rule.path, append([]string{id}, p[1:]...))
		r := w.ask(c, method.String(), path, "application/json", "application/json", bodyOf(rule.route, method, w.dialect))
		w.checkAndUndo(t, method.String()+" "+path, r, []string{"customer " + strconv.FormatInt(c.customer, 10)})
		return strconv.Itoa(r.Status), path
	}
	for _, id := range idSpellings(p[0]) {
		if refusal == "" && !w.sample.Takes(12) { // each change has to be reverted
			continue
		}
		plain := "200"
		if refusal != "" {
			plain = refusal[:3]
		}
		if status, path := ask(id); status != plain && (plain == "404" || status != "404") {
			t.Errorf("%s %s: %s, want %s", method, path, status, plain)
		}
	}
	for _, between := range []string{",", "%2F", "%00", ";", "%20", "&id="} {
		if refusal != "" && w.sample.Takes(3) {
			ask(strconv.FormatInt(c.customer, 10) + between + p[0])
		}
	}
}

// foreignIDNames returns names with which a body or a query may claim another record than
// the one of the path, or another owner.
func foreignIDNames() []string {
	names := []string{"id", "owner", "owner_id", "customer", "parent", "role", "api_type", "admin_id", "image"}
	schemas := adapter.NewSchemas()
	for _, resource := range []adapter.Resource{adapter.Customers, adapter.CustomerAddresses, adapter.Products, adapter.ProductImages, adapter.ProductWebsites,
		adapter.ProductCategories, adapter.StockItems, adapter.Orders, adapter.OrderComments} {
		for _, a := range schemas.Of(resource).Attributes {
			if strings.HasSuffix(a.Name, "_id") && !slices.Contains([]string{"country_id", "region_id", "vat_id"}, a.Name) && !slices.Contains(names, a.Name) {
				names = append(names, a.Name)
			}
		}
	}
	return names
}

// TestForeignIDsInBodies adds the ids of others to the bodies and query strings of
// writes. The writes must still affect only the records that the path names, and change
// no owner.
func TestForeignIDsInBodies(t *testing.T) {
	t.Parallel()
	names := foreignIDNames()
	for _, d := range testenv.Rows(t, contract.Dialects(), 2) {
		m := watchShop(t, d)
		done := map[string]bool{}
		m.forEachWrite(t, func(t *testing.T, rule *readCase, method contract.Method, w *writeCase, c caller) {
			call := c.name + rule.route.Calls[method]
			if done[call] { // with another path
				return
			}
			done[call] = true
			if rule.route.Access(d, c.role, method) != contract.Serve || method == contract.DELETE {
				return
			}
			for _, p := range combinations(rule.parameters) {
				if m.expectedRefusal(rule.route, method, c, p, w) == "" {
					m.checkClaims(t, rule, method, w, c, p, names)
					return // one record is enough; TestWriteOwnership covers all
				}
			}
		})
	}
}

func (w *watchedShop) checkClaims(t *testing.T, rule *readCase, method contract.Method, call *writeCase, c caller, p, names []string) {
	t.Helper()
	path, body := fillPath(rule.path, p), bodyOf(rule.route, method, w.dialect)
	ask := func(what, target, contentType, body string) {
		t.Helper()
		r := w.ask(c, method.String(), target, "application/json", contentType, body)
		// Fields that a Customer may not write are dropped unread, except the ids of
		// their own records. An Admin may write most of them, if they are valid.
		if c.role == contract.Customer && r.Status != 200 {
			t.Errorf("%s %s: %d %s", method, what, r.Status, r.Body)
		}
		for _, change := range w.checkAndUndo(t, what, r, call.owners(p, newID(r))) {
			if c.role == contract.Customer {
				w.checkColumns(t, what, rule.route.Fields, change)
			}
		}
	}
	query := url.Values{}
	var attributes strings.Builder
	for _, name := range names {
		query.Set(name, "2")
		fmt.Fprintf(&attributes, " %s=\"2\"", name)
		if c.role == contract.Admin || !w.sample.Takes(12) {
			continue
		}
		for _, value := range []any{2, []any{1, 2}} {
			ask(path+" with "+name, path, "application/json", withMembers(t, body, map[string]any{name: value}))
		}
	}
	ask(path+" with a query of claims", path+"?"+query.Encode(), "application/json", body)
	if c.role == contract.Customer {
		ask(path+" with attributes", path, "text/xml", "<r"+attributes.String()+">"+xmlElements(t, body)+"</r>")
	}
	every := map[string]any{}
	for _, name := range names {
		every[name] = "2"
	}
	ask(path+" with every claim", path, "application/json", withMembers(t, body, every))
	ask(path+" with claims inside", path, "application/json", withMembers(t, body, map[string]any{"stock_data": every, "data_item": every, "customer": every}))
}

// checkColumns checks that a Customer's write changed only the role's fields and values
// that are derived from them.
func (w *watchedShop) checkColumns(t *testing.T, what string, fields *contract.FieldTable, c change) {
	t.Helper()
	follow := []string{"updated_at", "nulls", "region_id", "password_hash"}
	if c.before.table == "" {
		follow = append(follow, "entity_id", "customer_id", "created_at") // checkChangesOnly checks the owner
	}
	for _, column := range c.columns() {
		name := strings.TrimSuffix(column, "_folded")
		i, ok := fields.Index(name)
		if !slices.Contains(follow, name) && !(ok && fields.Fields[i].Writable(w.dialect, contract.Customer)) {
			t.Errorf("%s: a Customer changed %s of %s", what, column, c)
		}
	}
}

// withMembers adds members to a JSON record, or to each record of a list.
func withMembers(t testing.TB, body string, members map[string]any) string {
	t.Helper()
	decoded := decoded(t, body)
	entries, list := decoded.([]any)
	if !list {
		entries = []any{decoded}
	}
	for _, entry := range entries {
		own := maps.Clone(entry.(map[string]any))
		maps.Copy(entry.(map[string]any), members)
		if list { // whose ids name the written records
			maps.Copy(entry.(map[string]any), own)
		}
	}
	text, err := json.Marshal(decoded)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func decoded(t testing.TB, body string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return v
}

// xmlElements returns the members of a JSON record as the elements of an XML root.
func xmlElements(t testing.TB, body string) string {
	t.Helper()
	record, err := codec.Decode(contract.JSON, []byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	_, elements, _ := strings.Cut(string(codec.Append(nil, contract.XML, "r", &record, false)), "<r>")
	return strings.TrimSuffix(elements, "</r>\n")
}
