package mapping_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
)

// TestOverlappingBatches checks that overlapping batch updates of a backend that knows no batches
// leave the same result as some sequence of whole batches. Each batch writes its own number to two fields of three
// out of five items.
func TestOverlappingBatches(t *testing.T) {
	const rounds = 10
	// Between two items of a batch, let others run.
	let := func(string, adapter.Key) error {
		for range rand.IntN(100) {
			runtime.Gosched()
		}
		return nil
	}
	s := serveDemo(t, contract.Documented(), settings(), openSQLiteDemo(t), faultyStores(let))
	for round := range rounds {
		overlap(t, s, uint64(round))
	}
}

func overlap(t *testing.T, s *shop, seed uint64) {
	t.Helper()
	const batches, items, each = 50, 5, 3
	random := rand.New(rand.NewPCG(seed, 0))
	written := make([][]int, batches) // the items of each batch, in order
	for b := range written {
		for _, i := range random.Perm(items)[:each] {
			written[b] = append(written[b], i+1)
		}
	}

	start := make(chan struct{})
	var running sync.WaitGroup
	for b, ids := range written {
		var entries, saved []string
		for _, id := range ids {
			entries = append(entries, fmt.Sprintf(`{"item_id":%d,"qty":%d,"min_sale_qty":%[2]d}`, id, 1000+b))
			saved = append(saved, updated(strconv.Itoa(id)))
		}
		running.Go(func() {
			<-start
			checkReply(t, s.put("/stockitems", "application/json", "["+strings.Join(entries, ",")+"]"), 207, typeJSON, success(saved...))
		})
	}
	close(start)
	running.Wait()

	held, batchOf := map[string]int{}, map[int][]string{}
	for b, ids := range written {
		for _, id := range ids {
			batchOf[b] = append(batchOf[b], strconv.Itoa(id))
		}
	}
	for id := 1; id <= items; id++ {
		item := s.item(t, id)
		if item["qty"] != item["min_sale_qty"] {
			t.Errorf("item %d holds qty %s of one batch and min_sale_qty %s of another", id, item["qty"], item["min_sale_qty"])
		}
		number, err := strconv.ParseFloat(item["qty"], 64)
		if err != nil {
			t.Fatal(err)
		}
		held[strconv.Itoa(id)] = int(number) - 1000
	}
	if err := testenv.CheckBatches(batchOf, held); err != nil {
		t.Errorf("round %d: %v", seed, err)
	}
}
