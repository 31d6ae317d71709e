//go:build linux

package migration_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestRehearsal moves a whole legacy store without downtime, and its writes to Portico, back, and
// to Portico again, while clients write and read, an administrator works in the admin panel and
// customers order. No request may fail, no write be lost or executed twice, and no read be older
// than a write that was acknowledged before it.
func TestRehearsal(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	for name, dsn := range map[string]func(testing.TB) string{
		"sqlite":   func(tb testing.TB) string { return "sqlite:" + tb.TempDir() + "/store.db" },
		"postgres": sqltest.Postgres,
	} {
		t.Run(name, func(t *testing.T) { newRehearsal(t, dsn(t), 3*time.Second).run() })
	}
}

// A rehearsal is a legacy store that moves to Portico, with all its users.
type rehearsal struct {
	*testing.T
	shop     *apptest.Living
	settings string // the configuration without routes
	stage    time.Duration
	environ  []string // of the processes

	mu       sync.Mutex
	replicas []*apptest.Process

	log     *testenv.OperationLog
	waits   atomic.Int64 // replies 503 with Retry-After
	early   atomic.Bool  // the legacy store answers reads, and shows writes before Portico knows of them
	using   sync.WaitGroup
	leave   context.CancelFunc // ends the work of all users
	panel   context.CancelFunc // ends the work of the administrator and of buyers
	created struct {
		sync.Mutex
		acknowledged, unknown []string // SKUs, e-mail addresses and streets
	}
	sold struct {
		sync.Mutex
		orders []sale
	}
	restocked struct {
		sync.Mutex
		quantity int64
		ended    time.Time // of the last one
	}
	quiet sync.RWMutex // held for writing, it keeps all users from working
}

// A sale is a buyer's order of the product that an ERP restocks.
type sale struct {
	quantity int64
	began    time.Time
}

// soldProduct is the product that is ordered while an ERP sets its quantity. Its stock item has the
// same number.
const soldProduct = 1

// newRehearsal starts a legacy store, whose database has a binary log, and fills nothing.
func newRehearsal(t *testing.T, dsn string, stage time.Duration) *rehearsal {
	t.Helper()
	from := sqltest.LoggedMariaDB(t)
	shop := apptest.StartLivingAt(t, from, magento1test.Fill(t, from, magento1test.Demo, ""), "")
	shop.Commands = shop.Commands.With("PORTICO_SQL_DSN="+dsn, "PORTICO_SQL_MEDIA_DIR="+t.TempDir(), "PORTICO_LEGACY_URL="+strings.TrimSuffix(shop.Target.BaseURL, "/"))
	r := &rehearsal{T: t, shop: shop, settings: apptest.ReadFile(t, shop.Config), stage: stage, log: testenv.NewOperationLog()}
	r.environ = shop.Commands.With(apptest.LegacyConsumer()...).With("PORTICO_PUBLIC_URL=", "PORTICO_FOLLOW_WAIT=20s", "PORTICO_MIRROR_DRAIN=10s")
	return r
}

// run moves the legacy store, from the first step to the last.
func (r *rehearsal) run() {
	r.Helper()
	step := func(name string) {
		r.Helper()
		if r.Failed() {
			r.FailNow()
		}
		r.Logf("%s; %d replies have asked to come again so far", name, r.waits.Load())
	}
	r.early.Store(true)
	step("the legacy store answers everything")
	r.configure("{resource: all, to: legacy}")
	r.start()
	r.start()
	r.begin()
	r.work()

	step("the shop is imported")
	r.shop.Run(r.T, "--media", r.shop.Media, "all")
	r.work()

	step("Portico follows the legacy store")
	r.environ = append(r.environ, "PORTICO_FOLLOW_DSN="+r.shop.From[1], "PORTICO_FOLLOW_MEDIA="+r.shop.Media, "PORTICO_FOLLOW_INTERVAL=200ms", "PORTICO_FOLLOW_COMPARE_PERIOD=5s")
	r.start()
	r.start()
	r.stopFirst()
	r.stopFirst()
	r.work()

	step("everything is compared")
	r.sweep()

	step("reads are shadowed")
	r.reload("{resource: all, calls: reads, to: legacy, shadow: true}, {resource: all, calls: writes, to: legacy}, {resource: outside, to: legacy}")
	r.work()

	step("reads move")
	r.reload(apptest.WritesToLegacy)
	r.early.Store(false)
	r.work()
	for _, direction := range []string{"writes move", "writes move again"} {
		step(direction)
		r.reload(apptest.MirroredWrites)
		r.awaitTurn("turned to Portico", true)
		r.work()
		if direction == "writes move" {
			step("writes move back")
			r.reload(apptest.WritesToLegacy)
			r.awaitTurn("turned back", false)
			r.work()
		}
	}

	step("the old side is left")
	r.panel()
	r.work()
	r.leave()
	r.using.Wait()
	r.settle()
	for range r.all() {
		r.stopFirst()
	}
	r.environ = r.ownStore()
	r.configure("")
	r.start()
	r.check()
}

