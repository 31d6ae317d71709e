package console

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// The size of a chart, in the units of its view box.
const (
	chartWidth, chartHeight = 300.0, 60.0
	chartColumns            = 60 // a minute each
)

// A chart is a line over the last hour.
type chart struct {
	Title, Now string // Now is the latest value, for people
	Summary    string // for screen readers
	Points     string // of an SVG polyline; several lines are separated by "|"
	Top        string // value at the upper edge
}

// Lines returns the lines of the chart. Minutes without a value interrupt it.
func (c chart) Lines() []string {
	if c.Points == "" {
		return nil
	}
	return strings.Split(c.Points, "|")
}

// newChart returns a chart of the last hour. Its values are the results of calling of with the
// samples at the two ends of each minute. text formats a value. The upper edge of the chart is at
// lowest or higher.
func newChart(title string, samples []sample, of func(from, to sample) (float64, bool), text func(float64) string, lowest float64) chart {
	values := make([]float64, chartColumns)
	end := samples[len(samples)-1].at
	top := lowest
	for i := range values {
		values[i] = math.NaN()
		from, to, ok := minute(samples, end.Add(-time.Duration(chartColumns-i)*time.Minute))
		if !ok {
			continue
		}
		if value, known := of(from, to); known {
			values[i] = value
			top = max(top, value)
		}
	}
	c := chart{Title: title, Now: "–", Top: text(top)}
	var lines []string
	var line []string
	for i, value := range values {
		if math.IsNaN(value) {
			if len(line) > 0 {
				lines, line = append(lines, strings.Join(line, " ")), nil
			}
			continue
		}
		x, y := chartWidth*float64(i)/(chartColumns-1), chartHeight*(1-value/top)
		line = append(line, number(x)+","+number(y))
	}
	if len(line) > 0 {
		lines = append(lines, strings.Join(line, " "))
	}
	for i, points := range lines {
		if !strings.Contains(points, " ") { // a single point has no length
			x, y, _ := strings.Cut(points, ",")
			at, _ := strconv.ParseFloat(x, 64)
			lines[i] = number(max(0, at-2)) + "," + y + " " + number(at) + "," + y
		}
	}
	c.Points = strings.Join(lines, "|")
	if last := values[len(values)-1]; !math.IsNaN(last) {
		c.Now = text(last)
	}
	c.Summary = fmt.Sprintf("%s in the last hour: %s in the last minute, at most %s.", title, c.Now, text(peak(values)))
	return c
}

// minute returns the samples around the minute that starts at begin. ok is false if there are no
// samples for it.
func minute(samples []sample, begin time.Time) (from, to sample, ok bool) {
	end := begin.Add(time.Minute)
	for _, s := range samples {
		if !s.at.After(begin) || from.at.IsZero() {
			from = s
		}
		if !s.at.After(end) {
			to = s
		}
	}
	return from, to, to.at.After(from.at) && to.at.After(begin)
}

// peak returns the greatest known value, 0 if there is none.
func peak(values []float64) float64 {
	most := 0.0
	for _, v := range values {
		if !math.IsNaN(v) {
			most = max(most, v)
		}
	}
	return most
}

// number formats a coordinate.
func number(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
