package mapping_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
)

var (
	decimalForm = regexp.MustCompile(`^-?[0-9]{1,8}\.[0-9]{4}$`)
	flagForm    = regexp.MustCompile(`^[01]$`)
	timeForm    = regexp.MustCompile(`^([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}|null)$`)
)

// FuzzStockBody sends a body to both stock updates in both dialects: the answer
// is one of those the contract has and well-formed, nothing is logged as a
// mistake of ours, and what is stored keeps the form of its kind.
func FuzzStockBody(f *testing.F) {
	for _, seed := range []struct{ contentType, body string }{
		{"application/json", `{"qty":"5"}`},
		{"application/json", `[{"item_id":1,"qty":"1,5"},{"item_id":"x"},7]`},
		{"application/json", `{"a":{"item_id":1e400,"qty":true,"product_id":""}}`},
		{"application/json", `{"item_id":[1],"qty":0.00004,"min_qty":"1,234.5","use_config_min_qty":"0\n"}`},
		{"application/json", `[{"item_id":{"a b":[[],{"<":"&\u0000\ud83d\ude00"}]}}]`},
		{"text/xml", `<r><data_item item_id="1"><qty>7</qty></data_item><x/></r>`},
		{"text/xml; charset=utf-8", ` {"qty":1e20,"backorders":","}`},
		{"application/xml", `<!DOCTYPE r [<!ENTITY e "12abc">]><r qty="&e;"><is_in_stock>1</is_in_stock></r>`},
		{"text/plain", "0[item_id]=1&0[qty]=%FF&1[item_id][]=2"},
		{"text/plain", "qty=-99e99x&notify_stock_qty=1e300"},
	} {
		f.Add(seed.contentType, []byte(seed.body), uint8(len(seed.body)))
	}
	var shops []*shop
	for _, d := range contract.Dialects() {
		shops = append(shops, openShop(f, d))
	}
	f.Fuzz(func(t *testing.T, contentType string, body []byte, accept uint8) {
		types := []string{"application/json", "text/xml", "text/plain"}
		for _, s := range shops {
			for _, target := range []string{"/stockitems/1", "/stockitems"} {
				before := s.item(t, 1)
				r := s.serve(contract.Admin, "PUT", target, string(body), "Accept", types[int(accept)%3], "Content-Type", contentType)
				after := s.item(t, 1)
				checkAnswer(t, target, r)
				checkForms(t, after)
				if r.Status >= 400 && fmt.Sprint(before) != fmt.Sprint(after) {
					t.Errorf("%s: %d, and yet %v became %v", target, r.Status, before, after)
				}
				if log := s.log.String(); log != "" {
					t.Fatalf("logged: %s", log)
				}
			}
		}
	})
}

func checkAnswer(t *testing.T, target string, r mapping.Response) {
	t.Helper()
	single := target != "/stockitems"
	switch {
	case r.Status == 200 && single && len(r.Body) == 0:
		return
	case r.Status == 207 && !single && (r.ContentType != typeHTML || len(r.Body) == 0):
	case r.Status == 400 && r.ContentType != typeHTML:
	case r.Status == 500 && r.ContentType == typeHTML && len(r.Body) == 0: // the original's crash
	case r.Status == 500 && single && strings.Contains(string(r.Body), "nternal"):
	default:
		t.Fatalf("%s: %d %s %q", target, r.Status, r.ContentType, r.Body)
	}
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
		t.Fatalf("%s: %s is not well-formed (%v): %q", target, r.ContentType, err, r.Body)
	}
}

// checkForms holds an item against the kinds of its attributes (stock 2.1).
func checkForms(t *testing.T, item map[string]string) {
	t.Helper()
	for name, value := range item {
		form := flagForm
		switch name {
		case "item_id", "product_id", "stock_id":
			if value != "1" {
				t.Errorf("%s became %q", name, value)
			}
			continue
		case "qty", "min_qty", "min_sale_qty", "max_sale_qty", "notify_stock_qty", "qty_increments":
			form = decimalForm
		case "backorders":
			form = regexp.MustCompile(`^[012]$`)
		case "low_stock_date":
			form = timeForm
		}
		if !form.MatchString(value) && !(name == "notify_stock_qty" && value == "null") {
			t.Errorf("%s became %q", name, value)
		}
	}
}