// ownStore returns the environment of a process that knows no legacy store.
func (r *rehearsal) ownStore() []string {
	return r.shop.Commands.With("PORTICO_PUBLIC_URL=", "PORTICO_LEGACY_URL=")
}

// configure writes the configuration of the processes.
func (r *rehearsal) configure(routes string) {
	r.Helper()
	apptest.WriteFile(r.T, r.shop.Config, r.settings+"\nroutes: ["+routes+"]\n")
}

// start starts another process of "portico serve".
func (r *rehearsal) start() {
	r.Helper()
	p := apptest.Start(r.T, r.environ, "--config", r.shop.Config)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.replicas = append(r.replicas, p)
}

// stopFirst stops the process that was started first, as an orchestrator does: clients no longer
// choose it before it ends.
func (r *rehearsal) stopFirst() {
	r.Helper()
	r.mu.Lock()
	first := r.replicas[0]
	r.replicas = r.replicas[1:]
	r.mu.Unlock()
	first.Stop(r.T)
}

// all returns the processes.
func (r *rehearsal) all() []*apptest.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.replicas)
}

// reload gives the processes other routes, one after the other.
func (r *rehearsal) reload(routes string) {
	r.Helper()
	r.configure(routes)
	for _, p := range r.all() {
		applied := func() float64 {
			return apptest.ScrapeMetrics(r.T, p.Ops).Sum("portico_config_reloads_total", `outcome="applied"`)
		}
		before := applied()
		p.Signal(r.T, syscall.SIGHUP)
		testenv.Await(r.T, "a reload", func() bool { return applied() > before })
		time.Sleep(r.stage / 10) // a rolling change takes its time
	}
}

// awaitTurn waits until all writes have been handed over.
func (r *rehearsal) awaitTurn(what string, mirrored bool) {
	r.Helper()
	db := r.open()
	defer func() { _ = db.Close() }()
	testenv.Await(r.T, what, func() bool {
		owners, err := db.WriteOwners().All(r.Context())
		if err != nil {
			r.Fatal(err)
		}
		return len(owners) > 0 && !slices.ContainsFunc(owners, func(o outbox.Owner) bool { return o.Turning || o.Mirrored != mirrored })
	})
}

// work lets all users work for a while.
func (r *rehearsal) work() { time.Sleep(r.stage) }

// sweep compares all answers of the two sides, while no user works.
func (r *rehearsal) sweep() {
	r.Helper()
	r.quiet.Lock()
	defer r.quiet.Unlock()
	candidate := apptest.Start(r.T, r.ownStore(), "--config", apptest.NewFile(r.T, "portico.yaml", r.settings))
	defer candidate.Stop(r.T)
	found, screen, err := runCompare(r.T, "--legacy", r.shop.Target.BaseURL, "--candidate", candidate.Contract, "--sweep", "--rate", "0", "--parallel", "4", "--pause", "3s", "--sample", "15%", "--credentials", apptest.CredentialsBefore(r.T, "customer_2"))
	switch {
	case found == nil:
		r.Fatalf("%v\n%s", err, screen)
	case err != nil:
		r.Errorf("%v\n%s\n%v", err, screen, reportedDifferences(found))
	}
}

// begin starts the work of all users.
func (r *rehearsal) begin() {
	ctx, leave := context.WithCancel(r.Context())
	shop, panel := context.WithCancel(ctx)
	r.leave, r.panel = leave, panel
	r.Cleanup(func() { // before the processes are killed
		leave()
		r.using.Wait()
	})
	repeat := func(ctx context.Context, pause time.Duration, do func(n int)) {
		r.using.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				r.quiet.RLock()
				do(n)
				r.quiet.RUnlock()
				select {
				case <-ctx.Done():
				case <-time.After(rand.N(pause)):
				}
			}
		})
	}
	for i, f := range rehearsedFields() {
		initial, err := r.call(http.MethodGet, f.path, "")
		if err != nil {
			r.Fatal(err)
		}
		r.log.Initial(f.path+" "+f.name, memberOf(initial.Body, f.name))
		for writer := range 2 {
			repeat(ctx, 200*time.Millisecond, func(n int) { r.write(fmt.Sprintf("client %d of field %d", writer, i), f, 100_000*(writer+1)+n) })
		}
		repeat(ctx, 50*time.Millisecond, func(int) { r.read(fmt.Sprintf("reader %d", i), f) })
	}
	repeat(ctx, time.Second, r.create)
	repeat(shop, 300*time.Millisecond, func(int) { r.order() })
	repeat(shop, 500*time.Millisecond, func(n int) { r.administrate(n) })
	// An ERP sets the quantity of the product that is sold at the same time.
	repeat(ctx, 500*time.Millisecond, func(n int) { r.restock(n) })
}

