package mapping_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/adapter/demo/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
)

// now is the moment at which every save of these tests happens.
const now = "2013-02-03 04:05:06"

const (
	bodyBytes  = 8 << 20
	queryBytes = 256 << 10
)

// A shop is a service on the demo store, kept in a file of its own.
type shop struct {
	service        *mapping.Service
	dialect        *contract.Dialect
	items          adapter.Store
	direct         adapter.Adapter // what is stored, past the service
	log            *syncBuffer
	authorizations map[contract.Role]string // Authorization by role
	path           string                   // of the SQLite file
	// reset puts the demo store back.
	reset func(t testing.TB)
}

// safeBuffer is a log that requests may write at the same time.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// settings are those of a store that has changed none.
func settings() mapping.Settings {
	moment, err := time.Parse(time.DateTime, now)
	if err != nil {
		panic(err)
	}
	return mapping.Settings{
		BodyBytes: bodyBytes, QueryBytes: queryBytes, MaxRows: 1000, ImagePixels: 1 << 20, PasswordCost: bcrypt.MinCost,
		Stock:    mapping.StockSettings{NotifyQty: 1, ManageStock: true},
		Products: mapping.ProductSettings{AttributeSets: []string{"4"}, TaxClasses: []string{"0", "2", "4"}, Themes: []string{"base/default", "default/default"}},
		Now:      func() time.Time { return moment },
	}
}

func loadDemo(t testing.TB) *adapter.Dataset {
	t.Helper()
	data, err := demo.Load()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// openDemo opens the demo store, in the SQLite file path.
func openDemo(t testing.TB) (db *sqlstore.DB, path string) {
	t.Helper()
	path = strings.TrimPrefix(demotest.SQLite(t), "sqlite:")
	return openFile(t, path, nil), path
}

// openStore opens a store that holds data, in the SQLite file path.
func openStore(t testing.TB, data *adapter.Dataset) (db *sqlstore.DB, path string) {
	t.Helper()
	return openStoreOf(t, data, adapter.NewSchemas())
}

// openStoreOf opens a store of records of schemas.
func openStoreOf(t testing.TB, data *adapter.Dataset, schemas *adapter.Schemas) (db *sqlstore.DB, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "shop.db")
	db = openFile(t, path, schemas)
	if err := db.Load(t.Context(), data, nil); err != nil {
		t.Fatal(err)
	}
	return db, path
}

// openFile opens the SQLite file path, and closes it when the test ends.
func openFile(t testing.TB, path string, schemas *adapter.Schemas) *sqlstore.DB {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: path, MediaDir: sqlstore.MediaDir(path), Migrate: true, Schemas: schemas})
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

// authorization returns the header of a caller that signs by the given token.
func authorization(data *adapter.Dataset, token adapter.Token) string {
	return fmt.Sprintf(`OAuth oauth_consumer_key="%s", oauth_token="%s", oauth_signature_method="PLAINTEXT", oauth_signature="%s%%26%s"`,
		data.Consumer.Key, token.Token, data.Consumer.Secret, token.Secret)
}

func openShop(t testing.TB, d *contract.Dialect) *shop {
	t.Helper()
	return openShopWith(t, d, settings(), nil)
}

// openShopWith opens a shop with settings of its own; between, if not nil, may
// put something between the service and the store.
func openShopWith(t testing.TB, d *contract.Dialect, s mapping.Settings, between func(adapter.Adapter) adapter.Adapter) *shop {
	t.Helper()
	data := demotest.Data(t)
	db, path := openDemo(t)
	var upstream adapter.Adapter = db.Adapter()
	if between != nil {
		upstream = between(upstream)
	}
	opened := serveShop(t, d, s, data, db, upstream)
	opened.path = path
	return opened
}

