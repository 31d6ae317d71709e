package mirror_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/memstore"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/handlers"
	"github.com/portico-commerce/portico/mapping/legacy/mirror"
	"github.com/portico-commerce/portico/mapping/pipeline"
	"github.com/portico-commerce/portico/mapping/resource"
)

func TestMain(m *testing.M) { testenv.Main(m, nil) }

// A shop is the demo store behind a service that records its writes.
type shop struct {
	*memstore.Adapter
	service        *mapping.Service
	schemas        *adapter.Schemas
	authorizations map[contract.Role]string
	writes         []write
}

// A write is a successful call of a store that changes a record.
type write struct {
	method   contract.Method
	resource adapter.Resource
	key      adapter.Key
	storeID  int64
	record   adapter.Record // the new or the deleted one, or the change
}

// addedAttributes returns added attributes of every kind.
func addedAttributes() []adapter.AddedAttribute {
	return []adapter.AddedAttribute{
		{Resource: adapter.Customers, Name: "loyalty_number", Kind: adapter.KindText},
		{Resource: adapter.Customers, Name: "points", Kind: adapter.KindInteger},
		{Resource: adapter.CustomerAddresses, Name: "access_code", Kind: adapter.KindText},
		{Resource: adapter.CustomerAddresses, Name: "distance", Kind: adapter.KindDecimal},
		{Resource: adapter.Products, Name: "deposit", Kind: adapter.KindDecimal},
		{Resource: adapter.Products, Name: "lead_days", Kind: adapter.KindInteger, Scope: adapter.ScopeWebsite},
		{Resource: adapter.Products, Name: "slogan", Kind: adapter.KindText, Scope: adapter.ScopeStore},
		{Resource: adapter.Products, Name: "season_from", Kind: adapter.KindTime},
		{Resource: adapter.Products, Name: "finish", Input: adapter.InputMultiselect},
		{Resource: adapter.Products, Name: "unseen", Kind: adapter.KindText},
	}
}

// tables returns the schemas and fields of a shop with added attributes. Clients can write all
// of them but one.
func tables(t testing.TB) (*adapter.Schemas, *contract.Fields) {
	t.Helper()
	schemas, err := adapter.NewSchemas().With(addedAttributes()...)
	if err != nil {
		t.Fatal(err)
	}
	var options contract.FieldOptions
	for _, a := range addedAttributes() {
		if a.Name != "unseen" {
			admin := []contract.Role{contract.Admin}
			options.Added = append(options.Added, contract.AddedField{Resource: string(a.Resource), Name: a.Name, Read: admin, Write: admin})
		}
	}
	fields, err := contract.NewFields(options)
	if err != nil {
		t.Fatal(err)
	}
	return schemas, fields
}

