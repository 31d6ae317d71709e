package mapping_test

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// TestTimeZoneOfReplies checks which replies show a time in the shop's time zone (configurations 1.1):
// created_at of records that are read alone, in the dialect magento.
func TestTimeZoneOfReplies(t *testing.T) {
	zone, err := time.LoadLocation("Asia/Kolkata")
	if err != nil {
		t.Fatal(err)
	}
	with := settings()
	with.Regional.Zone = zone
	created := regexp.MustCompile(`created_at"?[:>]"?([-0-9]{10}[ T][0-9:]{8}(?:[-+][0-9:]{5})?)`)
	for _, d := range contract.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			s := serveDemo(t, d, with, openDemo(t), nil)
			for _, tt := range []struct {
				role   contract.Role
				target string
				local  bool
			}{
				{contract.Admin, "/products/1?attrs=created_at", true},
				{contract.Admin, "/products/1/store/2?attrs=created_at", true},
				{contract.Guest, "/products/1?attrs=created_at", true},
				{contract.Customer, "/products/kettle-steel?attrs=created_at", true},
				{contract.Admin, "/customers/1?attrs=created_at", true},
				{contract.Customer, "/customers/1?attrs=created_at", true},
				{contract.Admin, "/customers/addresses/1?attrs=created_at", true},
				{contract.Admin, "/products?attrs=created_at", false},
				{contract.Guest, "/products?attrs=created_at", false},
				{contract.Admin, "/customers?attrs=created_at", false},
				{contract.Admin, "/customers/1/addresses?attrs=created_at", false},
				{contract.Admin, "/orders/1?attrs=created_at", false},
				{contract.Admin, "/orders?attrs=created_at", false},
			} {
				for _, accept := range []string{"application/json", "text/xml"} {
					r := s.serve(tt.role, "GET", tt.target, "", "Accept", accept)
					found := created.FindSubmatch(r.Body)
					if found == nil {
						t.Errorf("%s, %s: %d %s", tt.role, tt.target, r.Status, r.Body)
						continue
					}
					if got, want := strings.Contains(string(found[1]), "+05:30"), tt.local && !s.documented(); got != want {
						t.Errorf("%s, %s, %s: %s", tt.role, tt.target, accept, found[1])
					}
				}
			}
			if r := s.serve(contract.Admin, "GET", "/products/1?attrs=updated_at", "", "Accept", "application/json"); strings.Contains(string(r.Body), "T") {
				t.Errorf("updated_at is local: %s", r.Body)
			}
		})
	}
}

// TestLocaleOfDates checks that dates of products are read in the order of the shop's locale
// (configurations 1.2), and that numbers are not.
func TestLocaleOfDates(t *testing.T) {
	with := settings()
	with.Regional.Locale = contract.LocaleOf("de_DE")
	for _, d := range contract.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			s := serveDemo(t, d, with, openDemo(t), nil)
			for _, tt := range []struct{ sent, want string }{
				{"03/04/2013", "2013-04-03 00:00:00"},
				{"2014-03-04T10:00:00+02:00", "2014-03-04 10:00:00"},
				{"2015-03-04", "2015-03-04 00:00:00"},
				{"4. Mai 2016", "2016-05-04 00:00:00"},
			} {
				if r := s.send("PUT", "/products/2", `{"news_from_date":"`+tt.sent+`"}`); r.Status != 200 {
					t.Errorf("%s: %d %s", tt.sent, r.Status, r.Body)
				}
				s.checkFields(t, "/products/2", "news_from_date", "news_from_date:"+tt.want)
			}
			for _, body := range []string{`{"news_from_date":"4 May 2016"}`, `{"price":"12,5"}`} {
				if r := s.send("PUT", "/products/2", body); r.Status != 400 {
					t.Errorf("%s: %d %s", body, r.Status, r.Body)
				}
			}
		})
	}
}

// TestAddressesOfReplies checks that products show pages and images at their addresses, and that
// Guests over http and https share no cached reply with the addresses of the other (configurations 2).
func TestAddressesOfReplies(t *testing.T) {
	with := settings()
	with.Links = resource.LinkSettings{
		PublicURL: "https://shop.example", LinkURL: "http://www.example", CodeInLinks: true, MediaURL: "http://cdn.example/m", SecureMediaURL: "https://cdn.example/m",
	}
	for _, d := range bothDialects() {
		t.Run(d.Name, func(t *testing.T) {
			pair := openCachedPair(t, d, with)
			image := pair.cached.addImage(t, "/products/1/images", "types", []string{"image"})
			for range 2 {
				for scheme, media := range map[string]string{"http": "http://cdn.example/m/catalog/product/", "https": "https://cdn.example/m/catalog/product/"} {
					for target, wanted := range map[string][]string{
						"/products/1": {
							`"url":"http://www.example/index.php/admin/catalog/product/view/id/1/`, `"buy_now_url":"http://www.example/index.php/admin/checkout/cart/add/uenc/`,
							`"image_url":"` + media + "cache/1/image/",
						},
						"/products/1/images":                       {`"url":"` + media},
						"/products?limit=1&attrs=image_url":        {`"image_url":"` + media},
						"/products/2?attrs=image_url":              {`"image_url":"https://shop.example/skin/`},
						strings.Replace(image, "/api/rest", "", 1): {`"url":"` + media},
					} {
						r := httptest.NewRequest("GET", "/api/rest"+target, nil)
						r.Header.Set("Accept", "application/json")
						got := pair.cached.service.Serve(t.Context(), &resource.Request{HTTP: r, Scheme: scheme}, nil)
						body := strings.ReplaceAll(string(got.Body), `\/`, "/")
						for _, want := range wanted {
							if !strings.Contains(body, want) {
								t.Errorf("%s over %s lacks %s: %d %s", target, scheme, want, got.Status, body)
							}
						}
					}
				}
			}
		})
	}
}
