package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestGalera writes at two nodes of a cluster at once. Writes that a lock on one server excludes are
// excluded between two nodes, too.
func TestGalera(t *testing.T) {
	testenv.OnlyNightly(t, "galera")
	cluster := sqltest.StartGalera(t)
	dsns := cluster.Database("shop")
	if err := demotest.Load(dsns[0]); err != nil {
		t.Fatal(err)
	}
	media := t.TempDir()
	var nodes [2]*sqlstore.DB
	for i := range nodes {
		nodes[i] = sqlstore.OpenWith(t, sqlstore.Options{DSN: dsns[i], SecretKey: sqlstore.SecretKey, MediaDir: media})
	}
	t.Run("reads after writes", func(t *testing.T) { testGaleraReads(t, nodes) })
	t.Run("one SKU", func(t *testing.T) { testGaleraSKU(t, dsns) })
	t.Run("one file name", func(t *testing.T) { testGaleraFiles(t, nodes, dsns) })
	t.Run("lost updates", func(t *testing.T) { testGaleraUpdates(t, nodes, dsns) })
	t.Run("one default address", func(t *testing.T) { testGaleraAddresses(t, nodes, dsns) })
	t.Run("one token", func(t *testing.T) { testGaleraTokens(t, nodes, dsns) })
	t.Run("batches", func(t *testing.T) {
		for range 20 {
			sqlstore.CheckConcurrentBatches(t, stock(t, nodes[0]), stock(t, nodes[1]))
		}
	})
	t.Run("migrations", func(t *testing.T) { testGaleraMigrations(t, cluster) })
	t.Run("fenced writes", func(t *testing.T) { testGaleraLease(t, nodes) })
	t.Run("node without the others", func(t *testing.T) { testGaleraIsolated(t, cluster, dsns) })
}

// atOnce calls f at the same time for each of n numbers, and returns the errors.
func atOnce(n int, f func(i int) error) []error {
	failed := make([]error, n)
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			failed[i] = f(i)
		})
	}
	close(start)
	all.Wait()
	return failed
}

// count returns the number that a statement selects at a node.
func count(t *testing.T, dsn, text string) (n int) {
	t.Helper()
	if err := sqltest.Raw(t, dsn).QueryRowContext(t.Context(), text).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// testGaleraMigrations opens an empty database four times at once, at two nodes, as replicas do at their
// start. Each migration runs once.
func testGaleraMigrations(t *testing.T, cluster *sqltest.GaleraCluster) {
	for round := range 5 {
		dsns := cluster.Database(fmt.Sprintf("empty%d", round))
		cluster.Nodes[1].Query(t, "SELECT 1") // this waits until the node has the database
		made := make([]int, 4)
		failed := atOnce(len(made), func(i int) error {
			db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: dsns[i%2], Migrate: true})
			if err != nil {
				return err
			}
			made[i] = len(db.Migrations())
			return db.Close()
		})
		all := made[0] + made[1] + made[2] + made[3]
		if want := count(t, dsns[0], "SELECT COUNT(*) FROM goose_db_version WHERE version_id > 0"); errors.Join(failed...) != nil || all != want || want == 0 {
			t.Errorf("round %d: %d migrations were made and %d noted, %v", round, all, want, errors.Join(failed...))
		}
	}
}

func testGaleraReads(t *testing.T, nodes [2]*sqlstore.DB) {
	a, b := stock(t, nodes[0]), stock(t, nodes[1])
	for qty := range 200 {
		if err := adaptertest.Update(t, a, 2, 0, adaptertest.Attributes{"qty": fmt.Sprint(qty)}); err != nil {
			t.Fatal(err)
		}
		r, err := b.Get(t.Context(), &adapter.GetParams{Key: 2})
		if want := fmt.Sprintf("%d.0000", qty); err != nil || r.Get("qty").Text() != want {
			t.Fatalf("%s, %v, want %s", r.Get("qty").Text(), err, want)
		}
	}
}

