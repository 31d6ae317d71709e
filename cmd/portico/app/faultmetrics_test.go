//go:build linux

package app

import (
	"bufio"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A scrape holds the metrics of a program at one moment, by series as written in the
// exposition format: name{label="value",…}.
type scrape map[string]float64

// scrapeMetrics reads the metrics from the operators' port at ops.
func scrapeMetrics(t testing.TB, ops string) scrape {
	t.Helper()
	response, err := http.Get(ops + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	found := scrape{}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if series, value, ok := cutLast(lines.Text(), " "); ok && !strings.HasPrefix(series, "#") {
			if n, err := strconv.ParseFloat(value, 64); err == nil {
				found[series] = n
			}
		}
	}
	return found
}

// cutLast is strings.Cut at the last instance of sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// sum adds up the series of a metric that have all labels written name="value", and none
// of those written !name="value".
func (s scrape) sum(name string, labels ...string) (sum float64) {
	for series, value := range s {
		of, rest, _ := strings.Cut(series, "{")
		if of == name && !slices.ContainsFunc(labels, func(label string) bool {
			unwanted, not := strings.CutPrefix(label, "!")
			return strings.Contains(rest, unwanted) == not
		}) {
			sum += value
		}
	}
	return sum
}

// sent returns the number of calls that were sent to the upstream.
func (s scrape) sent() float64 {
	return s.sum("portico_upstream_calls_total", `!kind="refused_open"`, `!kind="refused_full"`)
}

// probes returns how often the breaker let a call through to test the upstream.
func (s scrape) probes(breaker string) float64 {
	return s.sum("portico_breaker_transitions_total", `breaker="`+breaker+`"`, `to="half_open"`)
}

// opened reports whether the breaker is open.
func (s scrape) opened(breaker string) bool {
	return s.sum("portico_breaker_state", `breaker="`+breaker+`"`) == 2
}

// redisCommands returns the number of attempted round trips to Redis.
func (s scrape) redisCommands() float64 { return s.sum("portico_redis_commands_total") }
