package mapping_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A modifiedList is a list and its support for list modifiers (wire 10).
type modifiedList struct {
	path, target string
	// text is an attribute to filter by, order one to sort by; order is "" if the list
	// cannot be sorted.
	text, order string
	// modifiers is the list's treatment of modifiers: it applies all, only checks them,
	// or ignores them.
	modifiers modifierSupport
	// store and category report whether the query may name a store view or a category.
	store, category bool
}

type modifierSupport uint8

const (
	applied modifierSupport = iota
	checked
	ignored
)

// modifiedLists returns every list in the route table.
func modifiedLists() []modifiedList {
	products := func(path, target string, store, category bool) modifiedList {
		return modifiedList{path: path, target: target, text: "sku", order: "sku", store: store, category: category}
	}
	return []modifiedList{
		{path: "/customers", target: "/customers", text: "email", order: "email"},
		{path: "/customers/:customer_id/addresses", target: "/customers/1/addresses", text: "city", order: "city", modifiers: checked},
		products("/products", "/products", true, true),
		products("/products/store/:store", "/products/store/1", false, true),
		products("/products/category/:category_id", "/products/category/3", true, false),
		products("/products/store/:store/category/:category_id", "/products/store/1/category/3", false, false),
		products("/products/category/:category_id/store/:store", "/products/category/3/store/1", false, false),
		{path: "/products/:id/categories", target: "/products/1/categories", modifiers: ignored, store: true},
		{path: "/products/:id/images", target: "/products/1/images", modifiers: ignored, store: true},
		{path: "/products/:id/images/store/:store", target: "/products/1/images/store/1", modifiers: ignored},
		{path: "/products/:product_id/websites", target: "/products/1/websites", modifiers: ignored},
		{path: "/stockitems", target: "/stockitems", text: "low_stock_date", order: "qty"},
		{path: "/orders", target: "/orders", text: "status", order: "status"},
		{path: "/orders/:id/items", target: "/orders/1/items", text: "sku", order: "sku"},
		{path: "/orders/:order_id/addresses", target: "/orders/1/addresses", text: "city", order: "city"},
		{path: "/orders/:id/comments", target: "/orders/1/comments", text: "comment"},
	}
}

// An outcome is the reply to an odd query. The zero outcome is a normal reply.
type outcome struct {
	refused string // the message of a 400
	crash   bool   // whether the original crashes
	ofList  bool   // whether it is refused only where a list of one category is not read
}

func refusal(message string) outcome { return outcome{refused: message} }
func crash(message string) outcome   { return outcome{refused: message, crash: true} }

const (
	pagingFault    = "Resource collection paging error."
	limitFault     = "The paging limit exceeds the allowed number."
	orderingFault  = "Resource collection ordering error."
	filteringFault = "Resource collection filtering error."
	storeFault     = "Requested store is invalid"
	categoryFault  = "Category not found."
	requestFault   = "The request data is invalid."
)

// An oddQuery is a query string and its outcome.
type oddQuery struct {
	query string
	want  outcome
}

// An oddNumber is a value in an odd spelling, URL-encoded, and how page and limit take
// it.
type oddNumber struct {
	value       string
	page, limit bool // taken for a number
	negative    bool
	above       bool // above the maximum limit
}

func oddNumbers() []oddNumber {
	good := func(value string) oddNumber { return oddNumber{value: value, page: true, limit: true} }
	above := func(value string) oddNumber { return oddNumber{value: value, page: true, limit: true, above: true} }
	below := func(value string) oddNumber { return oddNumber{value: value, page: true, limit: true, negative: true} }
	all := []oddNumber{
		good("0"), good("1"), good("+5"), good("%2B5"), good("5."), good(".5e1"), good("1.5"), good("0.25"), good("%201%09%0A"), good("-0"), good("00"), good("1e1"), good("1&page=1&limit=1"),
		above("1e3"), above("99999999999999999999"), above("1e400"), above(strings.Repeat("9", 100_000)), above("100.0001"),
		below("-1"), below("-0.5"), below("-1e-9"), below("-1e400"),
		{value: "", limit: true},
	}
	for _, none := range []string{"abc", "3abc", "0x10", "NaN", "INF", "-INF", "1_0", "1,5", "--1", "1e", "e1", ".", "+", "1%00", "%00", "%FF", "%01", "%D9%A1", "%EF%BC%91", "'1'", "1'--",
		"1%20OR%201=1", "%221%22", "1%2F1", "%25", "true", "null", "%C2%A01", strings.Repeat("a", 100_000)} {
		all = append(all, oddNumber{value: none})
	}
	return all
}

