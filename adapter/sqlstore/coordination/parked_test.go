package coordination_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"

	"github.com/google/go-cmp/cmp"
)

// TestParked stores dead letters, stores them again, selects them, and removes them.
func TestParked(t *testing.T) {
	sqltest.EachEngine(t, testParked)
}

func testParked(t *testing.T, e sqltest.Engine) {
	ctx, imports := t.Context(), coordination.NewImportLog(sqltest.Open(t, e.NewDSN(t)))
	at := func(minute int) time.Time { return time.Date(2026, 3, 1, 9, minute, 0, 5e6, time.UTC).Local() }
	park := func(source string, records ...coordination.Parked) {
		t.Helper()
		if err := imports.Park(ctx, source, records...); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(name, source string, f coordination.ParkedFilter, want ...coordination.Parked) {
		t.Helper()
		if f.Limit == 0 {
			f.Limit = 100
		}
		got, err := imports.Parked(ctx, source, f)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", name, diff)
		}
	}
	unpark := func(part string, keys ...adapter.Key) {
		t.Helper()
		if err := imports.Unpark(ctx, "old", part, keys...); err != nil {
			t.Fatal(err)
		}
	}

	a := coordination.Parked{"products", 7, "another product has the SKU", 1, at(0), at(30)}
	b := coordination.Parked{"products", 8, "its website is not here", 1, at(1), at(10)}
	c := coordination.Parked{"orders", 7, "its customer is not here", 1, at(2), at(20)}
	park("old", a, b, c)
	park("other", a)
	expect("all", "old", coordination.ParkedFilter{}, b, c, a)
	expect("a part", "old", coordination.ParkedFilter{Part: "products"}, b, a)
	expect("due", "old", coordination.ParkedFilter{RetryBy: at(20)}, b, c)
	expect("due of a part", "old", coordination.ParkedFilter{Part: "products", RetryBy: at(20)}, b)
	expect("a limit", "old", coordination.ParkedFilter{Limit: 1}, b)
	expect("another source", "other", coordination.ParkedFilter{}, a)
	expect("no source", "new", coordination.ParkedFilter{})
	if counts, err := imports.CountParked(ctx, "old"); err != nil || !cmp.Equal(counts, map[string]int64{"products": 2, "orders": 1}) {
		t.Errorf("counts %v, %v", counts, err)
	}

	park("old", coordination.Parked{"products", 8, "no price that can be stored", 9, at(5), at(40)}) // the store counts attempts
	b.Reason, b.Attempts, b.RetryAt = "no price that can be stored", 2, at(40)
	expect("parked again", "old", coordination.ParkedFilter{Part: "products"}, a, b)
	unpark("products", 7, 9)
	expect("unparked", "old", coordination.ParkedFilter{}, c, b)
	unpark("products")
	expect("unparked as a whole", "old", coordination.ParkedFilter{}, c)

	for _, reason := range []string{strings.Repeat("ä", 200), "\xff\x00" + strings.Repeat("x", 300)} {
		park("old", coordination.Parked{"orders", 7, reason, 0, at(0), at(0)})
		got, err := imports.Parked(ctx, "old", coordination.ParkedFilter{Limit: 1})
		if err != nil || len(got) != 1 || len(got[0].Reason) < 250 || len(got[0].Reason) > 255 || !utf8.ValidString(got[0].Reason) {
			t.Errorf("a long reason: %+v, %v", got, err)
		}
	}
}

// TestTooManyParked checks that one entry replaces the dead letters of a part if there
// are too many.
func TestTooManyParked(t *testing.T) {
	imports := coordination.NewImportLog(sqltest.Open(t, sqltest.Engines()[0].NewDSN(t)))
	records := make([]coordination.Parked, coordination.MaxParked)
	now := time.Now().Truncate(time.Millisecond)
	for i := range records {
		records[i] = coordination.Parked{"orders", adapter.Key(i + 1), "its customer is not here", 1, now, now}
	}
	other := coordination.Parked{"products", 1, "another product has the SKU", 1, now, now}
	park := func(records ...coordination.Parked) {
		t.Helper()
		if err := imports.Park(t.Context(), "old", records...); err != nil {
			t.Fatal(err)
		}
	}
	count := func(want map[string]int64) {
		t.Helper()
		if got, err := imports.CountParked(t.Context(), "old"); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}
	park(append(records, other)...)
	count(map[string]int64{"orders": coordination.MaxParked, "products": 1})
	last := records[0]
	last.Key = coordination.MaxParked + 1
	park(last)
	got, err := imports.Parked(t.Context(), "old", coordination.ParkedFilter{Part: "orders", Limit: 9})
	last.Key, last.Reason = 0, "too many records to park one by one; one of them: "+last.Reason
	if diff := cmp.Diff([]coordination.Parked{last}, got); diff != "" || err != nil {
		t.Errorf("%v, want -, got +:\n%s", err, diff)
	}
	count(map[string]int64{"orders": 1, "products": 1})
}