func newRequests(t testing.TB) *mirror.Requests {
	t.Helper()
	r, err := mirror.NewRequests(tables(t))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// openShops returns two shops with equal records. The first has the dialect d, the second is an
// original: of release line 1.9 or, if d is openmage, OpenMage 20.
func openShops(t testing.TB, d *contract.Dialect) (portico, original *shop) {
	t.Helper()
	schemas, fields := tables(t)
	data := demotest.Data(t)
	open := func(d *contract.Dialect) *shop {
		s := &shop{Adapter: memstore.New(memstore.Options{Schemas: schemas}), schemas: schemas, authorizations: map[contract.Role]string{}}
		if err := s.Load(t.Context(), data); err != nil {
			t.Fatal(err)
		}
		moment := time.Date(2013, 2, 3, 4, 5, 6, 0, time.UTC)
		settings := mapping.Settings{
			Settings: pipeline.Settings{
				BodyBytes:  1 << 20,
				QueryBytes: 1 << 14,
				MaxRows:    100,
				Now:        func() time.Time { return moment },
			},
			ImagePixels: 1 << 16,
			Customers:   handlers.CustomerSettings{PasswordCost: bcrypt.MinCost},
			Stock:       handlers.StockSettings{NotifyQty: 1, ManageStock: true},
			Products:    handlers.ProductSettings{AttributeSets: []string{"4"}, TaxClasses: []string{"0", "2", "4"}, Themes: []string{"base/default", "default/default"}},
		}
		var err error
		s.service, err = mapping.New(d, fields, recorder{s.Adapter, s}, schemas, authenticator(t), settings, slog.New(slog.NewTextHandler(io.Discard, nil)))
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range data.Tokens {
			role := contract.Customer
			if token.AdminID != 0 {
				role = contract.Admin
			} else if token.CustomerID != 1 {
				continue
			}
			s.authorizations[role] = fmt.Sprintf(`OAuth oauth_consumer_key="%s", oauth_token="%s", oauth_signature_method="PLAINTEXT", oauth_signature="%s%%26%s"`,
				data.Consumer.Key, token.Token, data.Consumer.Secret, token.Secret)
		}
		return s
	}
	of := contract.Magento()
	if d.Name == contract.OpenMage().Name {
		of = d
	}
	portico, original = open(d), open(of)
	original.become(t, portico) // with the same times and hashes
	return portico, original
}

// authenticator returns an authenticator of the demo store's credentials.
func authenticator(t testing.TB) *auth.Authenticator {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: demotest.SQLite(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return auth.New(db.Credentials(), db.Credentials(), auth.Options{})
}

// become copies the contents of another shop.
func (s *shop) become(t testing.TB, other *shop) {
	t.Helper()
	held, err := other.Snapshot()
	if err == nil {
		err = s.Restore(t.Context(), held)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// send sends a JSON request below /api/rest and returns the response.
func (s *shop) send(role contract.Role, method, path, body string) resource.Response {
	r := httptest.NewRequest(method, "/api/rest"+path, strings.NewReader(body))
	r.Header.Set("Authorization", s.authorizations[role])
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Content-Type", "application/json")
	return s.service.Serve(context.Background(), &resource.Request{HTTP: r, Scheme: "http"}, nil)
}

// execute sends a request of the mirror as an Admin.
func (s *shop) execute(r mirror.Request) resource.Response {
	return s.send(contract.Admin, r.Method, r.Path, string(r.Body))
}

// aggregate returns the root record that a record belongs to, as the exporter returns it.
func (s *shop) aggregate(t testing.TB, root adapter.Resource, key adapter.Key) adapter.Aggregate {
	t.Helper()
	all, err := s.Export(t.Context(), root, key-1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 || all[0].Record.Key() != key {
		t.Fatalf("no %s %d", root, key)
	}
	return all[0]
}

// A place is where a record has a value.
type place struct {
	resource  adapter.Resource
	key       adapter.Key
	storeID   int64
	attribute string
}

// content returns everything that clients can have written in a shop.
func (s *shop) content(t testing.TB) map[place]string {
	t.Helper()
	all := map[place]string{}
	for _, r := range []adapter.Resource{adapter.Customers, adapter.CustomerAddresses, adapter.Products, adapter.Orders} {
		found, err := s.Export(t.Context(), r, 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range found {
			addValues(all, 0, one.Record)
			for _, part := range one.Parts {
				addValues(all, 0, part)
			}
			for _, l := range one.Levels {
				addValues(all, l.StoreID, l.Record)
			}
		}
	}
	return all
}

// addValues adds the values of a record in a scope. It omits the key at a store view: a scope from
// which all values were removed again holds only its key.
func addValues(to map[place]string, storeID int64, r adapter.Record) {
	for i, a := range r.Schema.Attributes {
		if v := r.Values[i]; v.Kind() != adapter.Absent && (storeID == 0 || a.Name != r.Schema.Key) {
			to[place{r.Schema.Resource, r.Key(), storeID, a.Name}] = format(v)
		}
	}
}

// format returns a value as text that distinguishes its kind.
func format(v adapter.Value) string {
	switch v.Kind() {
	case adapter.Absent:
		return "absent"
	case adapter.Null:
		return "null"
	case adapter.Texts:
		return fmt.Sprintf("%q", v.Texts())
	case adapter.Records:
		all := make([]string, len(v.Records()))
		for i, r := range v.Records() {
			for at, a := range r.Schema.Attributes {
				if a.Name != r.Schema.Key { // each shop chooses the keys of prices
					all[i] += a.Name + "=" + format(r.Values[at]) + " "
				}
			}
		}
		slices.Sort(all) // prices keep their places while they stay
		return strings.Join(all, "; ")
	default:
		return `"` + v.Text() + `"`
	}
}

// A recorder records the writes of a shop's service.
type recorder struct {
	adapter.Adapter
	of *shop
}

func (a recorder) Store(r adapter.Resource) (adapter.Store, error) {
	s, err := a.Adapter.Store(r)
	return recordedStore{s, r, a.of}, err
}

type recordedStore struct {
	adapter.Store
	resource adapter.Resource
	of       *shop
}

func (s recordedStore) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	key, err := s.Store.Create(ctx, p)
	if err == nil {
		s.of.writes = append(s.of.writes, write{contract.POST, s.resource, key, p.StoreID, p.Record})
	}
	return key, err
}

func (s recordedStore) Update(ctx context.Context, p *adapter.UpdateParams) error {
	w := write{method: contract.PUT, resource: s.resource, key: p.Key, storeID: p.StoreID}
	observed := *p
	observed.Locked = append(slices.Clip(p.Locked), func(_, change adapter.Record) error { w.record = change; return nil })
	err := s.Store.Update(ctx, &observed)
	if err == nil {
		s.of.writes = append(s.of.writes, w)
	}
	return err
}

func (s recordedStore) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	w := write{method: contract.DELETE, resource: s.resource, key: p.Key, storeID: p.StoreID}
	observed := *p
	observed.Locked = append(slices.Clip(p.Locked), func(current, _ adapter.Record) error { w.record = current; return nil })
	err := s.Store.Delete(ctx, &observed)
	if err == nil {
		s.of.writes = append(s.of.writes, w)
	}
	return err
}