// serveShop serves db, which holds data, through upstream.
func serveShop(t testing.TB, d *contract.Dialect, s mapping.Settings, data *adapter.Dataset, db *sqlstore.DB, backend adapter.Adapter) *shop {
	t.Helper()
	items, err := db.Adapter().Store(adapter.StockItems)
	if err != nil {
		t.Fatal(err)
	}
	log := &syncBuffer{}
	credentials := db.Credentials()
	authenticator := auth.New(credentials, credentials, auth.Options{RSACrashes: d.UnverifiableCrash})
	service, err := mapping.New(d, contract.StandardFields(), backend, adapter.NewSchemas(), authenticator, s, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	shop := &shop{service: service, dialect: d, items: items, direct: db.Adapter(), log: log, authorizations: map[contract.Role]string{}}
	shop.reset = func(t testing.TB) {
		t.Helper()
		if err := db.Reset(t.Context(), data); err != nil {
			t.Fatal(err)
		}
		authenticator.Purge()
		service.InvalidateLists()
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

// serve sends a request as role and returns the answer. target is below
// /api/rest, or begins with /api/. header holds names and values in turns.
func (s *shop) serve(role contract.Role, method, target, body string, header ...string) mapping.Response {
	return s.serveWith(context.Background(), role, method, target, body, header...)
}

// serveWith is serve for a request with a context of its own.
func (s *shop) serveWith(ctx context.Context, role contract.Role, method, target, body string, header ...string) mapping.Response {
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
	return s.service.Serve(ctx, r, "http", nil)
}

// put updates stock as Admin with a body of the given type, and asks for JSON.
func (s *shop) put(target, contentType, body string) mapping.Response {
	return s.serve(contract.Admin, "PUT", target, body, "Accept", "application/json", "Content-Type", contentType)
}

// unlike is what an item of these tests differs in from a common one.
type itemValues map[string]any

// place writes item id anew: 100 in stock and nothing special, except what is
// given.
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

// item returns what the store holds of item id: texts by attribute, "null" for
// null.
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

// checkItem compares what the store holds of item id with attributes and their
// values, in turns.
func (s *shop) checkItem(t testing.TB, id int, want ...string) {
	t.Helper()
	item := s.item(t, id)
	for pair := range slices.Chunk(want, 2) {
		if item[pair[0]] != pair[1] {
			t.Errorf("item %d has %s %s, want %s", id, pair[0], item[pair[0]], pair[1])
		}
	}
}

// faults returns the entries of an error envelope in JSON, each as "400 text".
func faults(t testing.TB, r mapping.Response) []string {
	t.Helper()
	list, err := faultsIn(r)
	if err != nil {
		t.Fatalf("%d %s is no envelope: %v", r.Status, r.Body, err)
	}
	return list
}

// faultsIn is faults of a reply that may be anything.
func faultsIn(r mapping.Response) ([]string, error) {
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

// checkRefused compares the entries of an error reply, each "400 text"; the last
// one gives the status.
func checkRefused(t testing.TB, r mapping.Response, want ...string) {
	t.Helper()
	if got := faults(t, r); !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	if status := want[len(want)-1][:3]; status != fmt.Sprint(r.Status) {
		t.Errorf("status %d, want %s", r.Status, status)
	}
}

func checkSaved(t testing.TB, r mapping.Response) {
	t.Helper()
	if r.Status != 200 || len(r.Body) != 0 || r.Location != "" {
		t.Errorf("got %d %s, location %q, want 200 and nothing", r.Status, r.Body, r.Location)
	}
}

// checkReply compares status, type and body of a reply.
func checkReply(t testing.TB, r mapping.Response, status int, contentType, body string) {
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

// inBoth runs a test in each dialect, on a shop of its own.
func inBothDialects(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Helper()
	for _, d := range contract.Dialects() {
		t.Run(d.Name, func(t *testing.T) { test(t, openShop(t, d)) })
	}
}

func (s *shop) documented() bool { return s.dialect.Name == "documented" }

// either returns the text of the shop's dialect.
func (s *shop) text(documented, magento string) string {
	if s.documented() {
		return documented
	}
	return magento
}
