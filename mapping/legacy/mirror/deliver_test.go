package mirror_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/follow"
	"github.com/portico-commerce/portico/mapping/legacy/mirror"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

// A trustingSource assumes that the legacy store has stored all that it accepted.
type trustingSource struct {
	mirror.Source
	box coordination.Outboxes
}

func (trustingSource) Refresh(context.Context, ...outbox.Entry) error { return nil }

func (s trustingSource) Settle(ctx context.Context, deliveries ...outbox.Delivery) ([]outbox.Entry, error) {
	for _, d := range deliveries {
		if err := s.box.Delivered(ctx, d.Entry, nil, nil); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// TestDelivererWithoutLease checks that a deliverer sends nothing as soon as another process may
// deliver, and that it stores nothing if it notices only after it has sent something.
func TestDelivererWithoutLease(t *testing.T) {
	for _, tt := range []struct {
		name           string
		may, lost      bool
		sends, removes bool
	}{
		{"with a lease", true, false, true, true},
		{"another process may deliver", false, false, false, false},
		{"another process has the lease", true, true, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, "sqlite:"+filepath.Join(t.TempDir(), "store.db"))
			p := g.start("a", true)
			g.awaitTurn(true)
			p.stop()
			g.change()
			lease, ok, err := g.db.Leases().Acquire(t.Context(), "mirror", "this one", time.Hour)
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			box := g.db.Outbox().Fenced(lease)
			var requests atomic.Int64
			shop := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				requests.Add(1)
				if tt.lost { // while the request is in flight
					if err := g.db.Leases().Release(context.Background(), lease); err != nil {
						t.Error(err)
					}
				}
			}))
			defer shop.Close()
			base, err := url.Parse(shop.URL)
			if err != nil {
				t.Fatal(err)
			}
			attempted := make(chan string, 100)
			d := mirror.Deliverer{
				Outbox: box, Source: trustingSource{box: box}, Records: g.db.Adapter(), States: follow.States, Requests: func() *mirror.Requests { return newRequests(t) }, Log: slog.New(slog.DiscardHandler),
				Sender: &mirror.Sender{
					System: proxy.New(proxy.Options{URL: base, Timeout: 10 * time.Second, MaxIdle: 1, Guard: func(ctx context.Context, _, _ string, f func(context.Context) error) error { return f(ctx) }}),
					Signer: auth.NewSigner("k", "s", "t", "ts"), Table: contract.NewTable(contract.Routes(contract.StandardFields())), Timeout: 10 * time.Second,
				},
				Count:      func(_ adapter.Resource, outcome string) { attempted <- outcome },
				MayDeliver: func() bool { return tt.may },
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				d.Run(ctx)
				close(ended)
			}()
			<-attempted
			if tt.removes {
				g.await("a delivery", func() bool { left, err := g.db.Outbox().Due(t.Context(), 1); return err == nil && len(left) == 0 })
			}
			cancel()
			<-ended
			left, err := g.db.Outbox().Entries(t.Context(), coordination.EntryFilter{Limit: 2})
			if err != nil || (len(left) == 0) != tt.removes {
				t.Errorf("%+v, %v: want it removed: %t", left, err, tt.removes)
			}
			if tt.lost && (len(left) != 1 || !left[0].Sending || left[0].Reason != "") {
				t.Errorf("%+v: something was stored", left)
			}
			if n := requests.Load(); (n > 0) != tt.sends {
				t.Errorf("%d requests, want some: %t", n, tt.sends)
			}
		})
	}
}
