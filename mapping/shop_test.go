package mapping_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/memstore"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/credentials"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/handlers"
	"github.com/portico-commerce/portico/mapping/pipeline"
	"github.com/portico-commerce/portico/mapping/resource"
)

// now is the time of every save in these tests.
const now = "2013-02-03 04:05:06"

const (
	bodyBytes  = 8 << 20
	queryBytes = 256 << 10
)

// A shop is a service on a store of its own.
type shop struct {
	service        *mapping.Service
	dialect        *contract.Dialect
	items          adapter.Store
	direct         *store // bypasses the service, and any adapter between it and the store
	log            *testenv.Log
	authorizations map[contract.Role]string // Authorization header by role
	purge          func()                   // empties the caches of credentials and roles
	// reset restores the content that the store had when the shop was opened.
	reset func(t testing.TB)
}

// A store holds the records of a shop, and the credentials of the demo store.
type store struct {
	adapter.Adapter
	credentials *credentials.Store
	path        string     // of the SQLite file; "" for one in memory
	roles       auth.Roles // nil: everybody may make all calls
	// save returns a function that restores the present content of the store, and reports
	// whether the content has changed since it was last called.
	save func(t testing.TB) (restore func(t testing.TB) (changed bool))
}

// settings returns the default settings.
func settings() mapping.Settings {
	moment, err := time.Parse(time.DateTime, now)
	if err != nil {
		panic(err)
	}
	return mapping.Settings{
		Settings: pipeline.Settings{
			BodyBytes:  bodyBytes,
			QueryBytes: queryBytes,
			MaxRows:    1000,
			Now:        func() time.Time { return moment },
		},
		ImagePixels: 1 << 20,
		Customers:   handlers.CustomerSettings{PasswordCost: bcrypt.MinCost},
		Stock:       handlers.StockSettings{NotifyQty: 1, ManageStock: true},
		Products:    handlers.ProductSettings{AttributeSets: []string{"4"}, TaxClasses: []string{"0", "2", "4"}, Themes: []string{"base/default", "default/default"}},
	}
}

