package app

import (
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/mapping/httpapi"
)

// TestMiddleware checks that the middleware of both options sees the requests of a shop in a
// subdirectory, each on its side of Portico's own, and that it may refuse them.
func TestMiddleware(t *testing.T) {
	t.Parallel()
	db := apptest.OpenRecords(t, sqlstore.Options{DSN: demotest.SQLite(t)})
	sign := func(header string) gin.HandlerFunc {
		return func(c *gin.Context) {
			address := httpapi.AddressOf(c)
			c.Header(header, address.Name())
		}
	}
	refuse := func(c *gin.Context) {
		if !httpapi.AddressOf(c).ReadOnly {
			c.AbortWithStatus(http.StatusTeapot)
		}
	}
	p := newProgram(WithOuterMiddleware(sign("X-Outer")), WithMiddleware(sign("X-Inner"), refuse))
	_, server := serveProgram(t, p, db, demotest.Data(t), "documented", belowShop)
	for _, tt := range []struct {
		method, path string
		status       int
		inner        string
	}{
		{http.MethodGet, basePath + "/api/rest/products/1", http.StatusOK, "getProduct"},
		{http.MethodDelete, basePath + "/api/rest/products/1", http.StatusTeapot, "deleteProduct"},
		{http.MethodGet, "/api/rest/products/1", http.StatusNotFound, ""}, // outside: Portico has refused it
	} {
		request, err := http.NewRequestWithContext(t.Context(), tt.method, server.URL+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		outer, inner := response.Header.Get("X-Outer"), response.Header.Get("X-Inner")
		if response.StatusCode != tt.status || outer != "other" || inner != tt.inner {
			t.Errorf("%s %s: %d, outer %q, inner %q", tt.method, tt.path, response.StatusCode, outer, inner)
		}
	}
}