// oddTexts returns texts, URL-encoded, that name nothing and are cheap to compare.
func oddTexts() []string {
	return []string{"", "%00", "%FF%FE", "%01%02", "'", "%22", "'%20OR%20'1'='1", "1);DROP%20TABLE%20product;--", "%5C", "%25%25", "_", "-1", "1e999", "NaN", "%D9%A1", "%F0%9F%98%80",
		"%F0%9F", "..%2F..%2Fetc%2Fpasswd", "$%7Bx%7D", "%7B%7Bbase_url%7D%7D", "%0D%0ASet-Cookie:%20a=b", "0000-00-00", "9999-99-99%2099:99:99", strings.Repeat("x", 100_000)}
}

// oddQueriesFor returns all odd queries for a list, with their outcomes according to wire
// 10.
func oddQueriesFor(l modifiedList) []oddQuery {
	var all []oddQuery
	add := func(want outcome, queries ...string) {
		for _, query := range queries {
			all = append(all, oddQuery{query, want})
		}
	}
	fine := outcome{}

	for _, n := range oddNumbers() {
		page, limit := fine, fine
		switch {
		case !n.page:
			page = crash(pagingFault)
		case n.negative:
			page = refusal(pagingFault)
		}
		switch {
		case !n.limit:
			limit = crash(limitFault)
		case n.negative, n.above:
			limit = refusal(limitFault)
		}
		add(page, "page="+n.value)
		add(limit, "limit="+n.value)
	}
	add(crash(pagingFault), "page[]=1", "page[a][b]=1", "page=1&page[]=1", "page[page]=1&limit=-1", "page%00=x") // names end at a zero byte
	add(crash(limitFault), "limit[]=1", "limit[a][b]=1", "limit[]=1&limit[]=2")
	add(refusal(pagingFault), "page=1&page=-1", "page=-1&limit=-1&order=nope&filter=x")
	add(refusal(limitFault), "limit=-1&order=nope&filter=x")

	for _, text := range oddTexts() {
		add(refusal(orderingFault), "order="+text)
		add(refusal(filteringFault), "filter[1][attribute]="+text+"&filter[1][eq]=1")
		add(fine, "dir="+text, "nonsense="+text, text+"=1", "type="+text, "nonsense["+text+"]=1", "model="+text)
	}
	add(refusal(orderingFault), "order", "order[]=entity_id", "order[a][b]=1", "order=ENTITY_ID", "order=entity_id%20", "order=entity_id%00", "order=password_hash", "order=1", "order=(SELECT%201)", "order=nope&filter=x")
	add(fine, "dir[]=asc", "dir[a][b]=1", "Order=nope", "LIMIT=-1", "=1", "&&&", "[]=1", "[[[", "]]]", strings.Repeat("[", 1000)+"=1", "filter"+strings.Repeat("[a]", 1000)+"=1", strings.Repeat("x&", 10_000))
	if l.order != "" {
		add(fine, "order="+l.order+"&dir=sideways", "order="+l.order+"&dir=", "order="+l.order+"&dir=%00%FF", "order=nope&order="+l.order)
		add(crash(orderingFault), "order="+l.order+"&dir[]=asc", "order="+l.order+"&dir[a][b]=desc")
	}

	if l.text != "" {
		all = append(all, oddFilters(l.text)...)
	}
	add(fine, "filter", "filter=")
	add(refusal(filteringFault), "filter=x", "filter=%00", "filter=0", "filter[]=x", "filter[1]=", "filter[1][]=x", "filter[][][]", "filter[a][b][c][]=1", "filter[1][eq]=1", "filter[1][attribute][]=sku&filter[1][eq]=1",
		"filter[1][attribute][a][b]=sku", "filter[1][ATTRIBUTE]=sku", "filter[1][attribute%00]=sku", "filter[1][attribute]=password_hash&filter[1][like]=%25", "filter[1][attribute]="+strings.Repeat("x", 100_000))
	for _, store := range []string{"99", "2abc", "-1", "nope", "%00", "1%00", "%FF", "0x1", "%EF%BC%91", "1,2", "'", "1'--", strings.Repeat("1", 10_000), strings.Repeat("x", 10_000)} {
		add(refusal(storeFault), "store="+store)
	}
	add(crash(storeFault), "store[]=1", "store[a][b]=1", "store=01", "store=1.0", "store=%201", "store=1e0", "store=%2B1", "store=DEFAULT", "store=00", "store=Admin", "store=default%20")
	add(fine, "store=", "store=0", "store=1", "store=default")
	add(refusal(categoryFault), "category_id=99", "category_id=-1", "category_id=abc", "category_id=00", "category_id=%00", "category_id=%FF", "category_id[]=99", "category_id[]=", "category_id[]=0", "category_id=1e400", "category_id=2.5", "category_id="+strings.Repeat("9", 10_000))
	add(crash(categoryFault), "category_id[a][b]=3", "category_id[]=3&category_id[]=4")
	add(outcome{refused: categoryFault, ofList: true}, "category_id[]=3", "category_id[a]=3abc")
	add(fine, "category_id=", "category_id=0", "category_id=3abc", "category_id=%203")
	add(refusal(requestFault), strings.Repeat("a=b&", 70_000), "page="+strings.Repeat("9", 1<<20))
	return all
}