// loadDemo returns a demo store that the test may change.
func loadDemo(t testing.TB) *adapter.Dataset {
	t.Helper()
	data, err := dataset.Load()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// openDemo returns the demo store in memory, which is faster than a database. Tests use a
// SQLite file only if they look into it, if they send values that a database might refuse
// or take for something else, or if they send writes at the same time.
func openDemo(t testing.TB) *store {
	t.Helper()
	return inMemory(t, demotest.Memory(t))
}

// openStore returns a store in memory that holds data.
func openStore(t testing.TB, data *adapter.Dataset) *store {
	t.Helper()
	records := memstore.New(memstore.Options{})
	if err := records.Load(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	return inMemory(t, records)
}

// inMemory returns a store of records in memory. The credentials are in a SQLite file.
func inMemory(t testing.TB, records *memstore.Adapter) *store {
	t.Helper()
	credentials := openFile(t, sqlstore.Options{DSN: demotest.SQLite(t)}).Credentials()
	save := func(t testing.TB) func(t testing.TB) bool {
		t.Helper()
		saved, err := records.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		return func(t testing.TB) (changed bool) {
			t.Helper()
			now, err := records.Snapshot()
			if err == nil && now != saved {
				err = records.Restore(t.Context(), saved)
			}
			if err != nil {
				t.Fatal(err)
			}
			return now != saved
		}
	}
	return &store{Adapter: records, credentials: credentials, save: save}
}

// openSQLiteDemo returns the demo store in a SQLite file.
func openSQLiteDemo(t testing.TB) *store {
	t.Helper()
	return openSQLite(t, demotest.SQLite(t), nil, nil)
}

// openSQLiteStore returns a store in a SQLite file that holds data, with the given
// schemas.
func openSQLiteStore(t testing.TB, data *adapter.Dataset, schemas *adapter.Schemas) *store {
	t.Helper()
	return openSQLite(t, "sqlite:"+filepath.Join(t.TempDir(), "shop.db"), data, schemas)
}

// openSQLite opens a SQLite file, and loads data into it unless that is nil.
func openSQLite(t testing.TB, dsn string, data *adapter.Dataset, schemas *adapter.Schemas) *store {
	t.Helper()
	path := strings.TrimPrefix(dsn, "sqlite:")
	db := openFile(t, sqlstore.Options{DSN: dsn, MediaDir: engine.MediaDir(path), Migrate: data != nil, Schemas: schemas})
	if data != nil {
		if err := db.Load(t.Context(), data, nil); err != nil {
			t.Fatal(err)
		}
	}
	return &store{Adapter: db.Adapter(), credentials: db.Credentials(), path: path, save: func(t testing.TB) func(t testing.TB) bool { return saveFile(t, path) }}
}

// openFile opens a database for the duration of a test.
func openFile(t testing.TB, o sqlstore.Options) *sqlstore.DB {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// saveFile saves a SQLite file. Restoring it is faster than sqlstore.DB.Reset, and removes
// all media files.
func saveFile(t testing.TB, path string) (restore func(t testing.TB) (changed bool)) {
	t.Helper()
	saved := demotest.Save(t, path)
	return func(t testing.TB) bool {
		t.Helper()
		changed, err := saved.Changed()
		if err == nil && changed {
			err = saved.Restore()
		}
		if err != nil {
			t.Fatal(err)
		}
		if changed {
			removeFiles(t, engine.MediaDir(path))
		}
		return changed
	}
}

// exec changes the SQLite file of s, bypassing the adapter.
func (s *store) exec(t testing.TB, statements string, args ...any) {
	t.Helper()
	raw, err := sql.Open("sqlite", "file:"+s.path)
	if err == nil {
		_, err = raw.ExecContext(t.Context(), statements, args...)
		err = errors.Join(err, raw.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// authenticator returns an authenticator of the store's credentials.
func (s *store) authenticator() *auth.Authenticator {
	return auth.New(s.credentials, s.credentials, auth.Options{})
}

// authorization returns the Authorization header of a caller that signs with a token.
func authorization(data *adapter.Dataset, token adapter.Token) string {
	return fmt.Sprintf(`OAuth oauth_consumer_key="%s", oauth_token="%s", oauth_signature_method="PLAINTEXT", oauth_signature="%s%%26%s"`,
		data.Consumer.Key, token.Token, data.Consumer.Secret, token.Secret)
}

func openShop(t testing.TB, d *contract.Dialect) *shop {
	t.Helper()
	return openShopWith(t, d, settings(), nil)
}

// openShopWith opens a shop with its own settings; between, if not nil, may wrap the
// adapter between the service and the store.
func openShopWith(t testing.TB, d *contract.Dialect, s mapping.Settings, between func(adapter.Adapter) adapter.Adapter) *shop {
	t.Helper()
	return serveDemo(t, d, s, openDemo(t), between)
}

// openSQLiteShop is like openShop, with the demo store in a SQLite file.
func openSQLiteShop(t testing.TB, d *contract.Dialect) *shop {
	t.Helper()
	return serveDemo(t, d, settings(), openSQLiteDemo(t), nil)
}

// serveDemo serves a store that holds the demo store.
func serveDemo(t testing.TB, d *contract.Dialect, s mapping.Settings, store *store, between func(adapter.Adapter) adapter.Adapter) *shop {
	t.Helper()
	var backend adapter.Adapter = store
	if between != nil {
		backend = between(backend)
	}
	return serveShop(t, d, s, demotest.Data(t), store, backend)
}

// removeFiles empties a folder.
func removeFiles(t testing.TB, folder string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(folder, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

// serveShop serves store, which holds data, through backend.
func serveShop(t testing.TB, d *contract.Dialect, s mapping.Settings, data *adapter.Dataset, store *store, backend adapter.Adapter) *shop {
	t.Helper()
	return serveFields(t, d, contract.StandardFields(), s, data, store, backend)
}

// serveFields is serveShop with other fields than those of the contract.
func serveFields(t testing.TB, d *contract.Dialect, fields *contract.Fields, s mapping.Settings, data *adapter.Dataset, store *store, backend adapter.Adapter) *shop {
	t.Helper()
	items, err := store.Store(adapter.StockItems)
	if err != nil {
		t.Fatal(err)
	}
	log := &testenv.Log{}
	authenticator := auth.New(store.credentials, store.credentials, auth.Options{RSACrashes: d.UnverifiableCrash, Roles: store.roles})
	service, err := mapping.New(d, fields, backend, adapter.NewSchemas(), authenticator, s, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	shop := &shop{service: service, dialect: d, items: items, direct: store, log: log, authorizations: map[contract.Role]string{}}
	restore := store.save(t)
	shop.purge = authenticator.Purge
	shop.reset = func(t testing.TB) {
		t.Helper()
		if restore(t) {
			authenticator.Purge()
			service.InvalidateLists()
		}
	}
	for _, token := range data.Tokens {
		signed := authorization(data, token)
		switch {
		case token.AdminID != 0:
			shop.authorizations[contract.Admin] = signed
		case token.CustomerID == 1:
			shop.authorizations[contract.Customer] = signed
		}
	}
	return shop
}

// serve sends a request as role and returns the response. target is below /api/rest, or
// begins with /api/. header holds names and values in turn.
func (s *shop) serve(role contract.Role, method, target, body string, header ...string) resource.Response {
	return s.serveWith(context.Background(), role, method, target, body, header...)
}

// serveWith is like serve, with a context.
func (s *shop) serveWith(ctx context.Context, role contract.Role, method, target, body string, header ...string) resource.Response {
	if !strings.HasPrefix(target, "/api/") {
		target = "/api/rest" + target
	}
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if signed := s.authorizations[role]; signed != "" {
		r.Header.Set("Authorization", signed)
	}
	for pair := range slices.Chunk(header, 2) {
		r.Header[http.CanonicalHeaderKey(pair[0])] = append(r.Header.Values(pair[0]), pair[1])
	}
	return s.service.Serve(ctx, &resource.Request{HTTP: r, Scheme: "http"}, nil)
}

// put updates stock as Admin with a body of the given type, and requests JSON.
func (s *shop) put(target, contentType, body string) resource.Response {
	return s.serve(contract.Admin, "PUT", target, body, "Accept", "application/json", "Content-Type", contentType)
}

// itemValues are the values in which an item of these tests differs from the usual one.
type itemValues map[string]any

// storeItem replaces item id with the usual one, 100 in stock, and the given values.
func (s *shop) storeItem(t testing.TB, id int, special itemValues) {
	t.Helper()
	values := itemValues{"qty": "100.0000", "min_qty": "0.0000", "min_sale_qty": "1.0000", "max_sale_qty": "0.0000",
		"qty_increments": "0.0000", "notify_stock_qty": nil, "low_stock_date": nil, "is_in_stock": 1}
	err := s.items.Update(t.Context(), &adapter.UpdateParams{Key: adapter.Key(id), Change: func(current adapter.Record) (adapter.Record, error) {
		next := adapter.NewRecord(current.Schema)
		for i, a := range current.Schema.Attributes {
			if a.ReadOnly {
				continue
			}
			v, ok := special[a.Name]
			if !ok {
				v, ok = values[a.Name]
			}
			switch v := v.(type) {
			case string:
				next.Values[i] = adapter.TextValue(v)
			case int:
				next.Values[i] = adapter.IntegerValue(int64(v))
			case nil:
				next.Values[i] = adapter.NullValue()
				if !ok { // a flag
					next.Values[i] = adapter.IntegerValue(0)
					if strings.HasPrefix(a.Name, "use_config_") {
						next.Values[i] = adapter.IntegerValue(1)
					}
				}
			}
		}
		return next, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// item returns item id as stored: texts by attribute, "null" for null.
func (s *shop) item(t testing.TB, id int) map[string]string {
	t.Helper()
	record, err := s.items.Get(t.Context(), &adapter.GetParams{Key: adapter.Key(id)})
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for i, a := range record.Schema.Attributes {
		switch v := record.Values[i]; v.Kind() {
		case adapter.Absent:
		case adapter.Null:
			values[a.Name] = "null"
		default:
			values[a.Name] = v.Text()
		}
	}
	return values
}

// checkItem compares item id as stored with attributes and their values, given in turn.
func (s *shop) checkItem(t testing.TB, id int, want ...string) {
	t.Helper()
	item := s.item(t, id)
	for pair := range slices.Chunk(want, 2) {
		if item[pair[0]] != pair[1] {
			t.Errorf("item %d has %s %s, want %s", id, pair[0], item[pair[0]], pair[1])
		}
	}
}

// faults returns the entries of a JSON error envelope, each as "400 text".
func faults(t testing.TB, r resource.Response) []string {
	t.Helper()
	list, err := faultsIn(r)
	if err != nil {
		t.Fatalf("%d %s is not an envelope: %v", r.Status, r.Body, err)
	}
	return list
}

// faultsIn is like faults for a reply of any kind.
func faultsIn(r resource.Response) ([]string, error) {
	var envelope struct {
		Messages struct {
			Error []struct {
				Code    int
				Message string
			}
		}
	}
	if err := json.Unmarshal(r.Body, &envelope); err != nil {
		return nil, err
	}
	list := make([]string, len(envelope.Messages.Error))
	for i, e := range envelope.Messages.Error {
		list[i] = fmt.Sprintf("%d %s", e.Code, e.Message)
	}
	return list, nil
}

// checkRefused compares the entries of an error reply, each as "400 text"; the last one
// determines the status.
func checkRefused(t testing.TB, r resource.Response, want ...string) {
	t.Helper()
	if got := faults(t, r); !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	if status := want[len(want)-1][:3]; status != fmt.Sprint(r.Status) {
		t.Errorf("status %d, want %s", r.Status, status)
	}
}

func checkSaved(t testing.TB, r resource.Response) {
	t.Helper()
	if r.Status != 200 || len(r.Body) != 0 || r.Location != "" {
		t.Errorf("got %d %s, location %q, want 200 with an empty body", r.Status, r.Body, r.Location)
	}
}

// checkReply compares the status, content type and body of a reply.
func checkReply(t testing.TB, r resource.Response, status int, contentType, body string) {
	t.Helper()
	if r.Status != status || r.ContentType != contentType || string(r.Body) != body {
		t.Errorf("got  %d %s %s\nwant %d %s %s", r.Status, r.ContentType, r.Body, status, contentType, body)
	}
}

const (
	typeJSON = "application/json; charset=utf-8"
	typeXML  = "application/xml; charset=utf-8"
	typeText = "text/plain; charset=utf-8"
	typeHTML = "text/html; charset=UTF-8"
)

// bothDialects returns documented and magento. What openmage has otherwise than magento is held by
// TestOpenMage, by the recordings and by the suite.
func bothDialects() []*contract.Dialect {
	return []*contract.Dialect{contract.Documented(), contract.Magento()}
}

// inBothDialects runs a test in each dialect, on a shop of its own.
func inBothDialects(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Helper()
	for _, d := range bothDialects() {
		t.Run(d.Name, func(t *testing.T) { test(t, openShop(t, d)) })
	}
}

// inBothDialectsOnSQLite is like inBothDialects, with the demo store in SQLite files.
func inBothDialectsOnSQLite(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Helper()
	for _, d := range bothDialects() {
		t.Run(d.Name, func(t *testing.T) { test(t, openSQLiteShop(t, d)) })
	}
}

func (s *shop) documented() bool { return s.dialect.Name == "documented" }

// text returns the text for the shop's dialect.
func (s *shop) text(documented, magento string) string {
	if s.documented() {
		return documented
	}
	return magento
}
