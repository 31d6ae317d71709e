package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Differences has the functions that supply the page of differences.
type Differences struct {
	// Load returns the differences that shadow reads of this process and the last sweep have found.
	Load func(context.Context) (*DifferenceReport, error)
	// Ignored returns the fields whose differences are ignored, from shadow.ignore.
	Ignored func() []string
}

// A DifferenceReport has the differences between the answers of two systems.
type DifferenceReport struct {
	Fields  []FieldDifference
	Samples []Difference
	// ShadowSince is the time from which shadow reads are counted, Swept the end of the last sweep;
	// zero: there is none.
	ShadowSince, Swept time.Time
}

// A FieldDifference counts the answers to a call that differ in a field.
type FieldDifference struct {
	Call, Field   string
	Shadow, Sweep int64
}

// A Difference is one that was found.
type Difference struct {
	Source      string    // shadow or sweep
	Time        time.Time // zero if it is not known
	Call, Field string
	Consumer    string // the beginning of its key, or the caller of a sweep
	Target      string // of the request
	Record      string
	// Values of the two systems, masked where they are personal; nil means absent.
	Legacy, Candidate *string
}

const differencesPath = "/console/differences"

// A differencesPage is the data of the page: the fields, or the samples of some.
type differencesPage struct {
	ShadowSince, Swept time.Time
	Filter             differenceFilter
	Calls, Consumers   []string // to choose from
	Fields             []FieldDifference
	Samples            []Difference
	Pager              pager
	Ignore             *ignoreLines
}

// A differenceFilter selects differences; an empty part selects all.
type differenceFilter struct{ View, Source, Call, Field, Consumer string }

// ignoreLines are the lines that make differences of a field ignored.
type ignoreLines struct {
	Field         string
	Shadow, Sweep []string
}

// maxChoices is the number of names that a list to choose from has.
const maxChoices = 200

func (v *visit) showDifferences() error {
	report, err := v.Differences.Load(v.r.Context())
	if err != nil {
		return err
	}
	query := v.r.URL.Query()
	f := differenceFilter{View: query.Get("view"), Source: query.Get("source"), Call: query.Get("call"), Field: query.Get("field"), Consumer: query.Get("consumer")}
	p := differencesPage{ShadowSince: report.ShadowSince, Swept: report.Swept, Filter: f}
	calls, consumers := map[string]bool{}, map[string]bool{}
	for i := range report.Fields {
		calls[report.Fields[i].Call] = true
	}
	for i := range report.Samples {
		consumers[report.Samples[i].Consumer] = true
	}
	p.Calls, p.Consumers = choices(calls), choices(consumers)
	if f.View == "samples" {
		found := selected(report.Samples, f.matches)
		slices.SortFunc(found, func(a, b Difference) int {
			return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Field, b.Field), b.Time.Compare(a.Time), cmp.Compare(a.Target, b.Target))
		})
		p.Samples, p.Pager = paginate(v, found)
	} else {
		found := selected(report.Fields, f.matchesField)
		slices.SortFunc(found, func(a, b FieldDifference) int {
			return cmp.Or(cmp.Compare(b.Shadow+b.Sweep, a.Shadow+a.Sweep), cmp.Compare(a.Call, b.Call), cmp.Compare(a.Field, b.Field))
		})
		p.Fields, p.Pager = paginate(v, found)
	}
	if field := query.Get("ignore"); slices.ContainsFunc(report.Fields, func(d FieldDifference) bool { return d.Field == field }) {
		if !plainName.MatchString(field) {
			return Refusal("Settings cannot name this field: it is not one of the interface.")
		}
		p.Ignore = newIgnoreLines(field, v.Differences.Ignored())
	}
	return v.show(http.StatusOK, "differences", "Differences", p)
}

// selected returns the rows that keep selects, as a list of its own.
func selected[T any](rows []T, keep func(*T) bool) (all []T) {
	for i := range rows {
		if keep(&rows[i]) {
			all = append(all, rows[i])
		}
	}
	return all
}

// matchesField reports whether the filter selects a field.
func (f *differenceFilter) matchesField(d *FieldDifference) bool {
	return (f.Call == "" || d.Call == f.Call) && (f.Field == "" || d.Field == f.Field) && (f.Source != "shadow" || d.Shadow > 0) && (f.Source != "sweep" || d.Sweep > 0)
}

// matches reports whether the filter selects a difference.
func (f *differenceFilter) matches(d *Difference) bool {
	return (f.Source == "" || d.Source == f.Source) && (f.Call == "" || d.Call == f.Call) && (f.Field == "" || d.Field == f.Field) && (f.Consumer == "" || d.Consumer == f.Consumer)
}

// Samples returns the address of the samples of a field.
func (f differenceFilter) Samples(d FieldDifference) string {
	return differencesPath + "?" + url.Values{"view": {"samples"}, "call": {d.Call}, "field": {d.Field}, "source": {f.Source}}.Encode()
}

// IgnoreLink returns the address of the lines that ignore a field.
func (f differenceFilter) IgnoreLink(d FieldDifference) string {
	return differencesPath + "?" + url.Values{"ignore": {d.Field}, "call": {f.Call}, "field": {f.Field}, "source": {f.Source}}.Encode() + "#ignore"
}

// plainName matches the names of fields that need no quotes in settings and in a shell. The stored
// result of a sweep may contain other names.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// newIgnoreLines returns the lines that ignore a field, in addition to the fields that are already
// ignored.
func newIgnoreLines(field string, ignored []string) *ignoreLines {
	all := slices.Clone(ignored)
	if !slices.Contains(all, field) {
		all = append(all, field)
	}
	list := strings.Join(all, ",")
	if slices.ContainsFunc(all, func(name string) bool { return !plainName.MatchString(name) }) {
		list = quote(list)
	}
	return &ignoreLines{
		Field:  field,
		Shadow: []string{"shadow:", "  ignore: [" + strings.Join(all, ", ") + "]"},
		Sweep:  []string{"portico compare --sweep --note --ignore " + list},
	}
}

// choices returns the names in order, without the empty one, up to the number that a page shows.
func choices(names map[string]bool) []string {
	var all []string
	for name := range names {
		if name != "" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all[:min(len(all), maxChoices)]
}