// oddFilters returns filters on an attribute with invalid or odd tests.
func oddFilters(attribute string) []oddQuery {
	var all []oddQuery
	entry := func(want outcome, rests ...string) {
		for _, rest := range rests {
			all = append(all, oddQuery{"filter[1][attribute]=" + attribute + strings.ReplaceAll(rest, "@", "&filter[1]"), want})
		}
	}
	fine := outcome{}
	for _, operator := range []string{"eq", "neq", "gt", "lt", "gteq", "lteq", "from", "to", "finset", "in][", "nin][", "seq", "sneq", "null", "notnull", "moreq", "EQ", "nope", "", "0][eq", "%FF", "a][b][c][d"} {
		for _, text := range oddTexts() {
			entry(fine, "@["+operator+"]="+text)
		}
	}
	for _, text := range oddTexts() {
		want := fine
		if len(text) > 1000 {
			want = refusal(filteringFault)
		}
		entry(want, "@[like]="+text, "@[nlike]="+text)
		entry(crash(filteringFault), "@[is]="+text)
	}
	entry(refusal(filteringFault), "@[%00]=1")
	entry(crash(filteringFault), "", "@[eq][]=1@[eq][]=2", "@[eq][a][b]=1", "@[in][a][b]=1", "@[nin][][]=1", "@[from][]=1@[from][]=2", "@[to][a][b]=1", "@[like][]=a@[like][]=b", "@[is]", "@[1][eq][][]=1")
	entry(fine, "@[1][2]", "@[eq]", "@[in]", "@[eq][]=1", "@[from][]=1@[to][]=2", "@[null][a][b]=1", "@[eq]=1@[nope][a][b]=1", "@[in]=1,2", "@[date]=x@[from]=1", "@[eq]=1@[eq]=2", strings.Repeat("@[]=1", 900))
	entry(refusal(filteringFault), strings.Repeat("@[]=1", 1100), strings.Repeat("@[in][]=1", 1100), "@[like]="+strings.Repeat("%25_", 501), "@[nlike]="+strings.Repeat("%25", 20_000))
	expressions := func(want outcome, patterns ...string) {
		for _, pattern := range patterns {
			entry(want, "@[regexp]="+url.QueryEscape(pattern))
		}
	}
	expressions(crash(filteringFault), "(", ")", "[", "*", "a**", "(?<n>a", "(?=a)", `\`, "a{1001}", "((a{100}){100}){100}", "\xFF", "(?P<n", "[z-a]", "[[:nope:]]", `\p{Nope}`, "x{2,1}")
	expressions(fine, "(a+)+$", "(.*)*b", "(a|a)*b", "(a|aa)+$", "(.*.*.*.*)=.*", "^(([a-z])+.)+[A-Z]([a-z])+$", "x{9}", "[^a]*", "", "\x00", "'", `\x00`, `\pL*`, "(?i)a", "(((((((((a)))))))))")
	expressions(refusal(filteringFault), "(a{30}){30}", "(.{20}){20}", "a{600}", "(a|b){150}", strings.Repeat("a?", 150)+strings.Repeat("a", 150), strings.Repeat("(.*)", 120), `[\x00-\x{10FFFF}]{900}`,
		strings.Repeat("x", 1001), strings.Repeat("(", 2000))
	return all
}

// outcomeOf returns the outcome of an odd query for a list that supports only some
// modifiers.
func (l *modifiedList) outcomeOf(d *contract.Dialect, n oddQuery) outcome {
	want := n.want
	switch {
	case want.refused == requestFault:
	case want.refused == storeFault:
		if !l.store {
			want = outcome{}
		}
	case want.refused == categoryFault:
		if !l.category || want.ofList && d.CategoryLists {
			want = outcome{}
		}
	case l.modifiers == ignored, l.modifiers == checked && want.refused == filteringFault && want.crash && d.UnappliedFilters:
		want = outcome{}
	}
	return want
}

// TestOddQueries sends every modifier in every odd form to every list, in both dialects.
// The reply must be the contract's, and neither the reply nor the log may show an
// internal error.
func TestOddQueries(t *testing.T) {
	t.Parallel()
	onAllEngines(t, func(t *testing.T, s *shop) {
		sample := testenv.NewSample(t)
		known := map[string]bool{}
		for _, l := range modifiedLists() {
			known[l.path] = true
			t.Run(l.path, func(t *testing.T) {
				for _, n := range oddQueriesFor(l) {
					if !sample.Takes(12) { // lists share their code, so a run covers it with a sample of each
						continue
					}
					s.checkOddQuery(t, l.target+"?"+n.query, l.outcomeOf(s.dialect, n))
				}
			})
		}
		for _, route := range contract.Routes(contract.StandardFields()) {
			if route.Shape == contract.Collection && !known[route.Path] {
				t.Errorf("no odd query is sent to %s", route.Path)
			}
		}
		s.checkNothingLogged(t)
	})
}

// TestOddSelections sends odd forms of attrs to lists, to single records and to calls
// without other modifiers.
func TestOddSelections(t *testing.T) {
	t.Parallel()
	targets := []string{"/customers/1", "/customers/addresses/1", "/products/1", "/products/1/store/2", "/stockitems/1", "/orders/1", "/orders/1/addresses/billing", "/orders/comments/1"}
	for _, l := range modifiedLists() {
		targets = append(targets, l.target)
	}
	onAllEngines(t, func(t *testing.T, s *shop) {
		sample := testenv.NewSample(t)
		for _, target := range targets {
			t.Run(target, func(t *testing.T) {
				for _, attrs := range []string{"attrs=", "attrs", "attrs=nope", "attrs=,,,,", "attrs=" + strings.Repeat(",", 100_000), "attrs[]=nope", "attrs[a][b]=sku", "attrs=*", "attrs=%00", "attrs=%FF",
					"attrs=password_hash", "attrs=ENTITY_ID", "attrs=entity_id%00", "attrs=" + strings.Repeat("x", 100_000), "attrs[][][]", "attrs='%20OR%201=1", strings.Repeat("attrs[]=x&", 20_000)} {
					if !sample.Takes(12) {
						continue
					}
					want := outcome{crash: true} // documented: records without fields
					if strings.HasPrefix(target, "/products/1/images") {
						want = outcome{} // no record whose fields could be selected
					}
					s.checkOddQuery(t, target+"?"+attrs, want)
				}
			})
		}
		s.checkNothingLogged(t)
	})
}

// TestOddIDs sends odd ids to every route with an id, with every method.
func TestOddIDs(t *testing.T) {
	t.Parallel()
	ids := oddTexts()
	for _, n := range oddNumbers() {
		ids = append(ids, n.value)
	}
	ids = append(ids, oddOperands()...)
	onAllEngines(t, func(t *testing.T, s *shop) {
		sample := testenv.NewSample(t)
		for _, route := range contract.Routes(contract.StandardFields()) {
			for _, part := range strings.Split(route.Path, "/") {
				if !strings.HasPrefix(part, ":") {
					continue
				}
				t.Run(route.Path+" "+part, func(t *testing.T) {
					for _, id := range ids {
						path := fillWithOnes(strings.Replace(route.Path, part, strings.ReplaceAll(id, "&", "%26"), 1))
						for _, method := range []contract.Method{contract.GET, contract.POST, contract.PUT, contract.DELETE} {
							for _, role := range []contract.Role{contract.Admin, contract.Customer, contract.Guest} {
								if !sample.Takes(24) {
									continue
								}
								got := s.serve(role, method.String(), path, bodyOf(route, method, s.dialect), "Accept", "application/json", "Content-Type", "application/json")
								s.checkContractReply(t, method.String()+" "+path, got)
							}
						}
					}
				})
			}
		}
		s.checkNothingLogged(t)
	})
}

// fillWithOnes replaces the remaining parameters of a path with 1.
func fillWithOnes(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, ":") {
			parts[i] = "1"
		}
	}
	return strings.Join(parts, "/")
}

// checkOddQuery sends a query as an Admin, and for products also as a Guest.
func (s *shop) checkOddQuery(t *testing.T, target string, want outcome) {
	t.Helper()
	roles := []contract.Role{contract.Admin}
	if strings.HasPrefix(target, "/products") && !strings.Contains(target, "/categories") && !strings.Contains(target, "/websites") {
		roles = append(roles, contract.Guest)
	}
	for _, role := range roles {
		got := s.serve(role, "GET", target, "", "Accept", "application/json")
		s.checkContractReply(t, target, got)
		switch {
		case want.crash && !s.documented():
			if got.Status != 500 || len(got.Body) > 0 {
				t.Errorf("%s: %.200s: %d %.200s, want a crash", role, target, got.Status, got.Body)
			}
		case want.refused == "":
			// A filter may leave none of an order's addresses (stock_orders 5).
			filtered := got.Status == 404 && strings.HasPrefix(target, "/orders/1/addresses?filter")
			if got.Status != 200 && !filtered {
				t.Errorf("%s: %.200s: %d %.200s, want 200", role, target, got.Status, got.Body)
			}
		default:
			if list, _ := faultsIn(got); !slices.Equal(list, []string{"400 " + want.refused}) {
				t.Errorf("%s: %.200s: %d %q, want 400 %s", role, target, got.Status, list, want.refused)
			}
		}
	}
}

// checkContractReply checks the properties of every reply: its size is bounded, an error
// is an envelope, an internal error occurs only where the original crashes, and nothing
// internal shows.
func (s *shop) checkContractReply(t *testing.T, target string, got resource.Response) {
	t.Helper()
	const maxReply = 256 << 10
	crash := !s.documented() && got.Status == 500 && len(got.Body) == 0
	list, _ := faultsIn(got) // none in a body that is not an envelope
	switch {
	case len(got.Body) > maxReply:
		t.Errorf("%.200s: %d bytes", target, len(got.Body))
	case crash:
	case got.Status >= 500:
		t.Errorf("%.200s: %d %.200s", target, got.Status, got.Body)
	case got.Status >= 400 && (len(list) == 0 || !strings.HasPrefix(list[len(list)-1], fmt.Sprint(got.Status))):
		t.Errorf("%.200s: %d without an envelope: %.200s", target, got.Status, got.Body)
	case got.Status < 400 && len(list) > 0:
		t.Errorf("%.200s: %d with an error: %.200s", target, got.Status, got.Body)
	}
	for _, inside := range []string{"SELECT", "sqlite", "SQL ", "goroutine", "runtime error", ".go:", "regexp:", "strconv"} {
		if strings.Contains(string(got.Body), inside) {
			t.Errorf("%.200s: internal text %q in %.300s", target, inside, got.Body)
		}
	}
}

// checkNothingLogged checks that no request has caused a log entry.
func (s *shop) checkNothingLogged(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "panic") {
			t.Errorf("logged: %.1000s", line)
		}
	}
}