// rehearsedFields returns the fields that only clients write.
func rehearsedFields() []field {
	return []field{
		{"/stockitems/5", "qty", "%d.0000"}, {"/stockitems/6", "qty", "%d.0000"}, {"/products/2", "name", "Name %d"}, {"/products/4", "short_description", "Text %d"},
		{"/customers/1", "firstname", "First %d"},
	}
}

// call sends a request to one of the processes, again if it asks for that.
func (r *rehearsal) call(method, path, body string) (got apptest.Reply, err error) {
	for {
		replicas := r.all()
		p := replicas[rand.IntN(len(replicas))]
		got, err = apptest.NewClient(r.T, p.Contract, apptest.DemoAdmin()).Call(context.WithoutCancel(r.Context()), method, path, body)
		switch {
		case err != nil && errors.Is(err, syscall.ECONNREFUSED):
		case err == nil && got.Status == http.StatusServiceUnavailable && got.Header.Get("Retry-After") != "":
			r.waits.Add(1)
			time.Sleep(100 * time.Millisecond)
		default:
			return got, err
		}
	}
}

// read reads a field.
func (r *rehearsal) read(name string, f field) {
	read := r.log.Read
	if r.early.Load() {
		read = r.log.ReadEarly
	}
	read(name, f.path+" "+f.name, func() (string, bool) {
		got, err := r.call(http.MethodGet, f.path, "")
		if err != nil || got.Status != http.StatusOK {
			r.Errorf("%s: %d %s %v", f.path, got.Status, got.Body, err)
			return "", false
		}
		return memberOf(got.Body, f.name), true
	})
}

// memberOf returns a member of a JSON object as text.
func memberOf(body, name string) string {
	var record map[string]any
	if json.Unmarshal([]byte(body), &record) != nil {
		return ""
	}
	return fmt.Sprint(record[name])
}

// write sets a field to a value of its own.
func (r *rehearsal) write(name string, f field, n int) {
	value := fmt.Sprintf(f.format, n)
	r.log.Write(name, f.path+" "+f.name, value, func() testenv.Outcome {
		return r.change(http.MethodPut, f.path, fmt.Sprintf(`{%q: %q}`, f.name, value))
	})
}

// change sends a write that the contract accepts.
func (r *rehearsal) change(method, path, body string) testenv.Outcome {
	got, err := r.call(method, path, body)
	if err != nil || got.Status >= http.StatusBadRequest {
		r.Errorf("%s %s: %d %s %v", method, path, got.Status, got.Body, err)
		return testenv.Unknown
	}
	return testenv.Acknowledged
}

// create creates a product, a customer or an address, each with something that no other has.
func (r *rehearsal) create(n int) {
	name := fmt.Sprintf("created-%d", n)
	path, body := "/products", newProduct(name)
	switch n % 3 {
	case 1:
		name += "@example.com"
		path, body = "/customers", fmt.Sprintf(`{"firstname":"A","lastname":"B","email":%q,"website_id":1,"group_id":1,"password":"swordfish1"}`, name)
	case 2:
		path, body = "/customers/3/addresses", strings.ReplaceAll(apptest.AddressBody(name), `,"is_default_billing":1,"is_default_shipping":1`, "")
	}
	outcome := r.change(http.MethodPost, path, body)
	r.created.Lock()
	defer r.created.Unlock()
	if outcome == testenv.Acknowledged {
		r.created.acknowledged = append(r.created.acknowledged, name)
	} else {
		r.created.unknown = append(r.created.unknown, name)
	}
}

// order orders something, as a customer does in the legacy store.
func (r *rehearsal) order() {
	one := sale{quantity: 1 + rand.Int64N(2), began: time.Now()}
	_, err := r.shop.PlaceOrder(context.WithoutCancel(r.Context()), 1+2*rand.Int64N(2), magento1test.OrderLine{Product: soldProduct, Quantity: one.quantity}, magento1test.OrderLine{Product: 7, Quantity: 1})
	switch {
	case errors.Is(err, magento1test.ErrOutOfStock):
		return
	case err != nil:
		r.Errorf("order: %v", err)
	}
	r.sold.Lock()
	defer r.sold.Unlock()
	r.sold.orders = append(r.sold.orders, one)
}

