package mapping_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A pagedShop is a shop that counts its store reads, with a clock that the test controls.
type pagedShop struct {
	*shop
	reads *reads
	clock *atomic.Int64 // offset in seconds
}

// openPaged opens a shop on a store that holds the demo store; between, if not nil, may
// wrap the store below the counting.
func openPaged(t testing.TB, store *store, between func(adapter.Adapter) adapter.Adapter) pagedShop {
	t.Helper()
	s := pagedShop{reads: &reads{}, clock: &atomic.Int64{}}
	with := settings()
	start := with.Now()
	with.Now = func() time.Time { return start.Add(time.Duration(s.clock.Load()) * time.Second) }
	s.shop = serveDemo(t, contract.Documented(), with, store, func(a adapter.Adapter) adapter.Adapter {
		if between != nil {
			a = between(a)
		}
		return s.reads.counting(a)
	})
	return s
}

// ids returns the ids of a list of stock items.
func (s pagedShop) ids(t testing.TB, query string) []int64 {
	t.Helper()
	r := s.serve(contract.Admin, "GET", "/stockitems?attrs=item_id&"+query, "", "Accept", "application/json")
	var items []struct {
		ID int64 `json:"item_id,string"`
	}
	if err := json.Unmarshal(r.Body, &items); err != nil || r.Status != 200 {
		t.Fatalf("%s: %d %s", query, r.Status, r.Body)
	}
	ids := make([]int64, len(items))
	for i, item := range items {
		ids[i] = item.ID
	}
	return ids
}

// setQty changes the quantity of an item with a call.
func (s pagedShop) setQty(t testing.TB, id, qty int) {
	t.Helper()
	checkSaved(t, s.put(fmt.Sprintf("/stockitems/%d", id), "application/json", fmt.Sprintf(`{"qty":%d}`, qty)))
}

// setQtyDirectly changes the quantity of an item in the store, as another process would.
func (s pagedShop) setQtyDirectly(t testing.TB, id int, qty string) {
	t.Helper()
	if err := s.items.Update(t.Context(), &adapter.UpdateParams{Key: adapter.Key(id), Change: func(current adapter.Record) (adapter.Record, error) {
		next := adapter.NewRecord(current.Schema)
		next.Set("qty", adapter.TextValue(qty))
		return next, nil
	}}); err != nil {
		t.Fatal(err)
	}
}

