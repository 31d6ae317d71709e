package program

import (
	"encoding/json"
	"fmt"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestBatchesOfReplicas checks that batches of stock items which overlap, sent to four replicas
// at once, leave a result that some order of whole batches explains. It makes 200 rounds at
// night.
func TestBatchesOfReplicas(t *testing.T) {
	t.Parallel()
	for engine, newDSN := range apptest.DemoDatabases(t) {
		t.Run(engine, func(t *testing.T) {
			rounds := 4
			if testenv.Nightly() {
				rounds = 200
			}
			dsn, media := newDSN(t), t.TempDir()
			var replicas []*apptest.Client
			for range 4 {
				p := apptest.Start(t, []string{"PORTICO_SQL_DSN=" + dsn, "PORTICO_SQL_MEDIA_DIR=" + media})
				replicas = append(replicas, apptest.NewClient(t, p.Contract, apptest.DemoAdmin()))
			}
			refused := 0
			for round := range rounds {
				refused += overlapBatches(t, replicas, round)
			}
			t.Logf("%d rounds; %d batches were answered 503", rounds, refused)
		})
	}
}

// overlapBatches sends batches to replicas at once, each of four out of six items in another
// order, and checks the result. It returns the number of refused batches.
func overlapBatches(t *testing.T, replicas []*apptest.Client, round int) (refused int) {
	t.Helper()
	const batches, items, each = 12, 6, 4
	first := 1000 + round*batches // each batch writes its number to two fields of its items
	random := rand.New(rand.NewPCG(uint64(round), 0))
	replies := make([]apptest.Reply, batches)
	written := map[int][]string{}
	start := make(chan struct{})
	var running sync.WaitGroup
	for b := range batches {
		var entries []string
		for _, i := range random.Perm(items)[:each] {
			id := strconv.Itoa(i + 1)
			written[first+b] = append(written[first+b], id)
			entries = append(entries, fmt.Sprintf(`{"item_id":%s,"qty":%d,"min_sale_qty":%[2]d}`, id, first+b))
		}
		running.Go(func() {
			<-start
			var err error
			if replies[b], err = replicas[b%len(replicas)].Call(t.Context(), http.MethodPut, "/stockitems", "["+strings.Join(entries, ",")+"]"); err != nil {
				t.Errorf("round %d: %v", round, err)
			}
		})
	}
	close(start)
	running.Wait()
	for b, reply := range replies {
		var saved struct{ Success, Error []json.RawMessage }
		switch {
		case reply.Status == http.StatusServiceUnavailable: // nothing is stored
			refused++
			delete(written, first+b)
		case reply.Status != http.StatusMultiStatus || json.Unmarshal([]byte(reply.Body), &saved) != nil || len(saved.Success) != each || len(saved.Error) > 0:
			t.Fatalf("round %d: %d %s, want %d successes", round, reply.Status, reply.Body, each)
		}
	}
	if err := testenv.CheckBatches(written, heldBatches(t, replicas[round%len(replicas)], items)); err != nil {
		t.Errorf("round %d: %v", round, err)
	}
	return refused
}

// heldBatches returns, for each of some items, the batch whose values the item holds.
func heldBatches(t *testing.T, c *apptest.Client, items int) map[string]int {
	t.Helper()
	held := map[string]int{}
	for i := range items {
		id := strconv.Itoa(i + 1)
		var item struct {
			Qty     json.Number `json:"qty"`
			MinSale json.Number `json:"min_sale_qty"`
		}
		c.Read(t, "/stockitems/"+id, &item)
		qty, err := item.Qty.Float64()
		minSale, minErr := item.MinSale.Float64()
		if err != nil || minErr != nil || qty != minSale {
			t.Errorf("item %s holds qty %s of one batch and min_sale_qty %s of another (%v, %v)", id, item.Qty, item.MinSale, err, minErr)
		}
		held[id] = int(qty)
	}
	return held
}
