package mapping_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
)

// TestWith checks that a service applies the fields and all settings but those that it documents, and
// that the service it comes from does not change.
func TestWith(t *testing.T) {
	const wholeList = "/products?limit=0"
	long := `{"qty": 1, "x": "` + strings.Repeat("x", 200) + `"}`
	longer := `{"qty": 1, "x": "` + strings.Repeat("x", 64<<10) + `"}`
	tests := []struct {
		name   string
		change func(*mapping.Settings)
		check  func(*shop) int // the status of a request
		before int
		after  int
	}{
		{"body", func(s *mapping.Settings) { s.BodyBytes = 100 }, func(s *shop) int {
			return s.put("/stockitems/1", "application/json", long).Status
		}, 200, 400},
		{"Guests' rows", func(s *mapping.Settings) { s.GuestMaxRows = 1 }, func(s *shop) int {
			return s.serve(contract.Guest, "GET", wholeList, "").Status
		}, 200, 400},
		{"text to match", func(s *mapping.Settings) { s.MatchBytes = 1 }, func(s *shop) int {
			return s.serve(contract.Guest, "GET", filtered("regexp", "a"), "").Status
		}, 200, 503},
		{"rate", func(s *mapping.Settings) { s.ConsumerRate, s.ConsumerBurst = 0.1, 1 }, func(s *shop) int {
			s.serve(contract.Admin, "GET", "/stockitems/1", "")
			return s.serve(contract.Admin, "GET", "/stockitems/1", "").Status
		}, 200, 429},
		{"query", func(s *mapping.Settings) { s.QueryBytes = 1 }, func(s *shop) int {
			return s.serve(contract.Guest, "GET", wholeList, "").Status
		}, 200, 400},
		{"a field list", nil, func(s *shop) int { return s.serve(contract.Guest, "GET", filtered("like", "a%"), "").Status }, 200, 400},
		{"sold-out products", func(s *mapping.Settings) { s.Stock.HideSoldOut = true }, func(s *shop) int {
			return len(s.listedIDs(t, contract.Guest, "/products?limit=100"))
		}, 8, 7},
		{"a setting that it does not take over", func(s *mapping.Settings) { s.RequestBytes = 1 }, func(s *shop) int {
			return s.put("/stockitems/1", "application/json", longer).Status
		}, 200, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := openShop(t, contract.Documented())
			changed, options := settings(), contract.FieldOptions{}
			if tt.change == nil {
				options.Narrowed = []contract.NarrowedFields{{Resource: "products", Role: contract.Guest, Read: []string{"sku"}}}
			} else {
				tt.change(&changed)
			}
			fields, err := contract.NewFields(options)
			if err != nil {
				t.Fatal(err)
			}
			after := *before
			if after.service, err = before.service.With(fields, changed); err != nil {
				t.Fatal(err)
			}
			for _, one := range []struct {
				name string
				shop *shop
				want int
			}{{"before", before, tt.before}, {"after", &after, tt.after}, {"before, again", before, tt.before}} {
				if got := tt.check(one.shop); got != one.want {
					t.Errorf("%s: %d, want %d", one.name, got, one.want)
				}
			}
		})
	}
}

// TestSoldOutAcrossSettings checks that a list without sold-out products, cached under one
// configuration, ends with a sale that a service with another configuration makes.
func TestSoldOutAcrossSettings(t *testing.T) {
	hiding := hidingSoldOut()
	hiding.ReplyCache = newReplyCache(t, hiding.Now)
	hiding.Fingerprint = "hiding"
	s := openShopWith(t, contract.Documented(), hiding, nil)
	showing := hiding
	showing.Stock.HideSoldOut, showing.Fingerprint = false, "showing"
	all := *s
	var err error
	if all.service, err = s.service.With(contract.StandardFields(), showing); err != nil {
		t.Fatal(err)
	}
	const list = "/products?limit=2&page=1"
	for i, qty := range []string{"0", "5", "0"} {
		for _, one := range []*shop{s, &all} {
			one.guestRead(list)
			if _, outcome := one.guestRead(list); outcome != "hit" {
				t.Errorf("%s before sale %d", outcome, i)
			}
		}
		before := s.listedIDs(t, contract.Guest, list)
		checkSaved(t, all.put("/stockitems/1", "application/json", `{"is_in_stock":`+map[string]string{"0": "0", "5": "1"}[qty]+`,"qty":`+qty+`}`))
		if got := s.listedIDs(t, contract.Guest, list); slices.Equal(got, before) || slices.Contains(got, 1) != (qty != "0") {
			t.Errorf("after sale %d: %v, before it %v", i, got, before)
		}
		if _, outcome := all.guestRead(list); outcome != "hit" {
			t.Errorf("a list of all products: %s", outcome)
		}
	}
}