// TestPageQueries checks which store reads each page takes, in a shop with twelve items.
func TestPageQueries(t *testing.T) {
	t.Parallel()
	type step struct {
		query string // or another step, with an exclamation mark
		want  []string
	}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"a page requested directly, then again", []step{
			{"limit=2&page=4", []string{"offset 5"}}, {"limit=2&page=4", []string{"mark"}}, {"limit=2&page=5", []string{"mark"}},
			{"limit=2&page=3", []string{"offset 3"}}, {"limit=2&page=1", []string{"start"}}, {"limit=2&page=2", []string{"mark"}},
		}},
		{"beyond the end", []step{
			{"limit=5&page=99", []string{"offset 489", "count", "offset 9"}},
			{"limit=5&page=99", []string{"mark"}}, {"limit=5&page=7", []string{"mark"}}, {"limit=4&page=7", []string{"offset 7"}},
		}},
		{"beyond the end, in descending order", []step{
			{"limit=5&page=99&order=qty&dir=asc", []string{"offset 489", "count", "offset 9"}},
			{"limit=5&page=99&order=qty&dir=desc", []string{"offset 9"}}, {"limit=5&page=99", []string{"offset 9"}},
		}},
		{"beyond the end after reaching it", []step{
			{"limit=5&page=2", []string{"offset 4"}}, {"limit=5&page=3", []string{"mark"}}, {"limit=5&page=4", []string{"mark"}},
		}},
		{"beyond a full last page", []step{
			{"limit=6&page=2", []string{"offset 5"}}, {"limit=6&page=3", []string{"mark", "mark"}}, {"limit=6&page=3", []string{"mark"}},
		}},
		{"just beyond a full last page", []step{{"limit=6&page=3", []string{"offset 11", "offset 5"}}}},
		{"beyond any possible page", []step{
			{"limit=5&page=1e300", []string{"count", "offset 9"}}, {"limit=5&page=1e300", []string{"mark"}},
		}},
		{"fractional page numbers", []step{
			{"limit=4&page=2.5", []string{"count", "offset 5"}}, {"limit=4&page=2.5", []string{"mark"}}, {"limit=4&page=1.5", []string{"offset 1"}},
			{"limit=4&page=3.5", []string{"offset 7"}},
		}},
		{"another limit in between", []step{
			{"limit=2&page=2", []string{"offset 1"}}, {"limit=4&page=2", []string{"mark"}}, {"limit=8&page=2", []string{"mark"}},
		}},
		{"empty list", []step{
			{"filter[1][attribute]=qty&filter[1][eq]=5432&page=3", []string{"offset 19", "count"}},
			{"filter[1][attribute]=qty&filter[1][eq]=5432&page=3", []string{"start"}},
		}},
		{"other conditions", []step{
			{"limit=1&page=3&filter[1][attribute]=qty&filter[1][gt]=0", []string{"offset 1"}}, {"limit=1&page=3&filter[1][attribute]=qty&filter[1][gt]=1", []string{"offset 1"}},
			{"limit=1&page=3&filter[1][attribute]=qty&filter[1][gt]=0", []string{"mark"}},
		}},
		{"a condition that SQL cannot evaluate", []step{
			{"limit=1&page=3&filter[1][attribute]=qty&filter[1][regexp]=0$", []string{"offset 1"}}, {"limit=1&page=4&filter[1][attribute]=qty&filter[1][regexp]=0$", []string{"mark"}},
		}},
		{"a write invalidates the cache", []step{
			{"limit=5&page=99", []string{"offset 489", "count", "offset 9"}}, {"!write", nil},
			{"limit=5&page=99", []string{"offset 489", "count", "offset 9"}}, {"limit=5&page=99", []string{"mark"}},
		}},
		{"a refused write invalidates the cache", []step{
			{"limit=5&page=2", []string{"offset 4"}}, {"!refused", nil}, {"limit=5&page=2", []string{"offset 4"}},
		}},
		{"a replaced store invalidates the cache", []step{
			{"limit=5&page=2", []string{"offset 4"}}, {"!forget", nil}, {"limit=5&page=2", []string{"offset 4"}},
		}},
		{"entries expire after a minute", []step{
			{"limit=5&page=99", []string{"offset 489", "count", "offset 9"}}, {"!59s", nil}, {"limit=5&page=99", []string{"mark"}},
			{"!1s", nil}, {"limit=5&page=99", []string{"offset 489", "count", "offset 9"}},
		}},
		{"positions expire a minute after the last read at an offset", []step{
			{"limit=2&page=2", []string{"offset 1"}}, {"!30s", nil}, {"limit=2&page=3", []string{"mark"}}, {"!29s", nil}, {"limit=2&page=4", []string{"mark"}},
			{"!1s", nil}, {"limit=2&page=5", []string{"offset 7"}}, {"!30s", nil}, {"limit=2&page=6", []string{"mark"}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openPaged(t, openDemo(t), nil)
			for i, step := range c.steps {
				switch action, is := strings.CutPrefix(step.query, "!"); {
				case !is:
					s.reads.take()
					s.ids(t, step.query)
					if got := s.reads.takeListStarts(); !slices.Equal(got, step.want) {
						t.Errorf("step %d, %s: read %q, want %q", i+1, step.query, got, step.want)
					}
				case action == "write":
					s.setQty(t, 1, 5)
				case action == "refused":
					if r := s.put("/stockitems/1", "application/json", `{"qty":"x"}`); r.Status != 400 {
						t.Fatalf("%d %s", r.Status, r.Body)
					}
				case action == "forget":
					s.service.InvalidateLists()
				default:
					d, err := time.ParseDuration(action)
					if err != nil {
						t.Fatal(err)
					}
					s.clock.Add(int64(d.Seconds()))
				}
			}
		})
	}
}

