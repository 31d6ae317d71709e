package httpapi_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/httpapi"
	"github.com/portico-commerce/portico/mapping/pipeline"
)

// openDemoStore returns a database in dir with the demo store.
func openDemoStore(ctx context.Context, dir string) (*sqlstore.DB, error) {
	data, err := dataset.Load()
	if err != nil {
		return nil, err
	}
	db, err := sqlstore.Open(ctx, sqlstore.Options{DSN: "sqlite:" + filepath.Join(dir, "demo.db"), MediaDir: filepath.Join(dir, "media"), Migrate: true})
	if err != nil {
		return nil, err
	}
	return db, db.Load(ctx, data, nil)
}

// A program with a gin engine of its own serves the contract on it, beside a route of its own.
// Its middleware before Portico's adds a header to every reply. Its middleware after Portico's
// sees which call a request is, and refuses some.
func ExampleMount() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := openDemoStore(context.Background(), dir)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()

	credentials := db.Credentials()
	service, err := mapping.New(contract.Documented(), contract.StandardFields(), db.Adapter(), adapter.NewSchemas(),
		auth.New(credentials, credentials, auth.Options{}),
		mapping.Settings{Settings: pipeline.Settings{BodyBytes: 1 << 20, QueryBytes: 1 << 16, MaxRows: 100_000, Now: time.Now}}, slog.New(slog.DiscardHandler))
	if err != nil {
		log.Fatal(err)
	}
	metrics := httpapi.NewMetrics(prometheus.NewRegistry())

	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.Use(func(c *gin.Context) { c.Header("X-Served-By", "our shop") })
	engine.GET("/opening-hours", func(c *gin.Context) { c.String(http.StatusOK, "9 to 5") })
	err = httpapi.Mount(engine, service, httpapi.Options{Log: slog.New(slog.DiscardHandler), Metrics: metrics, OpenMedia: db.OpenMedia})
	if err != nil {
		log.Fatal(err)
	}
	engine.Use(func(c *gin.Context) {
		address := httpapi.AddressOf(c)
		c.Header("X-Call", address.Name())
		if address.Route != nil && !address.ReadOnly {
			c.AbortWithStatusJSON(http.StatusServiceUnavailable, gin.H{"message": "we are taking stock: " + address.Route.Help})
		}
	})

	for _, request := range []*http.Request{
		httptest.NewRequest("GET", "/api/rest/products/1?attrs=sku", nil),
		httptest.NewRequest("PUT", "/api/rest/stockitems/1", nil),
		httptest.NewRequest("GET", "/opening-hours", nil),
	} {
		request.Header.Set("Accept", "application/json")
		reply := httptest.NewRecorder()
		engine.ServeHTTP(reply, request)
		fmt.Println(reply.Code, reply.Body)
		fmt.Printf("  from %s, call %q\n", reply.Header().Get("X-Served-By"), reply.Header().Get("X-Call"))
	}
	// Output:
	// 200 {"sku":"kettle-steel"}
	//   from our shop, call "getProduct"
	// 503 {"message":"we are taking stock: one stock item"}
	//   from our shop, call "updateStockItem"
	// 200 9 to 5
	//   from our shop, call ""
}