// administrate does the work of an administrator in the legacy store.
func (r *rehearsal) administrate(n int) {
	ctx, random := context.WithoutCancel(r.Context()), rand.New(rand.NewPCG(uint64(n), 1))
	var err error
	switch n % 4 {
	case 0:
		err = r.shop.RenameProduct(ctx, 2, 2, fmt.Sprintf("Nom %d", n)) // of a product whose other name clients write
	case 1:
		err = r.shop.SetPrices(ctx, 4, fmt.Sprintf("%d.5000", 10+n), "")
	case 2:
		_, err = r.shop.NewProduct(ctx, random, fmt.Sprintf("panel-%d", n))
	case 3:
		_, err = r.shop.NewCustomer(ctx, random, fmt.Sprintf("panel-%d@example.com", n))
	}
	if err != nil {
		r.Errorf("admin panel: %v", err)
	}
}

// restock sets the quantity of the sold product.
func (r *rehearsal) restock(n int) {
	quantity := int64(1_000_000 + 10_000*n)
	if r.change(http.MethodPut, "/stockitems/"+strconv.Itoa(soldProduct), fmt.Sprintf(`{"qty": %d}`, quantity)) != testenv.Acknowledged {
		return
	}
	r.restocked.Lock()
	defer r.restocked.Unlock()
	r.restocked.quantity, r.restocked.ended = quantity, time.Now()
}

// open opens the store.
func (r *rehearsal) open() *sqlstore.DB {
	r.Helper()
	db := apptest.OpenRecords(r.T, sqlstore.Options{DSN: r.shop.Commands.Get("PORTICO_SQL_DSN"), MediaDir: r.shop.Commands.Get("PORTICO_SQL_MEDIA_DIR"), SecretKey: apptest.SecretKey})
	return db
}

// settle waits until each side has the writes of the other one.
func (r *rehearsal) settle() {
	r.Helper()
	db := r.open()
	defer func() { _ = db.Close() }()
	testenv.Await(r.T, "an empty outbox", func() bool {
		counts, err := db.Outbox().Count(r.Context())
		if err != nil {
			r.Fatal(err)
		}
		var owed int64
		for _, c := range counts {
			owed += c.Waiting + c.Parked + c.Unknown
		}
		return owed == 0
	})
	time.Sleep(r.stage) // more than a comparison of everything takes
}

// check checks the observations of all users, and that both sides have the same in the end.
func (r *rehearsal) check() {
	r.Helper()
	r.sweep()
	for _, fault := range testenv.CheckOperations(r.log.Operations()) {
		r.Error(fault)
	}
	counts := r.createdCounts()
	for _, name := range r.created.acknowledged {
		if counts[name] != 1 {
			r.Errorf("%s was created %d times", name, counts[name])
		}
	}
	for _, name := range r.created.unknown {
		if counts[name] > 1 {
			r.Errorf("%s was created %d times", name, counts[name])
		}
	}
	if len(r.created.acknowledged) < 3 || len(r.sold.orders) < 3 {
		r.Errorf("%d records and %d orders", len(r.created.acknowledged), len(r.sold.orders))
	}
	r.checkStock()
}

// createdCounts returns how often the legacy store has each record that clients were to create.
func (r *rehearsal) createdCounts() map[string]int {
	r.Helper()
	counts := map[string]int{}
	for _, statement := range []string{
		"SELECT sku FROM catalog_product_entity WHERE sku LIKE 'created-%'",
		"SELECT email FROM customer_entity WHERE email LIKE 'created-%'",
		"SELECT value FROM customer_address_entity_text WHERE value LIKE 'created-%'",
	} {
		for _, name := range apptest.SelectTexts(r, r.shop.DB, statement) {
			counts[name]++
		}
	}
	return counts
}

// checkStock checks that no sale after the last restocking is lost: earlier sales may count or not,
// as they were overwritten or added.
func (r *rehearsal) checkStock() {
	r.Helper()
	got, err := r.call(http.MethodGet, "/stockitems/"+strconv.Itoa(soldProduct), "")
	if err != nil {
		r.Fatal(err)
	}
	quantity, err := strconv.ParseFloat(memberOf(got.Body, "qty"), 64)
	if err != nil {
		r.Fatal(err)
	}
	var after, around int64
	for _, one := range r.sold.orders {
		switch {
		case one.began.After(r.restocked.ended):
			after += one.quantity
		default:
			around += one.quantity
		}
	}
	most := float64(r.restocked.quantity - after)
	if quantity > most || quantity < most-float64(around) {
		r.Errorf("%v are in stock: set to %d, then %d sold, %d before", quantity, r.restocked.quantity, after, around)
	}
}
