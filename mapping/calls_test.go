package mapping_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
)

// recorder is an adapter that writes down which stores are asked.
type recorder struct {
	adapter.Adapter
	asked *[]adapter.Resource
}

func (r recorder) Store(resource adapter.Resource) (adapter.Store, error) {
	store, err := r.Adapter.Store(resource)
	return recordedStore{store, resource, r.asked}, err
}

type recordedStore struct {
	adapter.Store
	resource adapter.Resource
	asked    *[]adapter.Resource
}

func (s recordedStore) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	*s.asked = append(*s.asked, s.resource)
	return s.Store.List(ctx, p)
}

func (s recordedStore) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	*s.asked = append(*s.asked, s.resource)
	return s.Store.Get(ctx, p)
}

// TestProductReadsAskLittle counts what a read of products asks of the upstream.
// Of a product the SQL adapter reads the values of a store view and all prices by
// one statement more.
func TestProductReadsAskLittle(t *testing.T) {
	data, err := demo.Load()
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: filepath.Join(t.TempDir(), "shop.db"), Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Load(t.Context(), data, nil); err != nil {
		t.Fatal(err)
	}
	var asked []adapter.Resource
	credentials := db.Credentials()
	now := time.Date(2013, 1, 1, 0, 0, 0, 0, time.UTC)
	service, err := mapping.New(contract.Documented(), recorder{db.Adapter(), &asked}, adapter.NewSchemas(),
		auth.New(credentials, credentials, auth.Options{}),
		mapping.Settings{BodyBytes: 1 << 20, QueryBytes: 1 << 16, MaxRows: 1000, Now: func() time.Time { return now },
			Prices: mapping.PriceSettings{TaxCountry: "US", TaxRegion: "CA"}},
		slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(path string) {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "/api/rest"+path, nil)
		if response := service.Serve(t.Context(), r, "http", nil); response.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, response.Status, response.Body)
		}
	}
	ask("/products/1") // reads the shop, which is then kept
	for _, c := range []struct {
		path string
		want []adapter.Resource
	}{
		{"/products/1", []adapter.Resource{adapter.Products, adapter.StockItems}},
		{"/products/kettle-steel", []adapter.Resource{adapter.Products, adapter.StockItems}},
		{"/products/1?attrs=name,url", []adapter.Resource{adapter.Products}},
		{"/products", []adapter.Resource{adapter.Products}},
		{"/products?limit=0", []adapter.Resource{adapter.Products}},
		{"/products/store/2/category/3", []adapter.Resource{adapter.Categories, adapter.Products}},
		{"/products?page=2&limit=5", []adapter.Resource{adapter.Products}},
	} {
		t.Run(c.path, func(t *testing.T) {
			asked = nil
			if ask(c.path); !slices.Equal(asked, c.want) {
				t.Errorf("asked %v, want %v", asked, c.want)
			}
		})
	}

	asked, now = nil, now.Add(11*time.Second)
	ask("/products?limit=1")
	if !slices.Contains(asked, adapter.Stores) {
		t.Error("the shop is not read again after its time")
	}
}
