package sqlstore_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

func TestLoadAndEmpty(t *testing.T) {
	sqltest.EachEngine(t, testLoadAndEmpty)
}

func testLoadAndEmpty(t *testing.T, e sqltest.Engine) {
	db := open(t, e.NewDSN(t))
	empty := func(want bool) {
		t.Helper()
		if got, err := db.Empty(t.Context()); got != want || err != nil {
			t.Errorf("Empty = %v, %v; want %v", got, err, want)
		}
	}
	empty(true)
	broken := *data(t)
	broken.Records = map[adapter.Resource][]adapter.Record{
		adapter.StockItems: data(t).Records[adapter.StockItems], // their products are missing
	}
	if err := db.Load(t.Context(), &broken, nil); adapter.KindOf(err) != adapter.Invalid {
		t.Errorf("Load of items without products: %v, want invalid", err)
	}
	empty(true)
	var last, total int
	if err := db.Load(t.Context(), data(t), func(done, all int) { last, total = done, all }); err != nil {
		t.Fatal(err)
	}
	if last != total || total < 800 {
		t.Errorf("progress ended at %d of %d", last, total)
	}
	empty(false)
	if err := db.Load(t.Context(), data(t), nil); adapter.KindOf(err) != adapter.Conflict {
		t.Errorf("second Load: %v, want conflict", err)
	}
}

func TestReset(t *testing.T) {
	sqltest.EachEngine(t, testReset)
}

func testReset(t *testing.T, e sqltest.Engine) {
	db := openDemo(t, e)
	before := stockTable(t, db)
	if err := adaptertest.Update(t, stock(t, db), 2, 0, attrs{"qty": "0.0000"}); err != nil {
		t.Fatal(err)
	}
	credentials := db.Credentials()
	if _, err := credentials.Use(t.Context(), "n1", 1); err != nil {
		t.Fatal(err)
	}
	if _, err := credentials.AddConsumer(t.Context(), adapter.Consumer{Name: "mine"}); err != nil {
		t.Fatal(err)
	}
	if err := db.Reset(t.Context(), data(t)); err != nil {
		t.Fatal(err)
	}
	if after := stockTable(t, db); after != before {
		t.Errorf("after Reset:\n%s\nbefore:\n%s", after, before)
	}
	if used, err := credentials.Used(t.Context(), "n1"); used || err != nil {
		t.Errorf("nonce after Reset: %v, %v", used, err)
	}
	grants, err := credentials.List(t.Context())
	if err != nil || len(grants) != 2 || grants[0].Consumer.ID != 1 || grants[1].Consumer.ID != 2 || len(grants[0].Tokens) != 3 {
		t.Errorf("credentials after Reset: %+v, %v", grants, err)
	}
}

// stockTable returns the stock items as text, without dates.
func stockTable(t *testing.T, db *sqlstore.DB) string {
	t.Helper()
	result := adaptertest.MustList(t, stock(t, db), adapter.ListParams{})
	var b strings.Builder
	for _, r := range result.Records {
		for i, v := range r.Values {
			if r.Schema.Attributes[i].Kind != adapter.KindTime {
				b.WriteString(v.Text() + " ")
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestResetIsAtomic(t *testing.T) {
	sqltest.EachEngine(t, testResetIsAtomic)
}

func testResetIsAtomic(t *testing.T, e sqltest.Engine) {
	db := openDemo(t, e)
	good := data(t)
	shortKey, noSecret, noTokenSecret := *good, *good, *good
	shortKey.Consumer.Key = "short"
	noSecret.Consumer.Secret = ""
	noTokenSecret.Tokens = slices.Clone(good.Tokens)
	noTokenSecret.Tokens[0].Secret = ""
	for name, broken := range map[string]*adapter.Dataset{"short key": &shortKey, "no secret": &noSecret, "no token secret": &noTokenSecret} {
		if err := db.Reset(t.Context(), broken); err == nil || adapter.KindOf(err) != adapter.Invalid {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
	if table := stockTable(t, db); !strings.HasPrefix(table, "1 1 1 100.0000") {
		t.Errorf("the store is gone:\n%s", table)
	}
}

// lockWait is how long a statement waits for a record's lock before it fails, as servers are told.
const lockWait = 5 * time.Second

// TestResetDuringTraffic resets the store during reads, which must always see a
// complete data set, and during writes, which must always find their record.
func TestResetDuringTraffic(t *testing.T) {
	sqltest.EachEngine(t, testResetDuringTraffic)
}

func testResetDuringTraffic(t *testing.T, e sqltest.Engine) {
	db := openDemo(t, e)
	s := stock(t, db)
	items := len(data(t).Records[adapter.StockItems])
	begun, done := make(chan struct{}, 2), make(chan struct{})
	var all sync.WaitGroup
	repeat := func(call func() error) {
		all.Go(func() {
			for turn := 0; ; turn++ {
				if err := call(); err != nil {
					t.Error(err)
					return
				}
				if turn == 0 {
					begun <- struct{}{}
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	repeat(func() error {
		result, err := s.List(t.Context(), &adapter.ListParams{})
		if err == nil && len(result.Records) != items {
			err = fmt.Errorf("%d items, want %d", len(result.Records), items)
		}
		return err
	})
	repeat(func() error {
		began := time.Now()
		err := adaptertest.Update(t, s, 1, 0, attrs{"qty": "7.0000"})
		if adapter.KindOf(err) == adapter.Unavailable && time.Since(began) >= lockWait {
			return nil // on a busy machine a reset may take longer than a write waits for locks
		}
		return err
	})
	<-begun
	<-begun
	for range 5 {
		if err := db.Reset(t.Context(), data(t)); err != nil {
			t.Error(err)
		}
	}
	close(done)
	all.Wait()
}