// testGaleraSKU has four writers create products with one SKU. Every few rounds it closes the stores and
// opens them again: while statements are being prepared, a node may silently roll a transaction back.
func testGaleraSKU(t *testing.T, dsns []string) {
	const rounds, writers, reopen = 200, 4, 8
	var nodes [2]*sqlstore.DB
	for round := range rounds {
		if round%reopen == 0 {
			for i := range nodes {
				if round > 0 {
					_ = nodes[i].Close()
				}
				nodes[i] = sqlstore.OpenWith(t, sqlstore.Options{DSN: dsns[i]})
			}
		}
		created := 0
		for _, err := range atOnce(writers, func(i int) error {
			store := adaptertest.StoreOf(t, nodes[i%2].Adapter(), adapter.Products)
			_, err := store.Create(t.Context(), &adapter.CreateParams{Record: adaptertest.Attributes{
				"sku": fmt.Sprintf("race-%d", round), "attribute_set_id": 4, "type_id": "simple", "name": "N",
			}.Record(adapter.NewSchemas().Of(adapter.Products))})
			return err
		}) {
			switch {
			case err == nil:
				created++
			case adapter.KindOf(err) != adapter.Conflict:
				t.Errorf("round %d: %v", round, err)
			}
		}
		if created != 1 {
			t.Errorf("round %d: %d products were created", round, created)
		}
	}
	for _, dsn := range dsns {
		if n, different := count(t, dsn, "SELECT COUNT(*) FROM product WHERE sku LIKE 'race-%'"), count(t, dsn, "SELECT COUNT(DISTINCT sku_folded) FROM product WHERE sku LIKE 'race-%'"); n != rounds || different != rounds {
			t.Errorf("after %d rounds there are %d products with %d SKUs", rounds, n, different)
		}
	}
}

func testGaleraFiles(t *testing.T, nodes [2]*sqlstore.DB, dsns []string) {
	const rounds, writers = 25, 4
	for round := range rounds {
		for _, err := range atOnce(writers, func(i int) error {
			store := adaptertest.StoreOf(t, nodes[i%2].Adapter(), adapter.ProductImages)
			_, err := store.Create(t.Context(), &adapter.CreateParams{Record: adaptertest.Attributes{
				"product_id": 1 + i, "file": fmt.Sprintf("r/a/race%d.gif", round), "media_type": "image/gif", "content": fmt.Sprint("image ", round, i),
			}.Record(adapter.NewSchemas().Of(adapter.ProductImages))})
			return err
		}) {
			if err != nil {
				t.Errorf("round %d: %v", round, err)
			}
		}
	}
	if n := count(t, dsns[1], "SELECT COUNT(DISTINCT file) FROM product_image WHERE file LIKE 'r/a/race%'"); n != rounds*writers {
		t.Errorf("%d names of %d images", n, rounds*writers)
	}
}

