//go:build linux

package venduretest_test

import (
	"encoding/json"
	"testing"

	"github.com/portico-commerce/portico/adapter/reststore/livebackend"
	"github.com/portico-commerce/portico/adapter/reststore/venduretest"
)

// TestStart checks that a server answers administrators and has the objects that products
// and addresses need.
func TestStart(t *testing.T) {
	v := venduretest.Start(t)
	if v.URL == "" || v.User == "" || v.Password == "" || v.Location == "" || v.Imported == "" {
		t.Errorf("%+v", v)
	}
	data := v.Call(t, `query ($location: ID!) {
		stockLocation(id: $location) { id } activeChannel { defaultTaxZone { id } }
		countries(options: {filter: {code: {eq: "US"}}}) { totalItems } taxCategories { totalItems }
	}`, map[string]any{"location": v.Location})
	if livebackend.At(data, "stockLocation.id") != v.Location || livebackend.At(data, "activeChannel.defaultTaxZone.id") == nil || livebackend.At(data, "taxCategories.totalItems") != json.Number("1") ||
		livebackend.At(data, "countries.totalItems") != json.Number("1") {
		t.Errorf("%v", data)
	}
}
