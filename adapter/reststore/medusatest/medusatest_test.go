//go:build linux

package medusatest_test

import (
	"net/http"
	"testing"

	"github.com/portico-commerce/portico/adapter/reststore/livebackend"
	"github.com/portico-commerce/portico/adapter/reststore/medusatest"
)

// TestStart checks that a server answers administrators and has the objects that products
// need.
func TestStart(t *testing.T) {
	m := medusatest.Start(t)
	if m.URL == "" || m.User == "" || m.Password == "" || m.Currency == "" || m.Region == "" || m.Location == "" || m.Profile == "" {
		t.Errorf("%+v", m)
	}
	reply := m.Call(t, http.MethodGet, "/admin/stock-locations/"+m.Location, nil)
	if got := livebackend.At(reply, "stock_location.id"); got != m.Location {
		t.Errorf("the location is %v", got)
	}
}