// TestDeepPages requests pages of a long list directly. A page is read from a known position before it, if there
// is one in its stretch of the list or in an earlier one, and has the items that a walk has there.
func TestDeepPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, _ := demotest.NewCatalog(t, dir, 7000)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := openPaged(t, openSQLite(t, "sqlite:"+filepath.Join(dir, "demo.db"), nil, nil), nil)
	var all []int64
	for page := 1; page <= 70; page++ {
		all = append(all, s.ids(t, fmt.Sprintf("limit=100&page=%d", page))...)
	}
	s.service.InvalidateLists()
	for _, step := range []struct {
		page int
		want string
	}{
		{50, "offset 4899"}, {52, "mark and offset 99"}, {50, "mark"}, {51, "mark"},
		{45, "offset 4399"}, {60, "mark and offset 1399"}, {70, "mark and offset 899"}, {10, "offset 899"}, {21, "offset 1999"},
	} {
		s.reads.take()
		got := s.ids(t, fmt.Sprintf("limit=100&page=%d", step.page))
		if starts := s.reads.takeListStarts(); len(starts) != 1 || starts[0] != step.want {
			t.Errorf("page %d: read %q, want %q", step.page, starts, step.want)
		}
		if want := all[(step.page-1)*100 : step.page*100]; !slices.Equal(got, want) {
			t.Errorf("page %d: items %v, want %v", step.page, got, want)
		}
	}
}

// TestPagingThroughAList reads fifty pages, each with one query that skips no records.
func TestPagingThroughAList(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"", "&order=increment_id&dir=asc", "&order=increment_id", "&order=customer_id&dir=asc", "&order=customer_id"} {
		t.Run(order, func(t *testing.T) {
			shop := openOrderShop(t, contract.Documented())
			for page := 1; page <= 50; page++ {
				if r := shop.get(t, contract.Admin, fmt.Sprintf("/orders?limit=2&page=%d&attrs=entity_id%s", page, order)); r.Status != 200 {
					t.Fatalf("%d %s", r.Status, r.Body)
				}
			}
			starts := shop.reads.takeListStarts()
			if len(starts) != 50 || starts[0] != "start" || slices.ContainsFunc(starts[1:], func(start string) bool { return start != "mark" }) {
				t.Errorf("%d queries: %q", len(starts), starts)
			}
		})
	}
}

// An itemList is the query of a list of stock items, as a query string and for the
// adapter.
type itemList struct {
	query url.Values
	as    adapter.Query
}

// itemLists returns some lists that change with quantities.
func itemLists() []itemList {
	gt := adapter.Test{Attribute: "qty", Op: adapter.Gt, Operands: []string{"20"}}
	matches := adapter.Test{Attribute: "qty", Op: adapter.Matches, Operands: []string{"[02468][.]"}}
	var all []itemList
	for _, by := range []struct{ order, dir string }{{"", ""}, {"qty", "asc"}, {"qty", "desc"}, {"low_stock_date", "desc"}, {"low_stock_date", "asc"}, {"item_id", "desc"}} {
		for _, test := range []*adapter.Test{nil, &gt, &matches} {
			l := itemList{url.Values{}, adapter.Query{OrderBy: by.order, Desc: by.dir == "desc"}}
			if by.order != "" {
				l.query.Set("order", by.order)
				l.query.Set("dir", by.dir)
			}
			if test != nil {
				l.query.Set("filter[1][attribute]", test.Attribute)
				l.query.Set(map[adapter.Op]string{adapter.Gt: "filter[1][gt]", adapter.Matches: "filter[1][regexp]"}[test.Op], test.Operands[0])
				l.as.Where = []adapter.Condition{{Any: []adapter.Test{*test}}}
			}
			all = append(all, l)
		}
	}
	return all
}

