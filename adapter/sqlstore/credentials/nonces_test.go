package credentials

import (
	"strconv"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestPruneNonces checks that prune deletes by age alone.
func TestPruneNonces(t *testing.T) {
	sqltest.EachEngine(t, testPrune)
}

func testPrune(t *testing.T, e sqltest.Engine) {
	db := sqltest.Open(t, e.NewDSN(t))
	credentials, err := New(db, "")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	const old = int64(maxNonceAge / time.Second)
	fill := func(id, received int64) {
		t.Helper()
		if _, err := db.WriteStatements.Exec(t.Context(), "INSERT INTO oauth_nonce VALUES (?, ?, 1, ?)", id, strconv.FormatInt(id, 10), received); err != nil {
			t.Fatal(err)
		}
	}
	fill(1, now)
	fill(2, now-old-1)  // too old
	fill(3, now-old+60) // just not too old
	fill(5_000_000, now)
	// The process has run for long enough, and the clock was never set.
	credentials.nonceClock.steady(adapter.ClockReading{Time: time.Now().Add(-maxNonceAge - time.Second), Uptime: -maxNonceAge - time.Second})
	if err := credentials.prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	for nonce, want := range map[string]bool{"1": true, "2": false, "3": true, "5000000": true} {
		if used, err := credentials.Used(t.Context(), nonce); used != want || err != nil {
			t.Errorf("nonce %s kept: %v, %v; want %v", nonce, used, err, want)
		}
	}
}

// TestNonceClock checks that no nonce is forgotten early, even if people set the clock.
func TestNonceClock(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	type look struct {
		uptime, ahead time.Duration // of the clock
	}
	for _, tt := range []struct {
		name  string
		looks []look
		want  time.Duration // age at which nonces are forgotten after the last look, in true time
	}{
		{"the first look", []look{{time.Minute, 0}}, maxNonceAge + maxClockError},
		{"soon after the start", []look{{0, 0}, {time.Hour, 0}}, maxNonceAge + maxClockError},
		{"a right clock", []look{{0, 0}, {time.Hour, 0}, {3 * time.Hour, 0}}, maxNonceAge},
		{"a clock that is slewed", []look{{0, 0}, {2 * time.Hour, 30 * time.Second}, {4 * time.Hour, time.Minute}}, maxNonceAge - time.Minute},
		{"a day ahead", []look{{0, 0}, {3 * time.Hour, 0}, {4 * time.Hour, 24 * time.Hour}}, maxNonceAge + maxClockError - 24*time.Hour},
		{"a day ahead and back", []look{{0, 0}, {3 * time.Hour, 24 * time.Hour}, {4 * time.Hour, 0}}, maxNonceAge + maxClockError},
		{"a day ahead from the start, and back", []look{{0, 24 * time.Hour}, {3 * time.Hour, 24 * time.Hour}, {4 * time.Hour, 0}}, maxNonceAge + maxClockError},
		{"an hour back", []look{{0, 0}, {3 * time.Hour, -time.Hour}}, maxNonceAge + maxClockError + time.Hour},
		{"an hour back, for long", []look{{0, 0}, {time.Hour, -time.Hour}, {4 * time.Hour, -time.Hour}}, maxNonceAge + time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var n nonceClock
			var oldest time.Time
			var last look
			for _, last = range tt.looks {
				oldest = n.steady(adapter.ClockReading{Time: start.Add(last.uptime + last.ahead), Uptime: last.uptime})
			}
			if got := start.Add(last.uptime).Sub(oldest); got != tt.want {
				t.Errorf("nonces are forgotten after %s, want %s", got, tt.want)
			}
		})
	}
}

// TestUsePrunesNonces checks that Use prunes from time to time.
func TestUsePrunesNonces(t *testing.T) {
	sqltest.EachEngine(t, testUsePrunes)
}

func testUsePrunes(t *testing.T, e sqltest.Engine) {
	db := sqltest.Open(t, e.NewDSN(t))
	credentials, err := New(db, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Writer.ExecContext(t.Context(), "INSERT INTO oauth_nonce (nonce, timestamp, received_at) VALUES ('old', 1, 1)"); err != nil {
		t.Fatal(err)
	}
	credentials.nonceUses.Store(pruneEvery - 2)
	for _, step := range []struct {
		nonce string
		left  bool
	}{{"a", true}, {"b", false}} {
		if fresh, err := credentials.Use(t.Context(), step.nonce, 1); !fresh || err != nil {
			t.Fatal(fresh, err)
		}
		if used, err := credentials.Used(t.Context(), "old"); used != step.left || err != nil {
			t.Errorf("after %s the old nonce is there: %v, %v", step.nonce, used, err)
		}
	}
}
