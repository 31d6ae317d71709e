package follow

import (
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
)

// TestParkedAfterClockWentBack checks which parked records are tried again, also after the clock was
// set back.
func TestParkedAfterClockWentBack(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for wait, want := range map[time.Duration]bool{-time.Hour: true, 0: true, time.Second: false, lastRetry: false, lastRetry + time.Second: true, 24 * time.Hour: true} {
		k := &parkedRecords{records: map[magento1.Part]map[adapter.Key]coordination.Parked{magento1.Products: {7: {RetryAt: now.Add(wait)}}}}
		if due := k.due(now); (len(due) > 0) != want {
			t.Errorf("to be tried again in %s: due are %v", wait, due)
		}
	}
}