// page returns the ids of a page according to wire 10, computed by adapter.Apply from all
// records of the store.
func (s pagedShop) page(t testing.TB, l itemList, limit int, page float64) []int64 {
	t.Helper()
	all, err := s.items.List(t.Context(), &adapter.ListParams{})
	if err != nil {
		t.Fatal(err)
	}
	records, total, err := adapter.Apply(t.Context(), adapter.NewSchemas().Of(adapter.StockItems), all.Records, &l.as)
	if err != nil {
		t.Fatal(err)
	}
	if limit > 0 && page > 1 && total > 0 {
		offset := int(math.Trunc((page - 1) * float64(limit)))
		if last := (len(records) + limit - 1) / limit; page > float64(last) {
			offset = (last - 1) * limit
		}
		records = records[offset:]
	}
	if limit > 0 {
		records = records[:min(limit, len(records))]
	}
	ids := make([]int64, len(records))
	for i, r := range records {
		ids[i] = r.Get("item_id").Int()
	}
	return ids
}

// TestRandomPages reads pages in order and at random, writes at random, and compares
// every page with the result of adapter.Apply on all records.
func TestRandomPages(t *testing.T) {
	t.Parallel()
	steps := 400
	if !testenv.Nightly() {
		steps = 100
	}
	for seed := range uint64(3) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			s := openPaged(t, openDemo(t), nil)
			all := itemLists()
			l, limit, page := all[0], 2, 1.0
			for range steps {
				switch random.IntN(12) {
				case 0:
					s.setQty(t, 1+random.IntN(12), random.IntN(50))
					continue
				case 1: // by another process, visible a minute later
					s.setQtyDirectly(t, 1+random.IntN(12), strconv.Itoa(random.IntN(50))+".0000")
					s.clock.Add(60)
					continue
				case 2:
					s.clock.Add(int64(random.IntN(40)))
				case 3:
					l, page = all[random.IntN(len(all))], 1
				case 4:
					limit = random.IntN(6)
				case 5:
					page = float64(random.IntN(20))
				case 6:
					page = float64(random.IntN(2000)) / 100
				case 7:
					page = 1e17
				default:
					page++
				}
				query := fmt.Sprintf("limit=%d&page=%s&%s", limit, strconv.FormatFloat(page, 'f', -1, 64), l.query.Encode())
				if got, want := s.ids(t, query), s.page(t, l, limit, page); !slices.Equal(got, want) {
					t.Fatalf("%s: %v, want %v", query, got, want)
				}
			}
		})
	}
}

// TestPagesWithConcurrentWriters checks that each of several concurrent writers sees its
// own writes, and that all see the same once they are done.
func TestPagesWithConcurrentWriters(t *testing.T) {
	const writers, rounds = 4, 10
	s := openPaged(t, openSQLiteDemo(t), nil)
	for id := range 3 * writers {
		s.setQty(t, id+1, 0)
	}
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 3))
			// The writer's own items, with a range of quantities of their own.
			ids, base := []int{3*w + 1, 3*w + 2, 3*w + 3}, 1000*(w+1)
			band := fmt.Sprintf("filter[1][attribute]=qty&filter[1][from]=%d&filter[1][to]=%d", base, base+999)
			qty := map[int]int{}
			for range rounds {
				id := ids[random.IntN(len(ids))]
				qty[id] = (base + random.IntN(1000)) * random.IntN(2)
				s.setQty(t, id, qty[id])
				var within []int64
				for _, id := range ids {
					if qty[id] != 0 {
						within = append(within, int64(id))
					}
				}
				slices.SortFunc(within, func(a, b int64) int { return 10*(qty[int(a)]-qty[int(b)]) + int(a-b) })
				for page := 1; page <= len(within)+1; page++ {
					want := within
					if len(want) > 0 {
						at := min(page, len(want))
						want = want[at-1 : at]
					}
					query := fmt.Sprintf("limit=1&page=%d&order=qty&dir=asc&%s", page, band)
					if got := s.ids(t, query); !slices.Equal(got, want) {
						t.Errorf("%s: %v, want %v", query, got, want)
					}
				}
			}
		})
	}
	running.Wait()
	for _, l := range itemLists() {
		for page := range 8 {
			query := fmt.Sprintf("limit=2&page=%d&%s", page, l.query.Encode())
			if got, want := s.ids(t, query), s.page(t, l, 2, float64(page)); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", query, got, want)
			}
		}
	}
}

