package console

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/portico-commerce/portico/config"
)

// A Breaker is a circuit breaker.
type Breaker struct {
	Name, State string          // closed, half_open or open
	Changes     []BreakerChange // the latest ones, the last first
}

// A BreakerChange is a change of the state of a breaker.
type BreakerChange struct {
	Time time.Time
	To   string
}

// An overview is the data of the first page.
type overview struct {
	Version, Dialect, Adapter string
	Demo                      bool
	Settings                  []config.Row
	Live                      live
}

// A live is the part of the overview that changes all the time.
type live struct {
	At       time.Time
	Ready    bool
	Answer   string
	Figures  []figure
	Charts   []chart
	Breakers []Breaker
}

// A figure is a number with its name.
type figure struct{ Label, Value string }

// readyTimeout limits the time that a page waits for the check of the upstream.
const readyTimeout = 2 * time.Second

func (v *visit) showOverview() error {
	return v.show(http.StatusOK, "overview", "Overview", overview{
		Version: v.Version, Dialect: v.Dialect, Adapter: v.Adapter, Demo: v.Demo, Settings: v.Changed(), Live: v.live(v.r.Context()),
	})
}

// The counters of a sample.
func requestsOf(s *sample) float64 { return s.requests }
func failedOf(s *sample) float64   { return s.failed }
func hitsOf(s *sample) float64     { return s.hits }
func lookupsOf(s *sample) float64  { return s.lookups }

// recent is the time over which the figures are averages.
const recent = time.Minute

// live returns the current values of the overview.
func (c *Console) live(ctx context.Context) live {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	l := live{At: c.Now(), Breakers: c.Breakers()}
	l.Ready, l.Answer = c.Ready(ctx)
	samples := c.history.all()
	now, before := samples[len(samples)-1], since(samples, recent)
	share := func(of, all func(*sample) float64) string {
		if value, ok := ratio(before, now, of, all); ok {
			return shareText(value)
		}
		return "–"
	}
	latency := func(q float64) string {
		if seconds, ok := quantile(before, now, q); ok {
			return secondsText(seconds)
		}
		return "–"
	}
	l.Figures = []figure{
		{"Requests a second", rateText(rate(before, now, requestsOf))},
		{"Failed by the server", share(failedOf, requestsOf)},
		{"Latency, median", latency(0.5)},
		{"Latency, 99 %", latency(0.99)},
		{"Cache hits", share(hitsOf, lookupsOf)},
		{"In flight", fmt.Sprintf("%.0f", now.inFlight)},
		{"Memory", bytesText(now.memory)},
		{"Requests since the start", countText(int64(now.requests))},
	}
	l.Charts = []chart{
		newChart("Requests a second", samples, func(from, to sample) (float64, bool) { return rate(from, to, requestsOf), true }, rateText, 1),
		newChart("Failed by the server", samples, func(from, to sample) (float64, bool) { return ratio(from, to, failedOf, requestsOf) }, shareText, 0.01),
		newChart("Latency, 99 %", samples, func(from, to sample) (float64, bool) { return quantile(from, to, 0.99) }, secondsText, 0.01),
		newChart("Cache hits", samples, func(from, to sample) (float64, bool) { return ratio(from, to, hitsOf, lookupsOf) }, shareText, 1),
	}
	return l
}

// rateText formats a rate.
func rateText(v float64) string {
	switch {
	case v == 0 || v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 1:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// shareText formats a share from 0 to 1.
func shareText(v float64) string {
	if v > 0 && v < 0.001 {
		return "< 0.1%"
	}
	return fmt.Sprintf("%.4g%%", math.Round(v*1000)/10)
}

const (
	eventStream = "text/event-stream"
	// maxStreams is the number of streams that are open at a time, for all browsers together.
	maxStreams = 16
	// eventEvery is the time between two events of a stream, streamTime the time after which a
	// stream ends. The browser opens another one.
	eventEvery = 5 * time.Second
	streamTime = 10 * time.Minute
)

// streamOverview sends the part of the overview that changes, as HTML in server-sent events.
func (v *visit) streamOverview() error {
	select {
	case v.streams <- struct{}{}:
		defer func() { <-v.streams }()
	default:
		http.Error(v.w, "too many browsers watch", http.StatusServiceUnavailable)
		return nil
	}
	control := http.NewResponseController(v.w)
	_ = control.SetReadDeadline(time.Time{}) // the server's is for a whole request
	v.w.Header().Set("Content-Type", eventStream)
	cookie, end := v.cookieValue(), time.After(streamTime)
	tick := time.NewTicker(eventEvery)
	defer tick.Stop()
	for {
		if v.Token != "" && !v.sessions.valid(cookie) {
			return nil
		}
		var html bytes.Buffer
		if err := v.pages["overview"].fragment(&html, "live", v.live(v.r.Context())); err != nil {
			v.Log.ErrorContext(v.r.Context(), "console", "path", v.r.URL.Path, "error", err)
			return nil
		}
		_ = control.SetWriteDeadline(time.Now().Add(2 * eventEvery)) // for one event, not the stream
		if _, err := fmt.Fprintf(v.w, "data: %s\n\n", bytes.ReplaceAll(visible(html.Bytes()), []byte("\n"), []byte("\ndata: "))); err != nil || control.Flush() != nil {
			return nil // the browser has gone
		}
		select {
		case <-tick.C:
		case <-end:
			return nil
		case <-v.done:
			return nil
		case <-v.r.Context().Done():
			return nil
		}
	}
}
