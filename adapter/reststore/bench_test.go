package reststore_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/portico-commerce/portico/adapter"
)

// BenchmarkProduct and BenchmarkProducts100 compare reads through the adapter (local
// replica in SQLite, ID map, mapping) with the same requests sent with net/http, to a
// backend that answers immediately from memory. Both variants run in short alternating
// slices; the benchmark reports medians of the pairs:
//
//	ratio       time of a read through the adapter as a multiple of the bare requests'
//	overhead-µs time that the adapter adds to the bare requests
//	local-µs     the part of it that reads the local replica, needed without a backend, too
//	bare-µs     time of the bare requests
//
// The documents are unchanged, as they nearly always are. A list of 100 takes three
// parallel requests in both variants.
func BenchmarkProduct(b *testing.B) { benchmarkRead(b, 1) }

func BenchmarkProducts100(b *testing.B) { benchmarkRead(b, 100) }

func benchmarkRead(b *testing.B, count int) {
	s := openMigratedShop(b)
	store, err := s.Store(adapter.Products)
	if err != nil {
		b.Fatal(err)
	}
	createProducts(b, store, 100)
	var asked recording
	s.shop.setIntercept(asked.replay(s.shop.routes()))
	local, err := s.replica.Store(adapter.Products)
	if err != nil {
		b.Fatal(err)
	}
	read := func(store adapter.Store) error {
		if count == 1 {
			_, err := store.Get(b.Context(), &adapter.GetParams{Key: 1})
			return err
		}
		found, err := store.List(b.Context(), &adapter.ListParams{Query: adapter.Query{Limit: int64(count)}})
		if err == nil && len(found.Records) != count {
			err = fmt.Errorf("%d records", len(found.Records))
		}
		return err
	}
	ours, alone := func() error { return read(store) }, func() error { return read(local) }
	if err := ours(); err != nil {
		b.Fatal(err)
	}
	sent := asked.requests()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	defer client.CloseIdleConnections()
	bare := func() error { return sendAll(b.Context(), client, s.shop.URL, sent) }

	const slice = 100 * time.Millisecond
	timed := func(f func() error) float64 {
		n, start := 0, time.Now()
		for ; time.Since(start) < slice; n++ {
			if err := f(); err != nil {
				b.Fatal(err)
			}
		}
		return float64(time.Since(start).Microseconds()) / float64(n)
	}
	timed(bare)
	timed(ours)
	var ratios, extra, locals, floor []float64
	for b.Loop() {
		without, with, local := timed(bare), timed(ours), timed(alone)
		ratios, extra, locals, floor = append(ratios, with/without), append(extra, with-without), append(locals, local), append(floor, without)
	}
	median := func(all []float64) float64 { slices.Sort(all); return all[len(all)/2] }
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(median(extra), "overhead-µs")
	b.ReportMetric(median(locals), "local-µs")
	b.ReportMetric(median(floor), "bare-µs")
	b.ReportMetric(float64(len(sent)), "requests")
	b.ReportMetric(0, "ns/op")
}

// createProducts creates products until there are enough.
func createProducts(b *testing.B, store adapter.Store, enough int) {
	b.Helper()
	first, err := store.Get(b.Context(), &adapter.GetParams{Key: 1, With: []string{"tier_price", "group_price"}})
	if err != nil {
		b.Fatal(err)
	}
	for i := range enough {
		r := adapter.NewRecord(first.Schema)
		for j, a := range first.Schema.Attributes {
			if !a.ReadOnly && !a.OnDemand {
				r.Values[j] = first.Values[j]
			}
		}
		r.Set("sku", adapter.TextValue("filling-"+strconv.Itoa(i)))
		r.Set("url_key", adapter.TextValue("filling-"+strconv.Itoa(i)))
		if _, err := store.Create(b.Context(), &adapter.CreateParams{Record: r}); err != nil {
			b.Fatal(err)
		}
	}
}

// A recording has requests and their responses.
type recording struct {
	mu      sync.Mutex
	answers map[string][]byte
	sent    []*http.Request
}

func (a *recording) requests() []*http.Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sent
}

// replay answers repeated reads from memory.
func (a *recording) replay(behind http.Handler) func(http.ResponseWriter, *http.Request) bool {
	a.answers = map[string][]byte{}
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet {
			return false
		}
		a.mu.Lock()
		body, known := a.answers[r.URL.RequestURI()]
		a.mu.Unlock()
		if !known {
			recorder := httptest.NewRecorder()
			behind.ServeHTTP(recorder, r)
			body = recorder.Body.Bytes()
			a.mu.Lock()
			a.answers[r.URL.RequestURI()] = body
			a.sent = append(a.sent, r)
			a.mu.Unlock()
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
		return true
	}
}

// sendAll sends the requests again and reads the responses.
func sendAll(ctx context.Context, client *http.Client, url string, sent []*http.Request) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, r := range sent {
		group.Go(func() error {
			again, err := http.NewRequestWithContext(ctx, r.Method, url+r.URL.RequestURI(), nil)
			if err != nil {
				return err
			}
			again.Header = r.Header
			answer, err := client.Do(again)
			if err != nil {
				return err
			}
			defer func() { _ = answer.Body.Close() }()
			_, err = io.Copy(io.Discard, answer.Body)
			return err
		})
	}
	return group.Wait()
}
