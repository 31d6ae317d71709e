//go:build linux

package sqltest_test

import (
	"encoding/json"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"testing"
)

// TestStartVendure checks that a server answers administrators and has the objects that products
// and addresses need.
func TestStartVendure(t *testing.T) {
	v := sqltest.StartVendure(t)
	if v.URL == "" || v.User == "" || v.Password == "" || v.Location == "" || v.Imported == "" {
		t.Errorf("%+v", v)
	}
	data := v.Call(t, `query ($location: ID!) {
		stockLocation(id: $location) { id } activeChannel { defaultTaxZone { id } }
		countries(options: {filter: {code: {eq: "US"}}}) { totalItems } taxCategories { totalItems }
	}`, map[string]any{"location": v.Location})
	if sqltest.LiveValue(data, "stockLocation.id") != v.Location || sqltest.LiveValue(data, "activeChannel.defaultTaxZone.id") == nil || sqltest.LiveValue(data, "taxCategories.totalItems") != json.Number("1") ||
		sqltest.LiveValue(data, "countries.totalItems") != json.Number("1") {
		t.Errorf("%v", data)
	}
}