// A heldStore blocks every count until the test releases it.
type heldStore struct {
	adapter.Store
	started chan<- struct{}
	release <-chan struct{}
}

func (s heldStore) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	if p.Count {
		s.started <- struct{}{}
		<-s.release
	}
	return s.Store.List(ctx, p)
}

// TestCountsAreShared checks that callers beyond the end of the same list wait for one
// count, which continues when the first caller has gone.
func TestCountsAreShared(t *testing.T) {
	const callers = 8
	started, release := make(chan struct{}, callers), make(chan struct{})
	s := openPaged(t, openDemo(t), wrapStores(func(_ adapter.Resource, s adapter.Store) adapter.Store {
		return heldStore{s, started, release}
	}))
	ctx, leave := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		s.serveWith(ctx, contract.Admin, "GET", "/stockitems?limit=5&page=1e300", "", "Accept", "application/json")
	})
	<-started
	leave()
	for range callers {
		running.Go(func() {
			if got := s.ids(t, "limit=5&page=1e300"); !slices.Equal(got, []int64{11, 12}) {
				t.Errorf("got %v, want the last page", got)
			}
		})
	}
	close(release)
	running.Wait()
	counts := 0
	for _, form := range s.reads.takeListStarts() {
		if form == "count" {
			counts++
		}
	}
	if counts != 1 {
		t.Errorf("%d counts", counts)
	}
}

// TestStaleTotal checks a page whose records another process has deleted while its
// position was cached.
func TestStaleTotal(t *testing.T) {
	s := openPaged(t, openDemo(t), nil)
	const beyond = "limit=2&page=9&filter[1][attribute]=qty&filter[1][gteq]=5000"
	for id := 1; id <= 5; id++ {
		s.setQty(t, id, 5000+id)
	}
	if got := s.ids(t, beyond); !slices.Equal(got, []int64{5}) {
		t.Fatalf("got %v", got)
	}
	for id := 3; id <= 5; id++ {
		s.setQtyDirectly(t, id, "1.0000")
	}
	s.reads.take()
	if got := s.ids(t, beyond); !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("got %v, want the last page", got)
	}
	if got, want := s.reads.takeListStarts(), []string{"mark", "count", "start"}; !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
	if got := s.ids(t, beyond); !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("got %v, want the last page", got)
	}
	if got, want := s.reads.takeListStarts(), []string{"start"}; !slices.Equal(got, want) {
		t.Errorf("then read %q, want %q", got, want)
	}
}

// TestMaxRows checks the maximum length of a list without a limit, on its page.
func TestMaxRows(t *testing.T) {
	with := settings()
	with.MaxRows = 3
	s := openShopWith(t, contract.Documented(), with, nil)
	for query, want := range map[string]string{
		"limit=0": `[{"item_id":"1"},{"item_id":"2"},{"item_id":"3"}]`,
		"limit=0&filter[1][attribute]=qty&filter[1][regexp]=.": `[{"item_id":"1"},{"item_id":"2"},{"item_id":"3"}]`,
		"limit=4": `[{"item_id":"1"},{"item_id":"2"},{"item_id":"3"},{"item_id":"4"}]`,
	} {
		checkReply(t, s.serve(contract.Admin, "GET", "/stockitems?attrs=item_id&"+query, "", "Accept", "application/json"), 200, typeJSON, want)
	}
}
