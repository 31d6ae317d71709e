package mapping_test

import (
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
)

// TestWithSettings checks that a service applies exactly the settings that it documents, and
// that the service it comes from does not change.
func TestWithSettings(t *testing.T) {
	const wholeList = "/products?limit=0"
	long := `{"qty": 1, "x": "` + strings.Repeat("x", 200) + `"}`
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
		{"a setting that it does not take over", func(s *mapping.Settings) { s.QueryBytes = 1 }, func(s *shop) int {
			return s.serve(contract.Guest, "GET", wholeList, "").Status
		}, 200, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := openShop(t, contract.Documented())
			changed := settings()
			tt.change(&changed)
			after := *before
			var err error
			if after.service, err = before.service.WithSettings(changed); err != nil {
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
