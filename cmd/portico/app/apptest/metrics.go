package apptest

import (
	"bufio"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A Scrape holds the metrics of a program at one moment, by series as written in the
// exposition format: name{label="value",…}.
type Scrape map[string]float64

// ScrapeMetrics reads the metrics from the operators' port at ops.
func ScrapeMetrics(t testing.TB, ops string) Scrape {
	t.Helper()
	response, err := http.Get(ops + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	found := Scrape{}
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

// Sum adds up the series of a metric that have all labels written name="value", and no label
// written !name="value".
func (s Scrape) Sum(name string, labels ...string) (total float64) {
	for series, value := range s {
		of, rest, _ := strings.Cut(series, "{")
		if of == name && !slices.ContainsFunc(labels, func(label string) bool {
			unwanted, not := strings.CutPrefix(label, "!")
			return strings.Contains(rest, unwanted) == not
		}) {
			total += value
		}
	}
	return total
}

// Sent returns the number of calls that were sent to the upstream.
func (s Scrape) Sent() float64 {
	return s.Sum("portico_upstream_calls_total", `!kind="refused_open"`, `!kind="refused_full"`)
}
