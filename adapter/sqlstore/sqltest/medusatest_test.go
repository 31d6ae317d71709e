//go:build linux

package sqltest_test

import (
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"net/http"
	"testing"
)

// TestStartMedusa checks that a server answers administrators and has the objects that products
// need.
func TestStartMedusa(t *testing.T) {
	m := sqltest.StartMedusa(t)
	if m.URL == "" || m.User == "" || m.Password == "" || m.Currency == "" || m.Region == "" || m.Location == "" || m.Profile == "" {
		t.Errorf("%+v", m)
	}
	reply := m.Call(t, http.MethodGet, "/admin/stock-locations/"+m.Location, nil)
	if got := sqltest.LiveValue(reply, "stock_location.id"); got != m.Location {
		t.Errorf("the location is %v", got)
	}
}
