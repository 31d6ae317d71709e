package reststore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
)

// BenchmarkRead compares reads through the adapter, of one product and of a list of 100, with the
// minimum cost of a read. The backend is a process of its own, which replies from memory,
// immediately or after 20 ms. All variants alternate in short slices:
//
//   - the floor: the same requests, sent with net/http and decoded with encoding/json, and the
//     read of the local replica;
//   - bare: the requests alone, whose responses are read and not decoded;
//   - local: the read of the local replica alone.
//
// It reports medians: the time and this process's processor time of one read, in microseconds, and
// the same figures of a read through the adapter as multiples of the floor's and of the bare
// requests'. The documents are unchanged, as they nearly always are. A list of 100 takes three
// requests at once.
func BenchmarkRead(b *testing.B) {
	s := openShop(b, fakeShopKind)
	createProducts(b, adaptertest.StoreOf(b, s, adapter.Products), 100)
	for _, c := range []struct {
		name  string
		count int
		delay time.Duration
	}{
		{"single/0ms", 1, 0},
		{"single/20ms", 1, 20 * time.Millisecond},
		{"list100/0ms", 100, 0},
		{"list100/20ms", 100, 20 * time.Millisecond},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkRead(b, s, c.count, c.delay) })
	}
}

func benchmarkRead(b *testing.B, s *migratedShop, count int, delay time.Duration) {
	var recorded recording
	s.server.setIntercept(recorded.record(s.shop.routes()))
	if err := readProducts(b.Context(), adaptertest.StoreOf(b, s, adapter.Products), count); err != nil {
		b.Fatal(err)
	}
	url := startStandIn(b, &recorded, delay)
	a, err := s.kind.openAdapter(s.replica, url, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = a.Close() })
	store, local := adaptertest.StoreOf(b, a, adapter.Products), adaptertest.StoreOf(b, s.replica, adapter.Products)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: len(recorded.sent)}}
	b.Cleanup(client.CloseIdleConnections)

	// Tests run with a larger heap than the default, which would hide the cost of garbage.
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	ours := &variant{run: func() error { return readProducts(b.Context(), store, count) }}
	bare := &variant{run: func() error { return sendAll(b.Context(), client, url, recorded.sent, discard) }}
	floor := &variant{run: func() error {
		if err := sendAll(b.Context(), client, url, recorded.sent, decodeJSON); err != nil {
			return err
		}
		return readProducts(b.Context(), local, count)
	}}
	alone := &variant{run: func() error { return readProducts(b.Context(), local, count) }}
	all := []*variant{ours, floor, bare, alone}
	const slice = 50 * time.Millisecond
	measure := func() {
		for _, v := range all {
			if err := v.measure(slice); err != nil {
				b.Fatal(err)
			}
		}
	}
	measure()
	for _, v := range all {
		v.wall, v.cpu = nil, nil
	}
	for b.Loop() {
		measure()
	}
	b.ReportMetric(ratio(ours.wall, floor.wall), "floor-ratio")
	b.ReportMetric(ratio(ours.cpu, floor.cpu), "cpu-floor-ratio")
	b.ReportMetric(ratio(ours.wall, bare.wall), "bare-ratio")
	for name, v := range map[string]*variant{"ours": ours, "floor": floor, "bare": bare, "local": alone} {
		b.ReportMetric(median(v.wall), name+"-µs")
		b.ReportMetric(median(v.cpu), name+"-cpu-µs")
	}
	b.ReportMetric(float64(len(recorded.sent)), "requests")
	b.ReportMetric(0, "ns/op")
}

// readProducts reads the first product, or a list of count products.
func readProducts(ctx context.Context, store adapter.Store, count int) error {
	if count == 1 {
		_, err := store.Get(ctx, &adapter.GetParams{Key: 1})
		return err
	}
	found, err := store.List(ctx, &adapter.ListParams{Query: adapter.Query{Limit: int64(count)}})
	if err == nil && len(found.Records) != count {
		err = fmt.Errorf("%d records", len(found.Records))
	}
	return err
}

// A variant is one way to read, with the microseconds that a read took in each slice.
type variant struct {
	run       func() error
	wall, cpu []float64
}

// measure runs the variant for the time of one slice.
func (v *variant) measure(slice time.Duration) error {
	n, start, before := 0, time.Now(), processorTime()
	for ; time.Since(start) < slice; n++ {
		if err := v.run(); err != nil {
			return err
		}
	}
	v.cpu = append(v.cpu, float64((processorTime()-before).Nanoseconds())/1000/float64(n))
	v.wall = append(v.wall, float64(time.Since(start).Nanoseconds())/1000/float64(n))
	return nil
}

// processorTime returns the processor time of this process.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // only for an invalid argument
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// ratio returns the median of the ratios of two variants, slice by slice.
func ratio(v, w []float64) float64 {
	ratios := make([]float64, len(v))
	for i := range v {
		ratios[i] = v[i] / w[i]
	}
	return median(ratios)
}

func median(all []float64) float64 {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
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

// sendAll sends the requests again, all at once, and passes the responses to read.
func sendAll(ctx context.Context, client *http.Client, url string, sent []*http.Request, read func(io.Reader) error) error {
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
			return read(answer.Body)
		})
	}
	return group.Wait()
}

func discard(body io.Reader) error {
	_, err := io.Copy(io.Discard, body)
	return err
}

func decodeJSON(body io.Reader) error {
	content, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var v any
	return json.Unmarshal(content, &v)
}
