package mapping_test

import (
	"bufio"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

var (
	decimalForm = regexp.MustCompile(`^-?[0-9]{1,8}\.[0-9]{4}$`)
	wholeForm   = regexp.MustCompile(`^-?[0-9]+$`)
	timeForm    = regexp.MustCompile(`^([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}|null)$`)
)

// restoreInterval is the number of stored bodies after which the fuzz target restores the
// demo store, which takes longer than the tested call.
const restoreInterval = 25

// FuzzBody sends a body to a call that reads one, in both dialects, and runs the checks
// that apply to all replies (see sendAndCheck). Stored stock values must keep the form of
// their kind.
func FuzzBody(f *testing.F) {
	calls := bodyCalls(f)
	contentTypes := []string{"application/json", "text/xml", "text/plain", "application/xhtml+xml; charset=UTF-8", ""}
	for i, seed := range recordedBodies(f, calls) {
		if i%31 == 0 || testenv.Nightly() {
			f.Add(seed.call, uint8(slices.Index(contentTypes, seed.contentType)), []byte(seed.body))
		}
	}
	for i, c := range calls {
		f.Add(uint8(i), uint8(0), []byte(goodBodies()[c.name]))
	}
	var shops []*bodyShop
	for _, d := range contract.Dialects() {
		shops = append(shops, openBodyShop(f, d))
	}
	stores := 0
	f.Fuzz(func(t *testing.T, call, contentType uint8, body []byte) {
		c := calls[int(call)%len(calls)]
		sent := contentTypes[int(contentType)%len(contentTypes)]
		for _, s := range shops {
			r := s.sendAndCheck(t, s.dialect.Name+" "+c.method+" "+c.path, c, "application/json", sent, string(body))
			checkStockValues(t, s.item(t, 1))
			if r.Status/100 == 2 {
				stores++
			}
		}
		if stores > restoreInterval {
			stores = 0
			for _, s := range shops {
				s.restore(t)
			}
		}
	})
}

// FuzzTarget sends a GET for any request target as every role, in both dialects.
func FuzzTarget(f *testing.F) {
	for i, l := range modifiedLists() {
		f.Add(uint8(i), l.target+"?filter[1][attribute]="+l.text+"&filter[1][like]=%25a%25&order="+l.order+"&dir=asc&limit=2&page=1e0&attrs=entity_id,"+l.text)
	}
	f.Add(uint8(0), "/products/kettle-steel/store/french?attrs[]=price&category_id=3")
	f.Add(uint8(1), "//customers/+1abc/?attrs=email&filter[][1][regexp]=(a|b)*$&filter[][attribute]=email")
	f.Add(uint8(2), "/products?filter[a][attribute]=price&filter[a][from]=1.00005&filter[a][to]=2012-02-30&filter[b][attribute]=special_from_date&filter[b][gteq]=0000-00-00&filter[b][finset]=x")
	var shops []*shop
	for _, d := range contract.Dialects() {
		shops = append(shops, openSQLiteShop(f, d))
	}
	f.Fuzz(func(t *testing.T, role uint8, target string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET /api/rest" + target + " HTTP/1.1\r\nHost: shop.example\r\nAccept: application/json\r\n\r\n")))
		if err != nil {
			return // not a request that reaches the service
		}
		for _, s := range shops {
			request := r.Clone(t.Context())
			if signed := s.authorizations[contract.Role(role%3)]; signed != "" {
				request.Header.Set("Authorization", signed)
			}
			got := s.service.Serve(t.Context(), &resource.Request{HTTP: request, Scheme: "http"}, nil)
			if request.Header.Get("Accept") == "application/json" { // the target does not end the request line
				s.checkContractReply(t, s.dialect.Name+" "+target, got)
			}
			s.checkNothingLogged(t)
		}
	})
}

// A recordedBody is the body of a recorded call, with the index of the call.
type recordedBody struct {
	call              uint8
	contentType, body string
}

// recordedBodies returns the distinct bodies in the recordings and in the specification's
// own cases.
func recordedBodies(t testing.TB, calls []bodyCall) []recordedBody {
	t.Helper()
	recorded, err := contracttests.Exchanges()
	if err != nil {
		t.Fatal(err)
	}
	own, err := contracttests.DocumentedExchanges()
	if err != nil {
		t.Fatal(err)
	}
	table := contract.NewTable(contract.Routes(contract.StandardFields()))
	var bodies []recordedBody
	for _, c := range slices.Concat(recorded, own) {
		for _, step := range c.Steps {
			path, _, _ := strings.Cut(strings.Trim(step.Path, "/"), "?")
			method, known := contract.ParseMethod(step.Method)
			route, _ := table.Match(path)
			if !known || route == nil || step.Body == nil || step.ContentType == nil {
				continue
			}
			at := slices.IndexFunc(calls, func(c bodyCall) bool { return c.name != "" && c.name == route.Calls[method] })
			seed := recordedBody{uint8(at), *step.ContentType, *step.Body}
			if at >= 0 && slices.Contains([]string{"application/json", "text/xml", "text/plain"}, seed.contentType) && !slices.Contains(bodies, seed) {
				bodies = append(bodies, seed)
			}
		}
	}
	if len(bodies) < 300 {
		t.Errorf("only %d bodies", len(bodies))
	}
	return bodies
}

// checkWellFormed parses a body according to its content type.
func checkWellFormed(t testing.TB, what string, r resource.Response) {
	t.Helper()
	var err error
	switch r.ContentType {
	case typeJSON:
		if !json.Valid(r.Body) {
			err = io.ErrUnexpectedEOF
		}
	case typeXML:
		for d := xml.NewDecoder(strings.NewReader(string(r.Body))); err == nil; {
			_, err = d.Token()
		}
		if err == io.EOF {
			err = nil
		}
	case typeText:
		_, err = url.ParseQuery(string(r.Body))
	}
	if err != nil {
		t.Fatalf("%s: %s is not well-formed (%v): %.1000q", what, r.ContentType, err, r.Body)
	}
}

// checkStockValues checks the values of an item against the kinds of its attributes
// (stock_orders 2.1). Flags and backorders need only be integers, because an update of the
// product stores values that it does not check (products 7.1).
func checkStockValues(t *testing.T, item map[string]string) {
	t.Helper()
	for name, value := range item {
		form := wholeForm
		switch name {
		case "item_id", "product_id", "stock_id":
			if value != "1" {
				t.Errorf("%s became %q", name, value)
			}
			continue
		case "qty", "min_qty", "min_sale_qty", "max_sale_qty", "notify_stock_qty", "qty_increments":
			form = decimalForm
		case "low_stock_date":
			form = timeForm
		}
		if !form.MatchString(value) && !(name == "notify_stock_qty" && value == "null") {
			t.Errorf("%s became %q", name, value)
		}
	}
}