func testGaleraUpdates(t *testing.T, nodes [2]*sqlstore.DB, dsns []string) {
	const writers, each = 8, 50
	if err := adaptertest.Update(t, stock(t, nodes[0]), 1, 0, adaptertest.Attributes{"qty": "0"}); err != nil {
		t.Fatal(err)
	}
	for _, err := range atOnce(writers, func(i int) error {
		for range each {
			err := stock(t, nodes[i%2]).Update(t.Context(), &adapter.UpdateParams{Key: 1, Change: func(r adapter.Record) (adapter.Record, error) {
				change := adapter.NewRecord(r.Schema)
				qty, _ := adapter.ParseDecimal(r.Get("qty").Text())
				change.Set("qty", adapter.TextValue(adapter.FormatDecimal(qty+10_000)))
				return change, nil
			}})
			if err != nil {
				return err
			}
		}
		return nil
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	if n := count(t, dsns[0], "SELECT CAST(qty AS SIGNED) FROM stock_item WHERE item_id = 1"); n != writers*each {
		t.Errorf("%d after %d increments", n, writers*each)
	}
}

func testGaleraAddresses(t *testing.T, nodes [2]*sqlstore.DB, dsns []string) {
	for round := range 50 {
		for _, err := range atOnce(2, func(i int) error {
			store := adaptertest.StoreOf(t, nodes[i].Adapter(), adapter.CustomerAddresses)
			_, err := store.Create(t.Context(), &adapter.CreateParams{Record: adaptertest.Attributes{
				"customer_id": 1, "firstname": "A", "lastname": "B", "street": []string{"S"}, "city": "C", "country_id": "DE", "telephone": "1", "postcode": "2",
				"is_default_billing": 1, "is_default_shipping": 0,
			}.Record(adapter.NewSchemas().Of(adapter.CustomerAddresses))})
			return err
		}) {
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if n := count(t, dsns[0], "SELECT COUNT(*) FROM customer_address WHERE customer_id = 1 AND is_default_billing = 1"); n != 1 {
			t.Fatalf("round %d: %d addresses are the default", round, n)
		}
	}
}

func testGaleraTokens(t *testing.T, nodes [2]*sqlstore.DB, dsns []string) {
	consumer, err := nodes[0].Credentials().AddConsumer(t.Context(), adapter.Consumer{Name: "race", Key: strings.Repeat("r", 32), Secret: strings.Repeat("s", 32)})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 50 {
		for _, err := range atOnce(2, func(i int) error {
			token, err := nodes[i].Credentials().Begin(t.Context(), consumer.ID, "oob")
			if err == nil {
				_, err = nodes[i].Credentials().Authorize(t.Context(), token.Token, 0, 1)
			}
			return err
		}) {
			if err != nil && adapter.KindOf(err) != adapter.NotFound {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if n := count(t, dsns[1], fmt.Sprintf("SELECT COUNT(*) FROM oauth_token WHERE customer_id = 1 AND consumer_id = %d", consumer.ID)); n != 1 {
			t.Fatalf("round %d: %d tokens of one customer are left", round, n)
		}
	}
}

// testGaleraLease lets a holder write under its lease while another process acquires it.
func testGaleraLease(t *testing.T, nodes [2]*sqlstore.DB) {
	for round := range 50 {
		name := fmt.Sprintf("race %d", round)
		lease, ok, err := nodes[0].Leases().Acquire(t.Context(), name, "first", time.Millisecond)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		var taken coordination.Lease
		failed := atOnce(2, func(i int) (err error) {
			if i == 0 {
				_, err = nodes[0].Leases().Renew(t.Context(), lease, time.Millisecond)
				return err
			}
			for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
				if taken, ok, err = nodes[1].Leases().Acquire(t.Context(), name, "second", time.Minute); ok || err != nil {
					return err
				}
			}
			return context.DeadlineExceeded
		})
		if failed[1] != nil || failed[0] != nil && !errors.Is(failed[0], coordination.ErrLeaseLost) {
			t.Fatalf("round %d: %v", round, failed)
		}
		if _, err := nodes[0].Leases().Renew(t.Context(), lease, time.Minute); !errors.Is(err, coordination.ErrLeaseLost) {
			t.Fatalf("round %d: the first holder renews the lease of the second one: %v (%v)", round, err, taken)
		}
	}
}

// testGaleraIsolated cuts a node off: it reports that it is not ready, and calls fail with kind
// Unavailable.
func testGaleraIsolated(t *testing.T, cluster *sqltest.GaleraCluster, dsns []string) {
	db := sqlstore.OpenWith(t, sqlstore.Options{DSN: dsns[2]})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := db.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	ping := func() error {
		limited, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return db.Ping(limited)
	}
	await := func(what string, holds func() bool) {
		t.Helper()
		for !holds() {
			if ctx.Err() != nil {
				t.Fatal(what)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	cluster.Isolate(cluster.Nodes[2])
	await("the isolated node goes on being ready", func() bool { return ping() != nil })
	await("calls to an isolated node do not fail as those to one that is away", func() bool {
		return adapter.KindOf(adaptertest.Update(t, stock(t, db), 1, 0, adaptertest.Attributes{"qty": "1"})) == adapter.Unavailable
	})
	if _, err := stock(t, db).Get(ctx, &adapter.GetParams{Key: 1}); adapter.KindOf(err) != adapter.Unavailable || err == nil {
		t.Errorf("a read of an isolated node: %v", err)
	}
	cluster.Reconnect(cluster.Nodes[2])
	await("the node does not become ready again", func() bool { return ping() == nil })
	if err := adaptertest.Update(t, stock(t, db), 1, 0, adaptertest.Attributes{"qty": "1"}); err != nil {
		t.Error(err)
	}
}

// BenchmarkGalera measures the cost of the node's first applying the commits of the cluster
// (wsrep_sync_wait), on an idle cluster.
func BenchmarkGalera(b *testing.B) {
	testenv.OnlyNightly(b, "galera")
	dsns := sqltest.StartGalera(b).Database("shop")
	if err := demotest.Load(dsns[0]); err != nil {
		b.Fatal(err)
	}
	conn, err := sqltest.Raw(b, dsns[1]).Conn(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, wait := range []string{"7", "0"} { // after the first one the node has all data
		b.Run("wsrep_sync_wait="+wait, func(b *testing.B) {
			if _, err := conn.ExecContext(b.Context(), "SET SESSION wsrep_sync_wait = "+wait); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				var qty string
				if err := conn.QueryRowContext(b.Context(), "SELECT qty FROM stock_item WHERE item_id = 1").Scan(&qty); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("write", func(b *testing.B) {
		db := sqlstore.OpenWith(b, sqlstore.Options{DSN: dsns[1]})
		n := 0
		for b.Loop() {
			n++
			if err := adaptertest.Update(b, stock(b, db), 1, 0, adaptertest.Attributes{"qty": fmt.Sprint(n)}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
